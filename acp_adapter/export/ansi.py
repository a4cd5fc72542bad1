"""A command's output with its colours, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from tools.light_dataclass import dataclass
from tools.text.terminal_output import plain_text

_GRAPHICS = re.compile(r"\x1b\[([0-9;:]{0,64})m")
_EXTENDED = {38: "foreground", 48: "background"}
_INDEXED, _TRUE_COLOUR = 5, 2
_CUBE_START, _GREY_START, _CUBE_SIDE = 16, 232, 6
_HALF, _BRIGHT = 2.5, 4
_DARK_GREY, _LIGHT_GREY = 0.3, 0.7


@dataclass(frozen=True, slots=True)
class _Look:
    """How text looks now: colours are 0 to 15, None for the usual ones."""

    foreground: int | None = None
    background: int | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False

    def classes(self) -> str:
        named = (("b", self.bold), ("d", self.dim), ("i", self.italic), ("u", self.underline))
        names = [name for name, wanted in named if wanted]
        names += [] if self.foreground is None else [f"f{self.foreground}"]
        names += [] if self.background is None else [f"g{self.background}"]
        return " ".join(names)


def coloured(output: str) -> Html:
    """`output` as text with a `span` for each stretch that has a look of its own. Other sequences are left out."""
    return join(_pieces(_last_states(output)))


def _pieces(output: str) -> Iterator[Html]:
    look, place = _Look(), 0
    for found in _GRAPHICS.finditer(output):
        yield _piece(output[place : found.start()], look)
        look, place = _changed(look, found[1]), found.end()
    yield _piece(output[place:], look)


def _piece(output: str, look: _Look) -> Html:
    shown = text(plain_text(output))
    classes = look.classes()
    return tag("span", shown, class_=classes) if shown and classes else shown or NOTHING


def _last_states(output: str) -> str:
    """Lines that were rewritten with carriage returns, as they were in the end."""
    if "\r" not in output:
        return output
    lines = output.replace("\r\n", "\n").split("\n")
    return "\n".join(next((state for state in reversed(line.split("\r")) if state), "") for line in lines)


def _changed(look: _Look, codes: str) -> _Look:
    numbers = [int(code) if code.isdigit() else 0 for code in re.split("[;:]", codes.replace(":2::", ":2:"))]
    while numbers:
        code = numbers.pop(0)
        if code in _EXTENDED:
            colour = _extended(numbers)
            look = replace(look, foreground=colour) if code == 38 else replace(look, background=colour)  # noqa: PLR2004
        else:
            look = _simple(look, code)
    return look


def _simple(look: _Look, code: int) -> _Look:
    match code:
        case 0:
            return _Look()
        case 1:
            return replace(look, bold=True)
        case 2:
            return replace(look, dim=True)
        case 3:
            return replace(look, italic=True)
        case 4:
            return replace(look, underline=True)
        case 22:
            return replace(look, bold=False, dim=False)
        case 23:
            return replace(look, italic=False)
        case 24:
            return replace(look, underline=False)
    return _coloured(look, code)


def _coloured(look: _Look, code: int) -> _Look:
    tens, unit = divmod(code, 10)
    colour = unit if unit < 8 else None  # noqa: PLR2004 - 8 colours, and 9 for the usual one
    match tens:
        case 3:
            return replace(look, foreground=colour)
        case 4:
            return replace(look, background=colour)
        case 9:
            return replace(look, foreground=None if colour is None else colour + 8)
        case 10:
            return replace(look, background=None if colour is None else colour + 8)
    return look


def _extended(numbers: list[int]) -> int | None:
    """The colour that the numbers after 38 or 48 name, as the nearest of 16; they are taken off the list."""
    kind = numbers.pop(0) if numbers else 0
    if kind == _INDEXED and numbers:
        return _of_256(numbers.pop(0))
    if kind == _TRUE_COLOUR and len(numbers) > 2:  # noqa: PLR2004 - red, green, blue
        red, green, blue = (min(numbers.pop(0), 255) / 51 for _ in range(3))
        return _nearest(red, green, blue)
    numbers.clear()  # what is cut off has no other meaning
    return None


def _of_256(index: int) -> int | None:
    if index < _CUBE_START:
        return index
    if index >= _GREY_START:
        level = min(index - _GREY_START, 23) / 23 * 5
        return _nearest(level, level, level)
    index -= _CUBE_START
    return _nearest(index // 36, index // 6 % 6, index % 6)


def _nearest(red: float, green: float, blue: float) -> int:
    """The colour of 16 for levels from 0 to 5."""
    highest = max(red, green, blue)
    if highest - min(red, green, blue) < 1:  # a grey
        return 0 if highest < 5 * _DARK_GREY else 8 if highest < _HALF else 7 if highest < 5 * _LIGHT_GREY else 15
    on = highest / 2
    base = (red > on) + 2 * (green > on) + 4 * (blue > on)
    return base + (8 if highest > _BRIGHT else 0)
