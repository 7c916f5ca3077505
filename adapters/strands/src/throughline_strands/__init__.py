"""The memory of Throughline for Strands: a memory store and a session manager."""

from .session import ThroughlineSessionManager
from .store import ThroughlineMemoryStore

__all__ = ["ThroughlineMemoryStore", "ThroughlineSessionManager"]
