"""The store, beside what LangGraph's own suite tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp
from stack import new_client, new_user, settle
from throughline import Client, ProblemError
from throughline_langgraph import ThroughlineStore


@pytest.fixture
def client() -> Client:
    return new_client().as_user(new_user())


@pytest.fixture
def store(client: Client) -> ThroughlineStore:
    return ThroughlineStore(client)


@pytest.mark.parametrize("name", ["*", "..", ".", "a/b", "100%", "%2F", "é 🙂", "\n", "a.b?c#d", " "])
def test_any_key_and_label(store: ThroughlineStore, name: str) -> None:
    label = name if "." not in name else "label"
    store.put(("notes", label), name, {"n": 1})
    store.put(("notes", "other"), name, {"n": 2})
    found = store.get(("notes", label), name)
    assert found is not None and (found.namespace, found.key, found.value) == (("notes", label), name, {"n": 1})
    assert [item.key for item in store.search(("notes", label))] == [name]
    assert ("notes", label) in store.list_namespaces(suffix=(label,) if label != "*" else ())
    store.delete(("notes", label), name)
    assert store.get(("notes", label), name) is None
    assert store.get(("notes", "other"), name) is not None
    store.delete(("notes", label), name)


@pytest.mark.parametrize("value", [
    {}, {"deep": {"list": [1, 2.5, None, True, {"x": []}]}}, {"é": "🙂\u0000"}, {"b": 1, "a": 2}])
def test_values_come_back(store: ThroughlineStore, value: dict[str, Any]) -> None:
    store.put(("v",), "k", value)
    found = store.get(("v",), "k")
    assert found is not None and found.value == value and list(found.value) == list(value)


def test_a_put_keeps_the_time_of_creation(store: ThroughlineStore) -> None:
    store.put(("v",), "k", {"n": 1})
    first = store.get(("v",), "k")
    store.put(("v",), "k", {"n": 2})
    second = store.get(("v",), "k")
    assert first is not None and second is not None
    assert second.created_at == first.created_at and second.updated_at > first.updated_at


def test_time_to_live_is_in_minutes(store: ThroughlineStore, client: Client) -> None:
    store.put(("v",), "k", {"n": 1}, ttl=0.5)
    document = client.get_document("v", "k")
    assert 29 <= (document.expires_at - document.created_at).total_seconds() <= 31


def test_each_user_has_their_own_items() -> None:
    one, other = new_user(), new_user()
    store = ThroughlineStore(new_client(), user_at=0)
    store.put((one, "notes"), "k", {"of": "one"})
    store.put((other, "notes"), "k", {"of": "other"})
    assert [item.value for item in store.search((one,))] == [{"of": "one"}]
    assert store.list_namespaces(prefix=(one,)) == [(one, "notes")]
    assert store.get((other, "notes"), "k").value == {"of": "other"}  # type: ignore[union-attr]
    kinds = [record["kind"] for record in new_client().as_user(one).export()]
    assert kinds.count("document") == 1
    for prefix in ((), ("*",)):
        with pytest.raises(ValueError, match="name the user"):
            store.list_namespaces(prefix=prefix)
    with pytest.raises(ValueError, match="name the user"):
        store.search(())


def test_facts_are_found_as_items(client: Client) -> None:
    store = ThroughlineStore(client, facts=("facts",))
    latex = client.create_memory(content="Is allergic to latex.", type="PROFILE")
    client.create_memory(content="Sister is called Mia.", type="PEOPLE")
    client.create_memory(content="Lives in Bern.", type="PROFILE", valid_until=datetime(2020, 1, 1, tzinfo=UTC))
    settle()
    found = store.search(("facts",), query="latex allergy")
    assert (found[0].namespace, found[0].key, found[0].value["content"]) == (("facts", "PROFILE"), latex.id, latex.content)
    assert found[0].score is not None and found[0].score > 0
    assert sorted(item.value["content"] for item in found) == ["Is allergic to latex.", "Sister is called Mia."]
    assert [item.value["content"] for item in store.search(("facts", "PEOPLE"))] == ["Sister is called Mia."]
    assert [item.value["content"] for item in store.search(("facts", "PEOPLE"), query="allergy")] == ["Sister is called Mia."]
    assert len(store.search(("facts",), filter={"type": "PROFILE"})) == 1
    assert len(store.search(("facts",), limit=1, offset=1)) == 1
    assert store.search(("facts", "PROFILE", "more")) == store.search(("facts",), offset=2) == []


def test_facts_are_changed_and_deleted_as_items(client: Client) -> None:
    store, place = ThroughlineStore(client, facts=("facts",)), ("facts", "PROFILE")
    fact = client.create_memory(content="Is allergic to latex.", type="PROFILE")
    item = store.get(place, fact.id)
    assert item is not None and store.get(("facts", "PEOPLE"), fact.id) is None
    store.put(place, fact.id, item.value | {"content": "Is allergic to latex and nuts.", "pinned": True})
    changed = client.get_memory(fact.id)
    assert changed.content.endswith("nuts.") and changed.pinned
    for namespace, key, value in (
        (place, "mine", {"content": "x"}), (("facts", "PEOPLE"), fact.id, {"content": "x"}), (place, fact.id, {"type": "PEOPLE"}),
    ):
        with pytest.raises(ValueError, match="fact"):
            store.put(namespace, key, value)
    store.delete(("facts", "PEOPLE"), fact.id)
    store.delete(place, "mine")
    assert client.get_memory(fact.id).content == changed.content
    store.delete(place, fact.id)
    assert store.get(place, fact.id) is None and store.search(("facts",)) == []


def test_facts_of_a_user_that_the_namespace_names() -> None:
    one, other = new_user(), new_user()
    store = ThroughlineStore(new_client(), user_at=0, facts=("facts",))
    new_client().as_user(one).create_memory(content="Has a dog.", type="PROFILE")
    assert [item.namespace for item in store.search((one, "facts"))] == [(one, "facts", "PROFILE")]
    assert store.search((other, "facts")) == []


def test_what_is_not_indexed_is_found_last(store: ThroughlineStore) -> None:
    store.put(("v",), "cat", {"text": "a cat on the mat", "kind": "pet"})
    store.put(("v",), "car", {"text": "a fast red car", "kind": "thing"}, index=False)
    cat, car = store.search(("v",), query="cat")
    assert (cat.key, car.key) == ("cat", "car") and cat.score is not None and car.score is None
    assert [item.key for item in store.search(("v",), query="cat", filter={"kind": {"$ne": "pet"}})] == ["car"]


def test_paths_of_the_index(client: Client) -> None:
    store = ThroughlineStore(client, index={"fields": ["text"]})  # type: ignore[typeddict-item]
    store.put(("v",), "by default", {"text": "a", "n": 1})
    store.put(("v",), "whole", {"text": "b"}, index=["$"])
    store.put(("v",), "own", {"meta": {"title": "c"}}, index=["meta.title"])
    store.put(("v",), "none", {"text": "d"}, index=False)
    assert {d.key: d.index for d in client.list_documents(namespace="v")} == {
        "by default": ["text"], "whole": None, "own": ["meta.title"], "none": []}


def test_nodes_of_a_graph_have_the_store(store: ThroughlineStore) -> None:
    def note(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        store.put(("notes",), "last", {"text": state["messages"][-1].text})
        return {}

    graph = StateGraph(MessagesState).add_node("note", note).add_edge(START, "note").compile(store=store)
    graph.invoke({"messages": [("user", "Lighter squats.")]})
    assert [item.value for item in store.search(("notes",))] == [{"text": "Lighter squats."}]


def test_two_prefixes_are_refused(store: ThroughlineStore) -> None:
    with pytest.raises(ValueError, match="one prefix"):
        store.batch([ListNamespacesOp((MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("b",))))])


def test_a_failure_leaves_the_other_puts(store: ThroughlineStore) -> None:
    with pytest.raises(ProblemError):
        store.batch([PutOp(("v",), "a", {"n": 1}), PutOp(("v",), "", {"n": 2}), PutOp(("v",), "c", {"n": 3})])
    assert [item.key for item in store.search(("v",))] == ["a", "c"]


async def test_works_with_asyncio(store: ThroughlineStore) -> None:
    await store.aput(("v",), "k", {"n": 1})
    found = await store.aget(("v",), "k")
    assert found is not None and found.value == {"n": 1}
    with pytest.raises(InvalidNamespaceError):
        await store.aput((), "k", {})
