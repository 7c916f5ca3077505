"""Checks each form of a prompt against the types of its provider's library.

Usage: forms.py URL, with the address of a local stack. It prints how many values it checked.
"""

import json
import sys
import typing
import urllib.request

import botocore.loaders
import botocore.model
import botocore.validate
from anthropic.types import AssistantMessageParam, TextBlockParam, ToolParam, UserMessageParam
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionFunctionToolParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.responses import EasyInputMessageParam, FunctionToolParam
from pydantic import TypeAdapter

CHAT = {
    "system": ChatCompletionSystemMessageParam,
    "user": ChatCompletionUserMessageParam,
    "assistant": ChatCompletionAssistantMessageParam,
}
TURN = {"user": UserMessageParam, "assistant": AssistantMessageParam}
checked = 0


def check(value, kind):
    """Checks a value against a typed dictionary, which has to know each of its names."""
    global checked
    unknown = set(value) - set(typing.get_type_hints(kind))
    if unknown:
        sys.exit(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    TypeAdapter(kind).validate_python(value)
    checked += 1


def checked_all(value, shape):
    """Checks that a structure has no names that its service does not know: the validator ignores them."""
    global checked
    checked += 1
    if shape.type_name == "list":
        for item in value:
            checked_all(item, shape.member)
    elif shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        for name, member in value.items():
            if name not in shape.members:
                sys.exit(f"{shape.name} has no {name}")
            checked_all(member, shape.members[name])


def post(base, path, body, token=None):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    if token:
        request.add_header("Authorization", "Bearer " + token)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main(base):
    token = post(base, "/dev/tokens", {"userId": "own-forms"})["token"]
    session = post(base, "/v1/sessions", {"context": "coach_conversation", "coachId": "kim"}, token)["sessionId"]
    said = [("assistant", "Welcome!"), ("user", "My left knee hurts."), ("system", "The plan is open."), ("assistant", "I see.")]
    post(base, f"/v1/sessions/{session}/messages", {"messages": [{"role": r, "content": c} for r, c in said]}, token)

    def form(format, name):
        body = {"context": "coach_conversation", "sessionId": session, "message": "And now?", "format": format}
        return post(base, "/v1/prompts", body, token)[name]

    chat = form("openai-chat", "openaiChat")
    for message in chat["messages"]:
        check(message, CHAT[message["role"]])
    for tool in chat["tools"]:
        check(tool, ChatCompletionFunctionToolParam)

    responses = form("openai-responses", "openaiResponses")
    TypeAdapter(str).validate_python(responses["instructions"])
    for message in responses["input"]:
        check(message, EasyInputMessageParam)
    for tool in responses["tools"]:
        check(tool, FunctionToolParam)

    anthropic = form("anthropic", "anthropic")
    for block in anthropic["system"] + [block for turn in anthropic["messages"] for block in turn["content"]]:
        check(block, TextBlockParam)
    for turn in anthropic["messages"]:
        check(turn, TURN[turn["role"]])
    for tool in anthropic["tools"]:
        check(tool, ToolParam)
    roles = [turn["role"] for turn in anthropic["messages"]]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        sys.exit(f"the roles do not alternate: {roles}")
    converse = form("bedrock-converse", "bedrockConverse")
    runtime = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    shape = botocore.model.ServiceModel(runtime).operation_model("Converse").input_shape
    report = botocore.validate.ParamValidator().validate({"modelId": "m", **converse}, shape)
    if report.has_errors():
        sys.exit(report.generate_report())
    checked_all(converse, shape)
    print(checked)


if __name__ == "__main__":
    main(sys.argv[1])
