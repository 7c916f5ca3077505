"""The memory of Throughline for Strands: a memory store."""

from .store import ThroughlineMemoryStore

__all__ = ["ThroughlineMemoryStore"]
