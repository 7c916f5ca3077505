"""The memory of Throughline for LangGraph: nodes, tools, and a store."""

from .memory import Memory, MemoryState, with_memory
from .store import ThroughlineStore
from .tools import memory_tools

__all__ = ["Memory", "MemoryState", "ThroughlineStore", "memory_tools", "with_memory"]
