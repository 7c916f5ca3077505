"""Runs the SDK's own tests of sessions, from its source distribution, with the session of this package.

The tests make sessions by an id and a file of SQLite. A file, or a session in memory, is a user here."""

from __future__ import annotations

from typing import Any

import agents
import agents.memory
import pytest
from stack import new_client, new_user
from throughline_openai_agents import ThroughlineSession

_users: dict[str, str] = {}


class Session(ThroughlineSession):
    def __init__(self, session_id: str, db_path: Any = ":memory:", session_settings: Any = None, **_: Any) -> None:
        user = new_user() if str(db_path) == ":memory:" else _users.setdefault(str(db_path), new_user())
        super().__init__(
            session_id, new_client().as_user(user), context="coach_conversation", coach_id="kim",
            session_settings=session_settings)

    def close(self) -> None:
        pass


agents.SQLiteSession = agents.memory.SQLiteSession = Session  # type: ignore[misc, assignment]

LEFT_OUT = {
    name: reason
    for reason, names in {
        "the connections, threads, locks and transactions of SQLite": [
            "test_sqlite_session_close_closes_worker_thread_connections",
            "test_sqlite_session_reaps_connections_from_exited_worker_threads",
            "test_sqlite_session_closes_retired_connections_before_the_next_allocation",
            "test_sqlite_session_keeps_connections_of_live_worker_threads",
            "test_sqlite_session_closed_rejects_empty_add_items",
            "test_sqlite_session_file_lock_is_shared_across_instances",
            "test_sqlite_session_failed_add_items_releases_write_lock",
            "test_sqlite_session_failed_clear_session_rolls_back",
            "test_sqlite_session_failed_pop_item_releases_write_lock",
            "test_sqlite_session_rollback_failure_evicts_connection",
            "test_sqlite_session_close_retries_quarantined_connection",
            "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome",
        ],
        "rows that the test corrupts with SQL": [
            "test_sqlite_session_pop_item_skips_corrupt_most_recent",
            "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows",
            "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows",
            "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows",
        ],
    }.items()
    for name in names
}
"""The tests that cannot pass, with what they are about."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = [item for item in items if item.originalname in LEFT_OUT]  # type: ignore[attr-defined]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]
    missing = set(LEFT_OUT) - {item.originalname for item in left}  # type: ignore[attr-defined]
    whole = any(item.path.name == "test_session.py" for item in left)
    assert not whole or not missing, f"the suite no longer has {missing}"
