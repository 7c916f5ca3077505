"""What the adapters for Python frameworks share: turns, the block with the memory, and tools."""

from . import tools
from .block import escape, memory_of, wrap
from .turn import Place, Turn, begin_turn, in_session, store_answer

__all__ = ["Place", "Turn", "begin_turn", "escape", "in_session", "memory_of", "store_answer", "tools", "wrap"]
