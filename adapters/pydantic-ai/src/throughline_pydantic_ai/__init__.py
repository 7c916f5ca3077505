"""The memory of Throughline for Pydantic AI: a capability."""

from .memory import ThroughlineMemory

__all__ = ["ThroughlineMemory"]
