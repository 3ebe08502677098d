"""Sample MCP server: units of measurement."""

from __future__ import annotations

import math
from typing import Any

from toolsearchd.samples.stdio_server import StdioServer, ToolError, _Call, integer, number, text

server = StdioServer("units", "Conversions between units of measurement.")

LENGTHS = {
    "mm": 0.001,
    "cm": 0.01,
    "m": 1.0,
    "km": 1000.0,
    "in": 0.0254,
    "ft": 0.3048,
    "yd": 0.9144,
    "mi": 1609.344,
}
MASSES = {"g": 0.001, "kg": 1.0, "t": 1000.0, "oz": 0.028349523125, "lb": 0.45359237, "st": 6.35029318}
ABSOLUTE_ZERO_C = -273.15
PREFIXES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
VALUE = number("The amount to convert")


def _units(of: dict[str, float]) -> dict[str, dict[str, Any]]:
    return {
        "value": VALUE,
        "from_unit": text("The unit it is given in", enum=list(of)),
        "to_unit": text("The unit wanted", enum=list(of)),
    }


def _scaled(call: _Call, factors: dict[str, float]) -> dict[str, Any]:
    given = call.arguments
    value = given["value"] * factors[given["from_unit"]] / factors[given["to_unit"]]
    return {"value": float(f"{value:.10g}"), "unit": given["to_unit"]}


@server.tool(
    "convert_length",
    "Convert a length",
    "Convert a length or distance between metric and imperial units, such as miles to kilometres.",
    _units(LENGTHS),
    read_only=True,
)
def convert_length(call: _Call) -> Any:
    return _scaled(call, LENGTHS)


@server.tool(
    "convert_mass",
    "Convert a mass",
    "Convert a weight or mass between metric and imperial units, such as pounds to kilograms.",
    _units(MASSES),
    read_only=True,
)
def convert_mass(call: _Call) -> Any:
    return _scaled(call, MASSES)


@server.tool(
    "convert_temperature",
    "Convert a temperature",
    "Convert a temperature between Celsius, Fahrenheit and Kelvin.",
    _units({"C": 1, "F": 1, "K": 1}),
    read_only=True,
)
def convert_temperature(call: _Call) -> Any:
    given = call.arguments
    value, source, target = given["value"], given["from_unit"], given["to_unit"]
    celsius = {"C": value, "F": (value - 32) / 1.8, "K": value + ABSOLUTE_ZERO_C}[source]
    if celsius < ABSOLUTE_ZERO_C:
        raise ToolError(f"{value:g} {source} is below absolute zero")
    shown = {"C": celsius, "F": celsius * 1.8 + 32, "K": celsius - ABSOLUTE_ZERO_C}[target]
    return {"value": round(shown, 4), "unit": target}


@server.tool(
    "format_bytes",
    "Format a byte count",
    "Write a number of bytes for people, with binary prefixes such as MiB.",
    {"bytes": integer("How many bytes", minimum=0)},
    read_only=True,
)
def format_bytes(call: _Call) -> Any:
    count = call.arguments["bytes"]
    step = min(int(math.log(count, 1024)), len(PREFIXES) - 1) if count else 0
    return f"{count / 1024**step:.4g} {PREFIXES[step]}"


@server.tool(
    "list_units", "List the units", "List the units that can be converted, by kind.", {}, read_only=True
)
def list_units(_call: _Call) -> Any:
    return {"length": list(LENGTHS), "mass": list(MASSES), "temperature": ["C", "F", "K"]}


if __name__ == "__main__":
    server.run()
