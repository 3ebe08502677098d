"""The validator: jsonschema-rs, held within bounds, and the one validation error that tells a model most.

It judges fast (a step takes well under a microsecond) but makes an object with a copy of the value for each
error, each failed alternative's included, recursively: up to seconds. So it judges first; where its errors
could be many, the spot is narrowed down by judging parts, and what is still large there is read by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from toolsearchd.dispatch.bounds import count_nodes, count_steps
from toolsearchd.dispatch.coerce import kind_of
from toolsearchd.dispatch.jsontext import same
from toolsearchd.dispatch.schema import IN_PLACE, IN_PLACE_LISTS, Schema, missing_names
from toolsearchd.limits import Limits

if TYPE_CHECKING:
    import jsonschema_rs

_BACKTRACKS = 10_000  # of one pattern on one text: about 0.1 ms; `(a+)+$` ends here
_PATTERN_BYTES = 1024 * 1024  # of a compiled pattern: about 10 ms to make
_STEPS_FOR_ERRORS = 128  # alternatives for which error objects are made (they nest: the stack is bounded too)
_COPIES_FOR_ERRORS = 300_000  # values copied into error objects, at most: some 20 ms
_KEPT_ERRORS = 16

_T = TypeVar("_T")


class ValidationError(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a value does not fit."""

    path: tuple[str | int, ...]
    constraint: str  # the JSON Schema keyword
    detail: dict[str, Any]  # the keyword's own: types, options, limit, property, unexpected, …
    fits_type: bool = False  # the value has the kind that the schema around the keyword names


class CannotJudge(Exception):
    """The schema, or the value, is nothing for this validator. The text says why."""


class Validator:
    """One compiled schema. Raises CannotJudge where it can't be compiled."""

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._rust = _guarded(lambda: _compile(schema))
        self._parts: jsonschema_rs.ValidatorMap | None = None

    def accepts(self, value: Any) -> bool:
        return _guarded(lambda: self._rust.is_valid(value))

    def validation_errors(self, value: Any) -> list[ValidationError]:
        """The best first, then others in the validator's order; empty where the value fits."""
        return _guarded(lambda: self._validation_errors(value))

    def _validation_errors(self, value: Any) -> list[ValidationError]:
        root = self._schema.root
        if self._is_cheap(root, value):
            return self._read(self._rust, value, ())
        if self._rust.is_valid(value):
            return []
        part, node, value, path = self._narrowed(value)
        if self._is_cheap(node, value):
            return self._read(part, value, path)
        return [_by_hand(self._schema, node, value, path)]

    def _is_cheap(self, node: Any, value: Any) -> bool:
        """True where the errors of `value` against `node` can be few and small only."""
        nodes = count_nodes(value, _COPIES_FOR_ERRORS)
        here = Schema(root=node, targets=self._schema.targets)
        steps = count_steps(here, value, _STEPS_FOR_ERRORS, self._limits)
        if steps > _STEPS_FOR_ERRORS:
            return False
        most_names, most_options = self._schema.widest
        return (steps + nodes) * (1 + most_names) * (nodes + most_options) <= _COPIES_FOR_ERRORS

    def _read(
        self, rust: jsonschema_rs.Validator, value: Any, path: tuple[str | int, ...]
    ) -> list[ValidationError]:
        errors = list(rust.iter_errors(value))
        if not errors:
            return []
        root = self._schema.root
        best = _best(errors, root)
        chosen = [best, *(error for error in errors if error is not best)][:_KEPT_ERRORS]
        return [_validation_error(error, path, root) for error in chosen]

    def _narrowed(self, value: Any) -> tuple[jsonschema_rs.Validator, Any, Any, tuple[str | int, ...]]:
        """The deepest part that fails on its own: its validator, subschema, value and path."""
        import jsonschema_rs

        if self._parts is None:
            self._parts = jsonschema_rs.validator_map_for(
                _with_dialect(self._schema),
                offline=True,
                mask="…",
                validate_formats=False,
                pattern_options=_patterns(),
            )
        found: jsonschema_rs.Validator = self._rust
        node: Any = self._schema.root
        pointer, path = "#", list[str | int]()
        while True:
            for key, below, child, item in _children(self._schema, node, pointer, value):
                part = self._parts.get(below)
                if part is not None and not part.is_valid(item):
                    found, node, pointer, value = part, child, below, item
                    path.append(key)
                    break
            else:
                return found, node, value, tuple(path)


def _compile(schema: Schema) -> jsonschema_rs.Validator:
    # Imported with the first call: 0.1 s that no start has to wait for.
    import jsonschema_rs

    made = {
        "draft-04": jsonschema_rs.Draft4Validator,
        "draft-06": jsonschema_rs.Draft6Validator,
        "draft-07": jsonschema_rs.Draft7Validator,
        "2019-09": jsonschema_rs.Draft201909Validator,
        "2020-12": jsonschema_rs.Draft202012Validator,
    }[schema.dialect]
    # Formats are annotations (a server's own idea of `uri` decides); `mask` keeps values out of messages,
    # which would otherwise hold the whole value once per level.
    return made(schema.root, offline=True, mask="…", validate_formats=False, pattern_options=_patterns())


def _patterns() -> jsonschema_rs.FancyRegexOptions:
    import jsonschema_rs

    return jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_PATTERN_BYTES)


def _with_dialect(schema: Schema) -> dict[str, Any]:
    draft = schema.dialect
    old = draft.startswith("draft-")
    uri = (
        f"http://json-schema.org/{draft}/schema#" if old else f"https://json-schema.org/draft/{draft}/schema"
    )
    return {"$schema": uri, **schema.root}


def _guarded(work: Callable[[], _T]) -> _T:
    """Runs the validator; whatever it raises, a panic of its own included, is CannotJudge."""
    try:
        return work()
    except ValueError as error:  # its ValidationError (a bad schema) and values that are not JSON
        raise CannotJudge(_first_line(error)) from None
    except BaseException as error:
        if type(error).__name__ not in ("PanicException", "ReferencingError"):  # a panic is no Exception
            raise
        raise CannotJudge(_first_line(error)) from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _best(errors: list[Any], root: Any) -> Any:
    """The error that says most: nearest to the top, no alternative's where another is there. Within an
    alternative, the deepest, unless several are equally deep (as `jsonschema.best_match` does)."""
    best = max(errors, key=lambda error: _relevance(error, root))
    while context := [error for branch in getattr(best.kind, "context", None) or [] for error in branch]:
        ordered = sorted(context, key=lambda error: _relevance(error, root))
        if len(ordered) > 1 and _relevance(ordered[0], root) == _relevance(ordered[1], root):
            break
        best = ordered[0]
    return best


def _relevance(error: Any, root: Any) -> tuple[int, bool, bool]:
    return -len(error.instance_path), error.kind.name not in ("anyOf", "oneOf"), not _fits_type(error, root)


def _fits_type(error: Any, root: Any) -> bool:
    node: Any = root
    for step in error.schema_path[:-1]:
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return False
    named = node.get("type") if isinstance(node, dict) else None
    kinds = named if isinstance(named, list) else [named]
    kind = kind_of(error.instance)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _validation_error(error: Any, path: tuple[str | int, ...], root: Any) -> ValidationError:
    constraint = error.kind.name
    if constraint == "required" and error.schema_path:
        constraint = str(error.schema_path[-1])  # dependentRequired says which rule it is
    if constraint in ("anyOf", "oneOf"):  # their detail is the errors of each alternative
        alternatives = getattr(error.kind, "context", None) or []
        detail: dict[str, Any] = {
            "alternatives": len(alternatives),
            "kinds": _wanted_kinds(error, alternatives),
        }
    else:
        detail = {key: item for key, item in error.kind.as_dict().items() if key != "error"}
    return ValidationError(
        path=(*path, *error.instance_path),
        constraint=constraint,
        detail=detail,
        fits_type=_fits_type(error, root),
    )


def _wanted_kinds(parent: Any, alternatives: list[Any]) -> list[str]:
    """The kinds that alternatives ask for where each fails by the kind of the value alone."""
    wanted: list[str] = []
    for errors in alternatives:
        types = [
            error.kind.as_dict()["types"]
            for error in errors
            if error.kind.name == "type" and error.instance_path == parent.instance_path
        ]
        if not types:
            return []
        wanted += [kind for kind in types[0] if kind not in wanted]
    return wanted


def _by_hand(schema: Schema, node: Any, value: Any, path: tuple[str | int, ...]) -> ValidationError:
    """What is wrong at a spot too large for error objects, by the plain keywords; else its alternatives."""
    constraint, detail = "", dict[str, Any]()
    for part in _conjuncts(schema, node):
        found = _plain_fault(part, value)
        if found:
            return ValidationError(path=path, constraint=found[0], detail=found[1])
        constraint = constraint or next((key for key in (*IN_PLACE_LISTS, *IN_PLACE) if key in part), "")
    return ValidationError(path=path, constraint=constraint or "schema", detail=detail)


def _plain_fault(part: dict[str, Any], value: Any) -> tuple[str, dict[str, Any]] | None:
    named = part.get("type")
    kinds = named if isinstance(named, list) else [named]
    kind = kind_of(value)
    if named is not None and kind not in kinds and not (kind == "integer" and "number" in kinds):
        return "type", {"types": kinds}
    options = part.get("enum")
    if isinstance(options, list) and not any(same(option, value) for option in options):
        return "enum", {"options": options}
    if isinstance(value, str) and "pattern" in part:
        return "pattern", {"pattern": part["pattern"]}
    if isinstance(value, dict):
        properties = part.get("properties")
        missing = missing_names(part, value)
        if missing:
            return "required", {"property": missing[0], "missing": missing}
        if part.get("additionalProperties") is False and "patternProperties" not in part:
            known = properties if isinstance(properties, dict) else {}
            unexpected = [name for name in value if name not in known]
            if unexpected:
                return "additionalProperties", {"unexpected": unexpected}
    return None


def _conjuncts(schema: Schema, node: Any) -> Iterator[dict[str, Any]]:
    """The node and what it demands in the same place: through references and `allOf`."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.append(schema.resolve(part))
            waiting += part["allOf"] if isinstance(part.get("allOf"), list) else []


def _children(
    schema: Schema, node: Any, pointer: str, value: Any
) -> Iterator[tuple[str | int, str, Any, Any]]:
    """(key, pointer of the subschema, subschema, member) for each member that a part of the node judges
    alone: through references and `allOf`, not through alternatives."""
    waiting = [(node, pointer)]
    while waiting:
        part, at = waiting.pop()
        if not isinstance(part, dict):
            continue
        target = schema.resolve(part)
        if target is not None:
            waiting.append(
                (
                    target,
                    next(str(part[key]) for key in ("$ref", "$dynamicRef", "$recursiveRef") if key in part),
                )
            )
        branches = part.get("allOf")
        if isinstance(branches, list):
            waiting += [(branch, f"{at}/allOf/{n}") for n, branch in enumerate(branches)]
        if isinstance(value, dict):
            named = part.get("properties")
            named = named if isinstance(named, dict) else {}
            rest = part.get("additionalProperties") if "patternProperties" not in part else None
            for key, item in value.items():
                if key in named:
                    yield key, f"{at}/properties/{_escaped(key)}", named[key], item
                elif isinstance(rest, dict):
                    yield key, f"{at}/additionalProperties", rest, item
        elif isinstance(value, list) and isinstance(part.get("items"), dict) and "prefixItems" not in part:
            for index, item in enumerate(value):
                yield index, f"{at}/items", part["items"], item


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
