"""What a model's call of a bridge tool comes to: an answer, or calls and how their outcome is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

Verb = Literal["search", "describe", "call"]


class BridgeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a bridge tool answers at once."""

    value: Any  # what the model is given: a text as it is, anything else as JSON
    text: str | None = None  # the same as the text that the model is to read, where that is not plain JSON
    fields: dict[str, Any]  # the same as the fields of a reply on the socket
    queries: Sequence[str] = ()  # of a search, for the activity feed
    found: int = 0
    described: Sequence[str] = ()  # names of tools whose definitions it shows
    exposes: bool = False  # other tools stand beside the bridge from now on

    def told(self) -> dict[str, Any]:
        """As the reply to a `use`."""
        return {"value": self.value} | ({} if self.text is None else {"text": self.text})


class BridgeCalls(msgspec.Struct, frozen=True, kw_only=True):
    """What a bridge tool wants run, and how its outcome is told."""

    args: dict[str, Any]  # `{calls: [{name, arguments}]}`, read by the dispatcher's rules
    value_of: Callable[[dict[str, Any]], Any] = lambda reply: reply  # the batch's reply → what the model gets
    text_of: Callable[[Any], str] | None = None  # that value → the text to read, where that is not plain JSON

    def told(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The batch's reply as the reply to a `use`."""
        value = self.value_of(reply)
        return {"value": value} | ({} if self.text_of is None else {"text": self.text_of(value)})


def results(reply: dict[str, Any]) -> Any:
    """Of a batch of one: its `own_result`; of several: the slots, and how many there are of each kind."""
    return own_result(reply) if len(reply["results"]) == 1 else reply


def own_result(reply: dict[str, Any]) -> Any:
    """Of a batch of one: what the tool itself gave, or `{error}`."""
    slot = reply["results"][0]
    return slot["response"] if "response" in slot else {"error": slot["error"]}
