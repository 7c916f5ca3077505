"""Agents whose messages and state are kept by the session manager."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from scripted import Scripted
from stack import BASE, Line, new_client, new_user, settle, token
from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.memory import MemoryManager
from strands.multiagent import GraphBuilder
from strands.types.session import SessionMessage
from throughline import Client, ProblemError
from throughline_strands import ThroughlineMemoryStore, ThroughlineSessionManager


@pytest.fixture
def client() -> Client:
    return new_client().as_user(new_user())


def manager(client: Client, session: str = "s", **options: Any) -> ThroughlineSessionManager:
    return ThroughlineSessionManager(
        client, session_id=session, context="coach_conversation", coach_id="kim", **{"timeout": 20, **options})


def agent(client: Client, *answers: Any, session: str = "s", tools: Any = (), soft: Any = None, **options: Any) -> Agent:
    return Agent(model=Scripted(*answers), tools=list(tools), session_manager=manager(client, session, **soft or {}),
                 callback_handler=None, **options)


def texts(messages: Any) -> list[str]:
    return [block["text"] for message in messages for block in message["content"] if "text" in block]


@tool
def weight(exercise: str) -> str:
    """Return the weight of an exercise."""
    return f"{exercise}: 40 kg"


def test_another_process_goes_on(client: Client) -> None:
    call = {"name": "weight", "id": "call-1", "input": '{"exercise": "squat"}'}
    one = agent(client, call, "It is 40 kg.", tools=[weight])
    one.state.set("unit", "kg")
    one("How heavy is my squat?")
    two = agent(client, "Yes.", tools=[weight])
    assert two.messages == one.messages and two.state.get("unit") == "kg"
    two("Is that much?")
    assert texts(agent(client).messages) == ["How heavy is my squat?", "It is 40 kg.", "Is that much?", "Yes."]
    said = list(client.list_messages("s"))
    assert [(m.role, m.content) for m in said if m.content] == [
        ("user", "How heavy is my squat?"), ("assistant", "It is 40 kg."), ("user", "Is that much?"), ("assistant", "Yes.")]
    assert [part.type for m in said for part in m.parts or [] if part.type != "data"] == ["tool-call", "tool-result"]


def test_the_memory_has_what_an_agent_heard(client: Client) -> None:
    agent(client, "Noted.")("My cat is called Mia.")
    settle()
    found = ThroughlineMemoryStore(client, session_id="other", writable=False)
    other = Agent(model=(model := Scripted("Mia.")), memory_manager=MemoryManager(stores=[found]),
                  session_manager=manager(client, "other"), callback_handler=None)
    other("What is my cat called?")
    assert "My cat is called Mia." in str(model.got[0])
    assert texts(other.messages) == ["What is my cat called?", "Mia."]


def test_bytes_and_pictures_come_back(client: Client) -> None:
    said: Any = [{"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}]
    one = agent(client, "A picture.")
    one(said)
    assert agent(client).messages == one.messages and one.messages[0]["content"] == said


def test_agents_of_one_session_have_messages_of_their_own(client: Client) -> None:
    agent(client, "Hi.", agent_id="one")("Hello, one.")
    agent(client, "Hi.", agent_id="two-é")("Hello, two.")
    client.append_messages("s", messages=[{"role": "user", "content": "From another screen."}])
    assert texts(agent(client, agent_id="one").messages) == ["Hello, one.", "Hi."]
    assert texts(agent(client, agent_id="two-é").messages) == ["Hello, two.", "Hi."]


def test_a_window_leaves_the_session_whole(client: Client) -> None:
    window = SlidingWindowConversationManager(window_size=2)
    one = agent(client, "1", "2", "3", conversation_manager=window)
    for n in range(3):
        one(f"Question {n}")
    assert len(list(client.list_messages("s"))) == 6
    again = agent(client, conversation_manager=SlidingWindowConversationManager(window_size=2))
    assert again.messages == one.messages and len(one.messages) < 6


def test_what_is_redacted_is_gone(client: Client) -> None:
    one = agent(client, "Fine.")
    one("My password is hunter2.")
    kept = one._session_manager
    assert kept is not None
    latest = one.messages[-1]
    one.messages[-1] = {"role": "user", "content": [{"text": "[redacted]"}]}
    kept.redact_latest_message(one.messages[-1], one)
    client.append_messages("s", messages=[{"role": "user", "content": "Later."}])
    kept.redact_latest_message({"role": "user", "content": [{"text": "[gone]"}]}, one)
    assert latest not in agent(client).messages
    assert [m.content for m in client.list_messages("s")] == ["My password is hunter2.", "[gone]", "Later."]
    assert texts(agent(client).messages) == ["My password is hunter2.", "[gone]"]


def test_the_state_of_a_graph_comes_back(client: Client) -> None:
    def graph(*answers: Any) -> Any:
        builder = GraphBuilder()
        builder.add_node(Agent(model=Scripted(*answers), callback_handler=None), "only")
        builder.set_session_manager(manager(client))
        builder.set_graph_id("g")
        return builder.build()

    graph("Done.")("Do it.")
    assert manager(client).session_repository.read_multi_agent("s", "g") is not None
    assert manager(client).session_repository.read_multi_agent("s", "other") is None


def test_delete_session(client: Client) -> None:
    one = agent(client, "Hi.")
    one("Hello.")
    manager(client).delete_session()
    manager(client).delete_session()
    assert agent(client).messages == []
    with pytest.raises(ProblemError):
        client.get_session("gone")


def test_a_message_is_stored_once(client: Client) -> None:
    one = agent(client, "Hi.")
    one("Hello.")
    # A process that ended before it had the answer adds the message again.
    agent(client, agent_id="default")
    said: Any = [dict(message) for message in one.messages]
    kept = manager(client)
    for n, message in enumerate(said):
        kept.session_repository.create_message("s", "default", SessionMessage.from_message(message, n))
    assert len(list(client.list_messages("s"))) == 2


def test_an_agent_goes_on_while_the_memory_is_down(caplog: pytest.LogCaptureFixture) -> None:
    line, user = Line(), new_user()
    client, other = new_client(httpx.Client(transport=line)).as_user(user), new_client().as_user(user)
    first = agent(other, "Hello.")
    first.state.set("name", "Ann")
    first("I am Ann.")
    line.is_down = True
    one = agent(client, "Hi.", "Tea it is.", soft={"timeout": 0.5})
    assert one.messages == []
    one("Who am I?")
    line.is_down = False
    one.state.set("mood", "good")
    one("I like tea.")
    assert texts(agent(other).messages) == ["I am Ann.", "Hello.", "Who am I?", "Hi.", "I like tea.", "Tea it is."]
    assert agent(other).state.get("name") == "Ann"
    assert any(record.name == "throughline" for record in caplog.records)


def test_a_mistake_is_raised() -> None:
    wrong = Client(BASE, lambda: token() + "x").as_user("eva")
    with pytest.raises(ProblemError):
        agent(wrong)
    errors: list[Any] = []
    agent(wrong, soft={"on_error": lambda failure, during: errors.append((failure.code, during))})
    assert errors and errors[0][1] == "begin"
