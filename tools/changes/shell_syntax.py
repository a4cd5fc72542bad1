"""What is left of a shell text after reading it: simple commands in their order, and the subshells around them."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word.

    Attributes:
        kind: `text` as written, a `variable` to look up, or something that only the shell can know.
        text: the text, or the variable's name.
        quoted: the shell neither splits it nor looks for globs, braces or a tilde in it.
    """

    kind: Literal["text", "variable", "unknown"]
    text: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `scripts` are the commands that run to make it: `$(…)`, backticks, `<(…)`."""

    parts: tuple[Part, ...]
    scripts: tuple[Script, ...] = ()

    @property
    def literal(self) -> str | None:
        """The word's text where nothing in it has to be looked up; globs and braces are as written."""
        if any(part.kind != "text" for part in self.parts):
            return None
        return "".join(part.text for part in self.parts)

    @property
    def bare(self) -> str | None:
        """The word where it is written without any quoting, as keywords are."""
        if len(self.parts) != 1 or self.parts[0].kind != "text" or self.parts[0].quoted:
            return None
        return self.parts[0].text


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection. For `<<` the target is the text that follows in the script."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command. `is_piped`: its input is the output of the one before."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    is_piped: bool = False


@dataclass(frozen=True, slots=True)
class Subshell:
    """Where a `( … )` begins or ends."""

    begins: bool


@dataclass(frozen=True, slots=True)
class Script:
    """Commands in the order of the text. `is_certain`: the shell surely reads the text in the same way."""

    items: tuple[Simple | Subshell, ...]
    is_certain: bool
