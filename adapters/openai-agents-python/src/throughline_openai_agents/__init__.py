"""The memory of Throughline for the OpenAI Agents SDK: a session, a filter that adds the memory, and tools."""

from .memory import with_memory
from .session import ThroughlineSession
from .tools import memory_tools

__all__ = ["ThroughlineSession", "memory_tools", "with_memory"]
