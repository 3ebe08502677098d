"""Both clients of agents have every operation, and the person's has every one of the control socket."""

from typing import get_args, get_type_hints

import pytest

from toolsearchd.async_client import AsyncClient
from toolsearchd.client import Client, ControlClient
from toolsearchd.protocol.control_replies import CONTROL_REPLIES
from toolsearchd.protocol.events import AGENT_EVENTS
from toolsearchd.protocol.replies import OF_A_DIALECT, REPLIES, OwnWords
from toolsearchd.protocol.requests import EVENTS, AgentMessage, ControlMessage

AGENT = {message.__struct_config__.tag: message for message in get_args(AgentMessage)}
CONTROL = {message.__struct_config__.tag: message for message in get_args(ControlMessage)}
OF_CONNECTING = {"hello"}
OTHER_NAMES = {"tools": "set_tools"}


def test_each_operation_has_its_reply():
    assert REPLIES.keys() == AGENT.keys() - OF_CONNECTING
    assert CONTROL_REPLIES.keys() == CONTROL.keys()


def test_each_event_that_an_agent_is_sent_can_be_asked_for():
    named = {event.__struct_config__.tag for event in AGENT_EVENTS}
    assert named - {"approval_ended"} <= set(EVENTS)  # who hears of a prompt hears of its end


@pytest.mark.parametrize("op", REPLIES)
@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_an_agents_client_has_it_and_says_what_comes(client, op):
    method = getattr(client, OTHER_NAMES.get(op, op))
    kind = REPLIES[op] | OwnWords if op in OF_A_DIALECT else REPLIES[op]
    assert get_type_hints(method)["return"] == kind


@pytest.mark.parametrize("op", CONTROL_REPLIES)
def test_a_persons_client_has_it_and_says_what_comes(op):
    assert get_type_hints(getattr(ControlClient, op))["return"] == CONTROL_REPLIES[op]
