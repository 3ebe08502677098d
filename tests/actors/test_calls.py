"""A call whose connection is lost and that may be sent again: what is known when the policy holds it back."""

import pytest
import trio

from toolsearchd.config.secret_values import SecretValues
from toolsearchd.errors import ToolsearchdError
from toolsearchd.limits import Limits
from toolsearchd.upstream.calls import ServerCalls
from toolsearchd.upstream.lost import LostError


class Losing:
    """A connection that goes away in the middle of every call."""

    def __init__(self):
        self.sent = 0

    async def call(self, *_, **__):
        self.sent += 1
        await trio.lowlevel.checkpoint()
        raise LostError("INDETERMINATE", "it went away")


@pytest.mark.parametrize("code", ["DENIED", "NO_APPROVER", "BAD_CONFIG", "STALE", "TOOL_NOT_FOUND"])
async def test_what_is_held_back_at_the_second_send_may_have_happened_at_the_first(code):
    connection = Losing()

    async def connected(_patience_s):
        await trio.lowlevel.checkpoint()
        return connection

    def check():
        if connection.sent:
            raise ToolsearchdError(code, "not any more")

    calls = ServerCalls(
        "srv",
        Limits(),
        1,
        connected=connected,
        answered=lambda _: None,
        secrets=lambda: SecretValues(()),
        counts_errors=False,
    )
    with pytest.raises(ToolsearchdError) as caught:
        await calls.call("peek", {}, timeout_s=5, check=check, replays=True)
    assert caught.value.code == "INDETERMINATE"
    assert connection.sent == 1
