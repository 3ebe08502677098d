"""One MCP server, many ways to be a bad one: `misbehaving.py MODE`. Standard library only."""

import json
import os
import signal
import subprocess
import sys
import time

OUT = sys.stdout.buffer
TOOL = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object"}}


def send(message):
    OUT.write(json.dumps(message).encode() + b"\n")
    OUT.flush()


def answer(message, result):
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def initialized(message, version=None):
    answer(
        message,
        {
            "protocolVersion": version if version is not None else message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "misbehaving", "version": "1"},
        },
    )


def messages():
    for line in sys.stdin.buffer:
        yield json.loads(line)


def serve(tools=(TOOL,), on_call=None, on_start=None):
    """An ordinary server, but for what the arguments change."""
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
            if on_start:
                on_start()
        elif method == "tools/list":
            answer(message, {"tools": list(tools)})
        elif method == "tools/call" and on_call:
            on_call(message)
        elif method == "tools/call":
            answer(message, {"content": [{"type": "text", "text": "ok"}]})
        elif "id" in message:
            error = {"code": -32601, "message": "no such method"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def hang():
    time.sleep(3600)


def hang_after_probe():
    for message in messages():
        if message.get("method") == "ping":
            answer(message, {})


def exit_0():
    sys.exit(0)


def exit_1():
    sys.stderr.write("cannot find the frobnicator\n\x1b[31mred words\x1b[0m\n")
    sys.stderr.flush()
    sys.exit(1)


def exit_by_signal():
    os.kill(os.getpid(), signal.SIGTERM)


def garbage_without_newline():
    for _ in range(64):
        OUT.write(b"x" * (1 << 20))
        OUT.flush()
    hang()


def lines_for_ever():
    while True:
        OUT.write(b"y\n" * 10_000)


def a_line_for_ever():
    serve(on_call=lambda message: [OUT.write(b"x" * 65536) for _ in iter(int, 1)])


def odd_bytes():
    OUT.write(b"\xef\xbb\xbf" + "Grüße\n".encode("latin-1") + b"\xff\n\x00\x00\n" + "hi\n".encode("utf-16"))
    OUT.write(b"Server listening on port 0!\n\n[INFO] ready\n")
    OUT.flush()
    serve()


def wrong_ids():
    for odd in (99, 1.5, "x", None):
        send({"jsonrpc": "2.0", "id": odd, "result": {}})
    serve()


def asks_back():
    """Asks the client things; a call tells what it answered."""
    replies = {}
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "notifications/initialized":
            for asked in ("sampling/createMessage", "roots/list", "elicitation/create", "x/y", "ping"):
                send({"jsonrpc": "2.0", "id": f"q {asked}", "method": asked, "params": {}})
        elif method == "tools/list":
            answer(message, {"tools": [TOOL]})
        elif method == "tools/call":
            answer(message, {"content": [{"type": "text", "text": json.dumps(replies)}]})
        elif method is None:
            replies[message["id"]] = "error" if "error" in message else message["result"]


def old_version():
    for message in messages():
        if message.get("method") == "initialize":
            initialized(message, "1999-01-01")


def version_is_a_number():
    for message in messages():
        if message.get("method") == "initialize":
            initialized(message, 7)


def modern_only():
    """Refuses the handshake; speaks only the stateless revision, and wants its envelope with each request."""
    tools, listeners = [TOOL], []
    for message in messages():
        method, params = message.get("method"), message.get("params") or {}
        version = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
        if method == "server/discover":
            answer(
                message,
                {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "resultType": "complete",
                    "ttlMs": 0,
                    "cacheScope": "private",
                },
            )
        elif method in ("tools/list", "tools/call", "subscriptions/listen") and version != "2026-07-28":
            error = {"code": -32602, "message": "the request has no envelope"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        elif method == "tools/list":
            answer(message, {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
        elif method == "subscriptions/listen":
            listeners.append(message["id"])
            tell(message["id"], "notifications/subscriptions/acknowledged", params)
        elif method == "tools/call" and params["arguments"].get("ask"):
            asked = params["arguments"]["ask"]
            schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
            question = {
                "method": "elicitation/create" if asked is True else asked,
                "params": {"message": "Su\u200bre?", "requestedSchema": schema},
            }
            answer(message, {"resultType": "input_required", "inputRequests": {"q": question}})
        elif method == "tools/call" and params["arguments"].get("grow"):
            tools.append({**TOOL, "name": "grown"})
            for listener in listeners:
                tell(listener, "notifications/tools/list_changed", {})
            answer(message, {"content": [], "resultType": "complete"})
        elif method == "tools/call":
            answer(message, {"content": [{"type": "text", "text": "modern"}], "resultType": "complete"})
        elif "id" in message:
            error = {"code": -32601, "message": "use server/discover"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def tell(listener, method, params):
    """A notification on a stream that listens."""
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": listener}}
    send(
        {"jsonrpc": "2.0", "method": method, "params": {"notifications": params.get("notifications"), **meta}}
    )


def silent_on_unknown():
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list":
            answer(message, {"tools": [TOOL]})


def slow_start():
    time.sleep(3)
    serve()


def needs_a_terminal():
    with open("/dev/tty"):
        serve()


def wrapper():
    """Three processes deep, the last one out of the group."""
    sleeper = "[sys.executable, '-c', 'import time; time.sleep(3600)']"
    code = f"import subprocess, sys; subprocess.Popen({sleeper}, start_new_session=True)"
    subprocess.Popen([sys.executable, "-c", code])
    serve()


def leaves_a_zombie():
    """A dead process in the server's group, whose parent lives elsewhere and never collects it."""
    group = os.getpgid(0)
    if os.fork() == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            os.setpgid(0, group)
            os._exit(0)
        hang()
    serve()


def ignores_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    hang()


def stderr_flood():
    chunk = b"noise " * 10_000 + b"\n"

    def flood(message):
        for _ in range(1000):
            sys.stderr.buffer.write(chunk)
        answer(message, {"content": [{"type": "text", "text": "after the flood"}]})

    serve(on_call=flood)


def huge_result():
    def huge(message):
        text = "x" * (50 << 20)
        answer(message, {"content": [{"type": "text", "text": text}]})

    def either(message):
        if message["params"]["arguments"].get("small"):
            answer(message, {"content": [{"type": "text", "text": "small"}]})
        else:
            huge(message)

    serve(on_call=either)


def long_results():
    """As many bytes as are asked for, of a kind that is asked for."""

    def long(message):
        asked = message["params"]["arguments"]
        count = asked["bytes"]
        text = "".join(f"line {at}\n" for at in range(count // 7))[:count]
        if asked.get("kind") == "image":
            content = [{"type": "image", "mimeType": "image/png", "data": "A" * count}]
        elif asked.get("kind") == "blocks":
            content = [{"type": "text", "text": f"block {at}"} for at in range(count)]
        else:
            content = [{"type": "text", "text": text}]
        result = {"content": content, "isError": asked.get("kind") == "error"}
        if asked.get("kind") == "structured":
            result = {"content": [], "structuredContent": {"all": text}}
        if asked.get("kind") == "hidden":
            hidden = "\x1b[31mre\u200bd\x1b[0m\r\n\n\n\nend\U000e0041"
            result = {"content": [{"type": "text", "text": hidden}], "structuredContent": {"a": [hidden]}}
        answer(message, result)

    serve(on_call=long)


def says():
    """A call says what is written: `around`, lines before its answer; `answer`, what stands behind the id.
    JSON as it is to go out; ID stands for the call's."""

    def say(message):
        asked = message["params"].get("arguments", {})
        request_id = json.dumps(message["id"])
        for line in asked.get("around", ()):
            OUT.write(line.replace("ID", request_id).encode("utf-8", "surrogatepass") + b"\n")
        answer_ = asked.get("answer", '"result": {"content": [{"type": "text", "text": "ok"}]}')
        line = '{"jsonrpc": "2.0", "id": ' + request_id + ", " + answer_ + "}"
        OUT.write(line.encode("utf-8", "surrogatepass") + b"\n")
        OUT.flush()

    serve(on_call=say)


def odd_results():
    raw = {
        "fine": b'{"content": []}',
        "surrogate": rb'{"content": [{"type": "text", "text": "\ud800"}]}',
        "infinity": rb'{"content": [], "structuredContent": {"x": 1e999}}',
        "nan": rb'{"content": [], "structuredContent": {"x": NaN}}',
        "big_integer": b'{"content": [], "structuredContent": {"x": ' + b"7" * 5000 + b"}}",
        "large_integer": b'{"content": [], "structuredContent": {"x": %d}}' % 2**70,
        "no_content": rb'{"contents": 5}',
        "null_content": rb'{"content": null}',
        "text_content": rb'{"content": "all of it"}',
        "one_block": rb'{"content": {"type": "text", "text": "ok"}}',
        "no_error": rb'{"content": [], "isError": null}',
        "unknown_block": rb'{"content": [{"type": "hologram", "data": 1}]}',
        "deep": b'{"content": [], "structuredContent": ' + b'{"x":' * 5000 + b"1" + b"}" * 5000 + b"}",
    }

    def odd(message):
        result = raw[message["params"]["arguments"]["kind"]]
        OUT.write(
            b'{"jsonrpc": "2.0", "id": %s, "result": %s}\n' % (json.dumps(message["id"]).encode(), result)
        )
        OUT.flush()

    serve(on_call=odd)


def odd_answers():
    """Answers with the line that the call's arguments give; ID in it is the request's."""

    def odd(message):
        line = message["params"]["arguments"]["line"]
        OUT.write(
            line.replace('"id":ID', f'"id":{message["id"]}').replace('"ID"', f'"{message["id"]}"').encode()
        )
        OUT.write(b"\n")
        OUT.flush()

    serve(on_call=odd)


def odd_tools():
    raw = (
        rb'{"name": "cut", "description": "An emoji \ud83d", "inputSchema": {"type": "object"}}',
        rb'{"name": "infinite", "inputSchema": {"type": "object", "properties": {"x": {"maximum": 1e999}}}}',
        b'{"name": "large", "inputSchema": {"type": "object", "properties": {"x": {"maximum": %d}}}}' % 2**70,
        rb'{"name": "fine", "inputSchema": {"type": "object"}}',
        rb'{"name": "bad \udfff", "inputSchema": {"type": "object"}}',
    )
    for message in messages():
        if message.get("method") == "initialize":
            initialized(message)
        elif message.get("method") == "tools/list":
            head = b'{"jsonrpc": "2.0", "id": %d, "result": {"tools": [' % message["id"]
            OUT.write(head + b", ".join(raw) + b"]}}\n")
            OUT.flush()


def banner():
    OUT.write(b"ModuleNotFoundError: no module of this name\nmore of it\n")
    OUT.flush()
    sys.exit(3)


def bad_tools():
    deep = {"type": "object", "properties": {}}
    inner = deep
    for _ in range(10_000):
        inner["properties"]["x"] = {"type": "object", "properties": {}}
        inner = inner["properties"]["x"]
    sys.setrecursionlimit(100_000)
    tools = [
        TOOL,
        {"name": "no_schema", "description": "Has no schema."},
        {"name": "schema_true", "description": "Its schema is true.", "inputSchema": True},
        {"name": "schema_list", "description": "Its schema is a list.", "inputSchema": []},
        {"name": 5, "description": "No text for a name.", "inputSchema": {}},
        {"name": "", "description": "Empty name.", "inputSchema": {}},
        {"name": "n" * 10_000, "description": "A long name.", "inputSchema": {}},
        {
            "name": "odd\x1b[31m\u202ename\n",
            "description": "A name that hides \U000e0041\u200bthings.",
            "inputSchema": {},
        },
        {"name": "deep", "description": "Nested ten thousand levels.", "inputSchema": deep},
        {"name": "big", "description": "word " * 200_000, "inputSchema": {}},
        "not even an object",
    ]
    line = deep_json({"tools": tools}, deep)

    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list":
            OUT.write(
                b'{"jsonrpc": "2.0", "id": %s, "result": %s}\n' % (json.dumps(message["id"]).encode(), line)
            )
            OUT.flush()


def deep_json(value, deep):
    """JSON of `value`, in which `deep` is written without recursion."""
    levels = 10_000
    text = b'{"type": "object", "properties": {"x": ' * levels + b"{}" + b"}}" * levels
    marked = {
        "tools": [
            {**t, "inputSchema": "@deep@"} if isinstance(t, dict) and t.get("inputSchema") is deep else t
            for t in value["tools"]
        ]
    }
    return json.dumps(marked).encode().replace(b'"@deep@"', text)


def page_two_fails():
    calls = []
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list" and message.get("params", {}).get("cursor"):
            error = {"code": -32603, "message": "page two is broken"}
            if len(calls) == 1:
                answer(message, {"tools": [{**TOOL, "name": "second"}]})
            else:
                send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        elif method == "tools/list":
            calls.append(1)
            answer(message, {"tools": [TOOL], "nextCursor": "2"})
        elif method == "tools/call":
            answer(message, {"content": [{"type": "text", "text": "changed"}]})
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def changes_storm():
    state = {"at": 0}
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list":
            state["listed"] = state.get("listed", 0) + 1
            answer(message, {"tools": [{**TOOL, "name": f"echo_{state['at']}"}]})
        elif method == "tools/call":
            for at in range(1, 1001):
                state["at"] = at
                send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            answer(message, {"content": [{"type": "text", "text": "stormed"}]})


def progress_flood():
    def flood(message):
        token = message["params"].get("_meta", {}).get("progressToken")
        for step in range(20_000):
            params = {"progressToken": token, "progress": step, "total": 20_000}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        answer(message, {"content": [{"type": "text", "text": "flooded"}]})

    serve(on_call=flood)


def errors_of_its_own():
    """Answers with the codes that clients use for their own failures."""

    def fail(message):
        code = message["params"]["arguments"]["code"]
        error = {"code": code, "message": "the server's own words"}
        send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    serve(on_call=fail)


def no_tools():
    for message in messages():
        if message.get("method") == "initialize":
            initialized(message)
        elif "id" in message:
            error = {"code": -32601, "message": "Method not found"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def same_cursor():
    for message in messages():
        if message.get("method") == "initialize":
            initialized(message)
        elif message.get("method") == "tools/list":
            answer(message, {"tools": [TOOL], "nextCursor": "again"})


def flips():
    """Its list is another one each time, and changes as soon as it was read."""
    at = 0
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list":
            at += 1
            answer(message, {"tools": [{**TOOL, "name": f"flip_{at % 2}"}]})
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif method == "tools/call":
            answer(message, {"content": [{"type": "text", "text": str(at)}]})


def dies_when_called():
    serve(on_call=lambda message: os._exit(3))


def dies_at_the_first_call():
    """Of all its lives: the file named by the second argument remembers, a line a call. A third one names
    a file with its tools."""
    calls, *files = sys.argv[2:]
    tools = [TOOL]
    for name in files:
        with open(name) as file:
            tools = json.load(file)

    def call(message):
        with open(calls, "a+") as file:
            file.write("x\n")
            file.seek(0)
            if len(file.readlines()) == 1:
                os._exit(3)
        answer(message, {"content": [{"type": "text", "text": "ok"}]})

    serve(tools, on_call=call)


def deaf():
    """Reads nothing more after the first call."""
    serve(on_call=lambda message: hang())


def leaves_a_child():
    """A child in the same group, holding the pipes; the server itself goes at end of file."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    serve()


def never_answers():
    serve(on_call=lambda message: None)


def answers_late():
    """Answers only after the cancel, and says what was cancelled in its next answer."""
    waiting = []
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list":
            answer(message, {"tools": [TOOL]})
        elif method == "notifications/cancelled":
            for late in waiting:
                answer(late, {"content": [{"type": "text", "text": "too late"}]})
        elif method == "tools/call":
            if message["params"]["arguments"].get("now"):
                answer(message, {"content": [{"type": "text", "text": f"{len(waiting)} before"}]})
            else:
                waiting.append(message)


def many_pages():
    for message in messages():
        method = message.get("method")
        if method == "initialize":
            initialized(message)
        elif method == "tools/list":
            at = int(message.get("params", {}).get("cursor") or 0)
            tools = [{**TOOL, "name": f"tool_{at}_{n}"} for n in range(100)]
            answer(message, {"tools": tools, "nextCursor": str(at + 1)})


def endless_pages():
    """One tool at first; from the first call on, pages without end of the kind that the call names."""
    kind = None
    for message in messages():
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            initialized(message)
        elif method == "tools/call":
            kind = params["arguments"]["kind"]
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            answer(message, {"content": []})
        elif method == "tools/list":
            at = int((params.get("cursor") or "0").split()[0])
            page = {"tools": [{**TOOL, "name": f"tool_{at}"}], "nextCursor": str(at + 1)}
            if kind is None:
                page = {"tools": [TOOL]}
            elif kind == "long cursors":
                page["nextCursor"] = f"{at + 1} " + "x" * 1_000_000
            elif kind == "large tools":
                page["tools"][0]["description"] = "x" * 1_000_000
            elif kind == "slow":
                time.sleep(0.2)
            answer(message, page)


def boasts():
    """Says much about itself."""
    for message in messages():
        if message.get("method") == "initialize":
            much = "x" * 500_000
            info = {"name": much, "version": much, "title": much, "websiteUrl": much}
            capabilities = {"tools": {}, "prompts": {much: much}, "experimental": {much: {"much": much}}}
            result = {
                "capabilities": capabilities,
                "serverInfo": info,
                "instructions": much,
                "_meta": {"m": much},
            }
            answer(message, result | {"protocolVersion": message["params"]["protocolVersion"], much: much})
        elif message.get("method") == "tools/list":
            answer(message, {"tools": [TOOL]})


def introduces_itself():
    """Its answer to the handshake is the JSON object that it was given; a method for each further argument,
    whose answers are that JSON, ID in it the request's."""
    said = json.loads(sys.argv[2])
    lines = dict(zip(sys.argv[3::2], sys.argv[4::2], strict=True))
    for message in messages():
        method = message.get("method")
        if method in lines:
            OUT.write(lines[method].replace("ID", json.dumps(message["id"])).encode() + b"\n")
            OUT.flush()
        elif method == "server/discover" and "supportedVersions" not in said:
            error = {"code": -32601, "message": "no such method"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        elif method in ("initialize", "server/discover"):
            answer(message, said)
        elif method == "tools/list":
            answer(message, {"tools": [TOOL]})
        elif method == "tools/call":
            answer(message, {"content": [{"type": "text", "text": "ok"}]})


def works_long():
    """Reports progress every 0.1 s for `s` seconds, then answers; with `silent`, it does not report."""

    def work(message):
        asked = message["params"]["arguments"]
        token = message["params"].get("_meta", {}).get("progressToken")
        until, step = time.monotonic() + asked["s"], 0
        while time.monotonic() < until:
            time.sleep(0.1)
            step += 1
            if token is not None and not asked.get("silent"):
                params = {"progressToken": token, "progress": step}
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        answer(message, {"content": [{"type": "text", "text": "built"}]})

    serve(on_call=work)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
