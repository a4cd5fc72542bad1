"""The port to who knows how large models' windows are, beyond what the settings and the shipped data say."""

from __future__ import annotations

from typing import Protocol

from agent_core.providers.choice import ModelChoice
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ServedWindow:
    """The window of a model at its server.

    Attributes:
        kind: of server: `ollama`, `llamacpp`, `lmstudio`, `vllm`, `sglang`, `tgi`; '' where that is not known.
        tokens: the window in use; None where the server has not decided it yet, or does not say.
        maximum: what the model could take at most, where that is said.
        loaded: the figure holds for the model as it runs: asking again would tell nothing new.
        slots: how many requests share what llama.cpp was started with.
    """

    kind: str = ""
    tokens: int | None = None
    maximum: int | None = None
    loaded: bool = False
    slots: int = 1


class WindowSource(Protocol):
    """Who knows how large the windows of models are. None of its methods raises."""

    def begin(self, choice: ModelChoice) -> None:
        """A turn begins that will ask this model; returns at once."""
        ...

    def fitted(self, choice: ModelChoice) -> ModelChoice:
        """The same with the window that its server has, where nobody has set one and it is known."""
        ...

    def answered(self, choice: ModelChoice) -> None:
        """The model has answered: it is loaded now."""
        ...

    def of(self, choice: ModelChoice) -> ServedWindow | None:
        """What its server has said, if it was asked."""
        ...


class AsSet:
    """Asks nobody: windows are what choices say."""

    def begin(self, choice: ModelChoice) -> None:
        """Nothing."""

    def fitted(self, choice: ModelChoice) -> ModelChoice:
        """The same."""
        return choice

    def answered(self, choice: ModelChoice) -> None:
        """Nothing."""

    def of(self, _choice: ModelChoice) -> ServedWindow | None:
        """Nothing."""
        return None
