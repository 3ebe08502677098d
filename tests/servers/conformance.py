"""An MCP server on stdio with all that the conformance scenarios ask of one; standard library only."""

import json
import sys
import threading
import time

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
OPEN = {"type": "object", "properties": {}}
STEP_S = 0.05


def one(name, **types):
    properties = {key: {"type": type_} for key, type_ in types.items()}
    return {
        "name": name,
        "inputSchema": {"type": "object", "properties": properties, "required": list(types)},
    }


PLAIN = (
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_error_handling",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
)
DEEP = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
TOOLS = [{"name": name, "description": f"The {name}.", "inputSchema": OPEN} for name in PLAIN] + [
    one("test_sampling", prompt="string") | {"description": "Ask the model."},
    one("test_elicitation", message="string") | {"description": "Ask the person."},
    {
        "name": "json_schema_2020_12_tool",
        "description": "A tool with all of JSON Schema.",
        "inputSchema": DEEP,
    },
]
PROMPTS = [
    {"name": "test_simple_prompt", "description": "Simple."},
    {
        "name": "test_prompt_with_arguments",
        "description": "With arguments.",
        "arguments": [{"name": "arg1", "required": True}, {"name": "arg2", "required": True}],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "With a resource.",
        "arguments": [{"name": "resourceUri", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "With an image."},
]
RESOURCES = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
NUMBERED = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": NUMBERED},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": NUMBERED}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}

lock = threading.Lock()
answers = {}  # id of what was asked → (event, slot of its answer)


def send(**message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method, params):
    asked = f"asked-{len(answers)}"
    answers[asked] = arrived, slot = threading.Event(), []
    send(id=asked, method=method, params=params)
    arrived.wait()
    if "error" in slot[0]:
        raise RuntimeError(slot[0]["error"]["message"])
    return slot[0]["result"]


def elicit(message, properties):
    schema = {"type": "object", "properties": properties, "required": []}
    return ask("elicitation/create", {"message": message, "requestedSchema": schema})


def text(value):
    return {"type": "text", "text": value}


def resource(uri, **more):
    return {"type": "resource", "resource": {"uri": uri, **more}}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}
SHOWN = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [resource("test://embedded-resource", mimeType="text/plain", text="Embedded.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", mimeType="application/json", text='{"test": "data"}'),
    ],
}


def called(params):
    name, arguments = params["name"], params.get("arguments") or {}
    if name in SHOWN:
        return SHOWN[name]
    if name == "test_tool_with_logging":
        for said in ("started", "processing data", "completed"):
            send(method="notifications/message", params={"level": "info", "data": f"Tool {said}"})
            time.sleep(STEP_S)
    elif name == "test_tool_with_progress":
        token = (params.get("_meta") or {}).get("progressToken")
        for progress in (0, 50, 100):
            if token is not None:
                report = {"progressToken": token, "progress": progress, "total": 100}
                send(method="notifications/progress", params=report)
            time.sleep(STEP_S)
    elif name == "test_sampling":
        message = {"role": "user", "content": text(arguments["prompt"])}
        answer = ask("sampling/createMessage", {"messages": [message], "maxTokens": 100})
        return [text(f"LLM response: {answer['content']['text']}")]
    elif name == "test_elicitation":
        person = {"username": {"type": "string"}, "email": {"type": "string"}}
        return [text(f"User response: {elicit(arguments['message'], person)}")]
    elif name == "test_elicitation_sep1034_defaults":
        return [text(f"Elicitation completed: {elicit('Defaults', DEFAULTS)}")]
    elif name == "test_elicitation_sep1330_enums":
        return [text(f"Elicitation completed: {elicit('Enums', ENUMS)}")]
    elif name == "test_error_handling":
        raise RuntimeError("This tool intentionally returns an error for testing")
    return [text("done")]


def call(params):
    try:
        return {"content": called(params)}
    except RuntimeError as error:
        return {"content": [text(str(error))], "isError": True}


def prompt(name, arguments):
    content = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text("Prompt with arguments: {arg1!r}, {arg2!r}".format_map(Any(arguments)))
        ],
        "test_prompt_with_embedded_resource": [
            resource(arguments.get("resourceUri", ""), mimeType="text/plain", text="Embedded content."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
    }[name]
    return {"messages": [{"role": "user", "content": block} for block in content]}


class Any(dict):
    def __missing__(self, key):
        return ""


def read(uri):
    if uri.startswith("test://template/"):
        number = uri.split("/")[3]
        found = {
            "mimeType": "application/json",
            "text": json.dumps({"id": number, "data": f"Data for ID: {number}"}),
        }
    else:
        found = RESOURCES[uri]
    return {"contents": [{"uri": uri, **found}]}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {
                "tools": {},
                "prompts": {},
                "resources": {"subscribe": True},
                "logging": {},
                "completions": {},
            },
            "serverInfo": {"name": "conformance", "version": "1"},
        }
    template = {
        "uriTemplate": "test://template/{id}/data",
        "name": "A template",
        "mimeType": "application/json",
    }
    return {
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: call(params),
        "prompts/list": lambda: {"prompts": PROMPTS},
        "prompts/get": lambda: prompt(params["name"], params.get("arguments") or {}),
        "resources/list": lambda: {
            "resources": [
                {"uri": uri, "name": uri, "mimeType": r["mimeType"]} for uri, r in RESOURCES.items()
            ]
        },
        "resources/templates/list": lambda: {"resourceTemplates": [template]},
        "resources/read": lambda: read(params["uri"]),
        "completion/complete": lambda: {
            "completion": {"values": ["one", "two"], "total": 2, "hasMore": False}
        },
    }.get(method, dict)()


def serve(message):
    send(id=message["id"], result=answer(message["method"], message.get("params") or {}))


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        arrived, slot = answers[message["id"]]
        slot.append(message)
        arrived.set()
    elif "id" in message:
        threading.Thread(target=serve, args=(message,), daemon=True).start()
