"""What the adapters for Python frameworks share: turns, the block with the memory, tools, and what is done where the
memory fails."""

from . import tools
from .block import escape, memory_of, wrap
from .soft import During, Left, Softness, is_outage, soft, store_later, store_waiting
from .turn import Place, Replaces, Turn, begin_turn, in_session

__all__ = [
    "During", "Left", "Place", "Replaces", "Softness", "Turn", "begin_turn", "escape", "in_session", "is_outage", "memory_of", "soft",
    "store_later", "store_waiting", "tools", "wrap",
]
