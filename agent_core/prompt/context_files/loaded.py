"""What was found of rules files: what the model is told, and what was left out."""

from __future__ import annotations

from pathlib import Path

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A rules file as the model is told of it.

    Attributes:
        label: how people and the model know it: relative to the session's directory where it is in there.
        path: where it really is.
        left_out: how many characters of it were too many.
        imported_by: the label of the file that mentions it; '' for one that was found by its name.
    """

    label: str
    path: Path
    text: str
    left_out: int = 0
    imported_by: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or a part of one, that the model is not told. Both texts are one sentence without its full stop.

    Attributes:
        to_person: all that is known of why, with the place in the file.
        to_model: the same without words of the file.
    """

    label: str
    to_person: str
    to_model: str

    @property
    def for_person(self) -> str:
        """The whole sentence."""
        return f"{self.label} is left out of what the model is told: {self.to_person}."


@dataclass(frozen=True, slots=True)
class ContextFiles:
    """All of them; `files` in the order in which the model reads them: the closest to the work last."""

    files: tuple[ContextFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person should know: what is not told to the model, a sentence each."""
        cuts = (
            f"{file.label} is long: the model is told all but {file.left_out:,} characters of it, "
            "and where it can read them."
            for file in self.files
            if file.left_out
        )
        return (*(note.for_person for note in self.left_out), *cuts)
