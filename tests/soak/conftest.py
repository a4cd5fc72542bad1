"""The agent's process, as the tests of whole processes have it."""

from tests.e2e.conftest import editor

__all__ = ["editor"]
