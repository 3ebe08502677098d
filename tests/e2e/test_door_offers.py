"""Prompts, resources, questions and rich results of real servers, through the MCP door."""

import json

import mcp_types as types
import pytest
import trio
from mcp import MCPError

from tests.daemon import DaemonProcess
from tests.e2e.test_door_sdk import open_client, text_of
from tests.servers.node import node_server
from tests.servers.zoo import zoo

HERE = "toolsearchd://everything/"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    servers = {"everything": node_server("server-everything"), "offers": zoo("offers")}
    servers["stateless"] = zoo("offers", "--stateless", protocol="2026-07-28")
    servers["watched"] = zoo("watched", "--stateless", protocol="2026-07-28")
    config = {
        "tools": {"tool_search": {"enabled": "on"}},
        "profiles": {
            "narrow": {"match": {"client": "narrow-*"}, "servers": ["offers"]},
            "one-tool": {"match": {"client": "one-tool-*"}, "tools": ["offers/ask"]},
        },
    }
    with DaemonProcess(tmp_path_factory.mktemp("offers"), servers=servers, config=config) as daemon:
        daemon.wait_servers(*servers)
        yield daemon


def names(prompts):
    return [prompt.name for prompt in prompts.prompts]


async def refused(code, call, *args):
    with pytest.raises(MCPError) as caught:
        await call(*args)
    assert caught.value.error.code == code
    return caught.value.error


# --- prompts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_prompts_are_listed_and_got_under_their_servers_name(daemon, mode):
    async with open_client(daemon, mode) as client:
        listed = names(await client.list_prompts())
        assert {"everything__simple-prompt", "everything__args-prompt", "offers__greet"} <= set(listed)
        got = await client.get_prompt("everything__args-prompt", {"city": "Kyoto"})
        assert "Kyoto" in got.messages[0].content.text


async def test_a_servers_own_error_reaches_the_client(daemon):
    async with open_client(daemon) as client:
        error = await refused(-32_077, client.get_prompt, "offers__broken")
        assert (error.message, error.data) == ("no such mood", {"mood": "odd"})
        await refused(-32_602, client.get_prompt, "everything__nowhere")


async def test_an_argument_is_completed(daemon):
    async with open_client(daemon) as client:
        ref = types.PromptReference(name="everything__completable-prompt")
        done = await client.complete(ref, {"name": "department", "value": "E"})
        assert done.completion.values == ["Engineering"]


# --- resources ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_resources_and_templates_are_listed_and_read(daemon, mode):
    async with open_client(daemon, mode) as client:
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        uri = next(uri for uri in uris if uri.endswith("architecture.md"))
        assert uri.startswith(HERE + "demo://")
        (content,) = (await client.read_resource(uri)).contents
        assert content.uri == uri
        assert "Architecture" in content.text
        templates = [t.uri_template for t in (await client.list_resource_templates()).resource_templates]
        template = HERE + "demo://resource/dynamic/text/{resourceId}"
        assert template in templates
        (content,) = (await client.read_resource(template.replace("{resourceId}", "7"))).contents
        assert "Resource 7" in content.text


async def test_a_link_in_a_result_can_be_read_as_it_stands(daemon):
    async with open_client(daemon) as client:
        result = await client.call_tool("everything__get-resource-links", {"count": 2})
        link = next(block for block in result.content if block.type == "resource_link")
        assert link.uri.startswith("demo://")
        (content,) = (await client.read_resource(link.uri)).contents
        assert content.uri == link.uri


async def test_an_uri_that_two_servers_have_is_told_apart(daemon):
    async with open_client(daemon) as client:
        error = await refused(-32_002, client.read_resource, "offers://same")
        assert "toolsearchd://nobody/" not in error.message
        await refused(-32_002, client.read_resource, "toolsearchd://nobody/x")
        (content,) = (await client.read_resource("toolsearchd://offers/offers://page/3")).contents
        assert content.text == "page 3"


async def test_long_lists_come_in_pages_of_the_server(daemon):
    async with open_client(daemon, name="narrow-pages") as client:
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert uris == [f"toolsearchd://offers/offers://page/{number}" for number in range(7)]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_changes_are_announced(daemon):
    heard = {}

    async def hear(message):
        method = getattr(message, "method", "")
        uri = getattr(message.params, "uri", "")
        heard.setdefault((method, uri), trio.Event()).set()

    async def wait_heard(method, uri=""):
        with trio.fail_after(20):
            await heard.setdefault((method, uri), trio.Event()).wait()

    uri = "toolsearchd://offers/offers://page/3"
    async with open_client(daemon, name="narrow-hears", message_handler=hear) as client:
        await client.list_resources()
        await client.session.subscribe_resource(uri)
        await client.call_tool("offers__change", {})
        await wait_heard("notifications/prompts/list_changed")
        await wait_heard("notifications/resources/list_changed")
        await wait_heard("notifications/resources/updated", uri)


async def test_changes_reach_a_subscriber_of_the_stateless_revision(daemon):
    uri = "toolsearchd://offers/offers://page/3"
    async with open_client(daemon, "auto", name="narrow-listens") as client:
        wanted = {"prompts_list_changed": True, "resource_subscriptions": [uri]}
        async with client.listen(**wanted) as events:
            await client.call_tool("offers__change", {})
            heard = set()
            with trio.fail_after(20):
                async for event in events:
                    heard.add((type(event).__name__, getattr(event, "uri", "")))
                    if len(heard) == 2:
                        break
    assert heard == {("PromptsListChanged", ""), ("ResourceUpdated", uri)}


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_changes_of_a_stateless_servers_resource_are_heard_of_after_its_restart_too(daemon):
    heard = []

    async def hear(message):
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.append(str(message.params.uri))

    uri = "toolsearchd://watched/x:a"
    async with open_client(daemon, name="wide-watches", message_handler=hear) as client:
        await client.session.subscribe_resource(uri)
        for _ in range(2):
            heard.clear()
            with trio.fail_after(30):
                while uri not in heard:
                    await client.call_tool("watched__touch", {"uri": "x:a"})
                    await trio.sleep(0.1)
            await client.call_tool("watched__end", {})
            await trio.to_thread.run_sync(daemon.wait_servers, "watched")


# --- the grant ----------------------------------------------------------------------------------------


async def test_another_profiles_servers_offer_nothing(daemon):
    async with open_client(daemon, name="narrow-one") as client:
        assert names(await client.list_prompts()) == ["offers__greet", "offers__broken"]
        await refused(-32_602, client.get_prompt, "everything__simple-prompt")
        await refused(-32_002, client.read_resource, HERE + "demo://resource/dynamic/text/1")
    async with open_client(daemon, name="one-tool-one") as client:
        assert names(await client.list_prompts()) == ["offers__greet", "offers__broken"]


# --- results as they are ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapped", [False, True])
async def test_rich_results_pass_unharmed(daemon, wrapped):
    async with open_client(daemon) as client:

        async def call(tool, arguments):
            if not wrapped:
                return await client.call_tool(f"everything__{tool}", arguments)
            entry = {"name": f"mcp__everything__{tool}", "arguments": arguments}
            return await client.call_tool("tool_call", {"calls": [entry]})

        structured = await call("get-structured-content", {"location": "New York"})
        assert structured.structured_content == json.loads(text_of(structured))
        image = (await call("get-tiny-image", {})).content[1]
        assert (image.type, image.mime_type, image.data[:8]) == ("image", "image/png", "iVBORw0K")
        annotated = await call("get-annotated-message", {"messageType": "error", "includeImage": True})
        assert annotated.content[0].annotations.priority == 1.0
        assert annotated.content[0].annotations.audience == ["user", "assistant"]
        assert annotated.content[1].annotations.audience == ["user"]
        reference = await call("get-resource-reference", {"resourceType": "Blob", "resourceId": 1})
        embedded = next(block for block in reference.content if block.type == "resource")
        assert embedded.resource.uri == "demo://resource/dynamic/blob/1"
        assert embedded.resource.blob


# --- what a server asks -------------------------------------------------------------------------------


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": params.message})


async def sample(context, params):
    said = params.messages[0].content.text
    text = types.TextContent(type="text", text=f"heard {said}")
    return types.CreateMessageResult(role="assistant", content=text, model="m")


async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///here", name="here")])


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_questions_of_a_server_go_to_the_calling_client(daemon, mode):
    asked = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": list_roots}
    async with open_client(daemon, mode, **asked) as client:
        formed = await client.call_tool("everything__trigger-elicitation-request", {})
        assert "everything: Please provide" in str(formed.content)  # whose form it is
        sampled = await client.call_tool("everything__trigger-sampling-request", {"prompt": "a nonce"})
        assert "heard Resource trigger-sampling-request context: a nonce" in text_of(sampled)
        assert "file:///here" in text_of(await client.call_tool("everything__get-roots-list", {}))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_server_that_asks_round_by_round_is_answered(daemon, mode):
    async with open_client(daemon, mode, elicitation_callback=elicit) as client:
        assert "stateless: Round 1?" in text_of(await client.call_tool("stateless__ask", {}))
    async with open_client(daemon, mode) as client:
        refused = await client.call_tool("stateless__ask", {})
        assert refused.structured_content["code"] == "UNSUPPORTED"
        assert text_of(await client.call_tool("stateless__echo", {})) == "echo"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_without_a_form_is_not_asked(daemon, mode):
    async with open_client(daemon, mode) as client:
        asked = await client.call_tool("offers__ask", {})
        assert "the calling client does not offer it" in text_of(asked)


async def test_while_two_sessions_call_nobody_is_asked(daemon):
    async def never(context, params):
        raise AssertionError("asked whose call it is not")

    async with (
        open_client(daemon, name="asked", elicitation_callback=never) as one,
        open_client(daemon, name="other") as two,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(two.call_tool, "offers__hold", {})
        with trio.fail_after(20):
            while not daemon.server("offers")["in_flight"]:
                await trio.sleep(0.05)
        asked = await one.call_tool("offers__ask", {})
        assert "several sessions" in text_of(asked)
        nursery.cancel_scope.cancel()


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_log_messages_of_a_call_reach_its_client(daemon):
    logs = []

    async def hear(params):
        logs.append((params.level, params.logger, params.data))

    async with open_client(daemon, logging_callback=hear) as client:
        await client.call_tool("offers__log", {})
        await client.session.set_logging_level("error")
        await client.call_tool("offers__log", {})
        assert text_of(await client.call_tool("offers__echo", {"text": "after"})) == "after"
    assert logs == [("info", "offers", "at work"), ("error", "its own", "odd"), ("error", "its own", "odd")]
