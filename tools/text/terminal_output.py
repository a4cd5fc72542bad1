"""What a terminal would show of output: escapes, overwritten and repeated lines, prompts."""

from __future__ import annotations

import itertools
import re

# What is left to read on a screen after a program has moved its cursor about: redrawn progress shows once.

_TOKEN = re.compile(
    r"\x1b\[(?P<numbers>[0-9;]{0,20})(?P<verb>[A-HJKf])|(?P<control>[\n\r\b])|(?P<text>[^\x1b\n\r\b]+)|\x1b"
)
_MOVES = re.compile(r"\x1b\[[0-9;]{0,20}[ABEFHJf]")
_ROWS = 40
_MAX_COLUMN = 2_000


def moves_about(text: str) -> bool:
    """Whether the cursor goes where carriage returns do not reach."""
    return bool(_MOVES.search(text))


def rendered(text: str) -> str:
    """The lines that stay, without spaces at their ends. `text` holds no escape sequences but those of the cursor."""
    screen = _Screen()
    for token in _TOKEN.finditer(text):
        if token["text"] is not None:
            screen.write(token["text"])
        elif token["control"] is not None:
            screen.control(token["control"])
        elif token["verb"] is not None:
            screen.move(token["verb"], token["numbers"])
    return "\n".join(line.rstrip() for line in screen.lines)


class _Screen:
    """Lines without a limit; the last `_ROWS` of them can be reached."""

    def __init__(self) -> None:
        self.lines = [""]
        self._row = 0
        self._column = 0

    def write(self, text: str) -> None:
        line = self.lines[self._row]
        end = self._column + len(text)
        self.lines[self._row] = f"{line[: self._column]:<{self._column}}{text}{line[end:]}"
        self._column = end

    def control(self, which: str) -> None:
        if which == "\n":
            self._go(self._row + 1, 0)
        elif which == "\r":
            self._column = 0
        else:
            self._column = max(0, self._column - 1)

    def move(self, verb: str, given: str) -> None:
        numbers = [int(number[:5]) if number else 0 for number in given.split(";")]
        count = max(1, numbers[0])
        match verb:
            case "A":
                self._go(self._row - count, self._column)
            case "F":
                self._go(self._row - count, 0)
            case "B" | "E":
                self._go(min(self._row + count, len(self.lines) - 1), 0 if verb == "E" else self._column)
            case "C":
                self._column = min(self._column + count, _MAX_COLUMN)
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = min(count - 1, _MAX_COLUMN)
            case "H" | "f":
                column = numbers[1] if len(numbers) > 1 else 1
                self._go(self._top() + min(count, _ROWS) - 1, min(max(1, column), _MAX_COLUMN) - 1)
            case "J":
                self._erase_below(numbers[0])
            case "K":
                self._erase_line(numbers[0])

    def _top(self) -> int:
        return max(0, len(self.lines) - _ROWS)

    def _go(self, row: int, column: int) -> None:
        self._row, self._column = max(row, self._top()), column
        self.lines.extend([""] * (self._row + 1 - len(self.lines)))

    def _erase_below(self, what: int) -> None:
        if what >= 2:  # noqa: PLR2004 - 2 is the whole screen, 3 what has scrolled off as well
            row = self._row - self._top()
            del self.lines[self._top() :]
            self.lines.append("")
            self._go(self._top() + row, self._column)
        elif what == 0:
            del self.lines[self._row + 1 :]
            self._erase_line(0)

    def _erase_line(self, what: int) -> None:
        line = self.lines[self._row]
        if what == 0:
            self.lines[self._row] = line[: self._column]
        elif what == 1:
            self.lines[self._row] = " " * min(self._column, len(line)) + line[self._column :]
        else:
            self.lines[self._row] = ""


# Leaves out what a program has written over, while its output comes in pieces.

# A carriage return that ends a line is no overwriting.
_STATES = re.compile(r"\r(?!\n|\Z)")


class Overwritten:
    """Passes text on, of each line only its last state; an unfinished line waits until it is finished.

    Escape sequences stay. A very long unfinished line is passed on in parts: it is no progress bar.
    """

    def __init__(self, longest_line: int = 16_384) -> None:
        self._longest_line = longest_line
        self._line = ""

    def settled(self, text: str) -> str:
        """What `text` makes certain: finished lines, each in its last state."""
        if "\r" not in text and not self._line and text.endswith("\n"):
            return text
        finished, end, line = (self._line + text).rpartition("\n")
        self._line = last_state(line) if "\r" in line else line
        if "\r" in finished:
            finished = "\n".join(last_state(part) if "\r" in part else part for part in finished.split("\n"))
        if len(self._line) <= self._longest_line:
            return finished + end
        line, self._line = self._line, ""
        return finished + end + line

    def rest(self) -> str:
        """The unfinished line: no more text comes."""
        line, self._line = self._line, ""
        return line


def last_state(line: str) -> str:
    """What is to be seen of a line after its carriage returns; one at its end stays."""
    states = [state for state in _STATES.split(line) if state.strip("\r")]
    return states[-1] if states else line[-1:]


# Shortens what a program prints again and again: a line repeated, or the lines of a progress that only grow.

_SAME_LINES = 6
_PROGRESS_LINES = 10
_KEPT_ENDS = 2
_PERCENT = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d+)?)\s?%")
# Numbers that stand alone, with their units; not those in names.
_NUMBER = re.compile(r"(?<![\w./-])\d[\d.,:]*(?:\s?(?:[kKMGT]i?)?[Bb](?:/s)?|[smh]|ms)?(?![\w/-])")
_BAR = re.compile(r"\[[\s=#>.*-]*\]|[\u2580-\u259f\u2500-\u257f\u2800-\u28ff]+|[=#>.*-]{3,}")
_BLANKS = re.compile(r"\s+")


def shortened(text: str) -> str:
    """`text` with a count in place of lines that tell nothing new. Short texts stay as they are."""
    if text.count("\n") < _SAME_LINES:
        return text
    lines = _without_progress(text.split("\n"))
    return "\n".join(
        itertools.chain.from_iterable(_run(line, len(list(run))) for line, run in itertools.groupby(lines))
    )


def _run(line: str, count: int) -> list[str]:
    if count < _SAME_LINES:
        return [line] * count
    return [line, f"[… the same line {count - 1} more times]"]


def _without_progress(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for shape, group in itertools.groupby(lines, _shape):
        run = list(group)
        if not shape or len(run) < _PROGRESS_LINES or not _only_grows(run):
            kept.extend(run)
            continue
        kept.extend((run[0], f"[… {len(run) - _KEPT_ENDS} lines of this progress left out]", run[-1]))
    return kept


def _shape(line: str) -> str:
    """What the line is without its numbers and bars, '' when it tells no percentage."""
    if "%" not in line or not _PERCENT.search(line):
        return ""
    return _BLANKS.sub(" ", _BAR.sub("", _NUMBER.sub("0", _PERCENT.sub("0%", line))))


def _only_grows(lines: list[str]) -> bool:
    shares = [float(found[1]) for found in map(_PERCENT.search, lines) if found]
    return shares[0] < shares[-1] and all(earlier <= later for earlier, later in itertools.pairwise(shares))


# What a terminal would show of a command's output, as plain text for the model.

_ESCAPES = re.compile(
    r"""
    (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?             # CSI: colours, cursor, erase
  | (?:\x1b\]|\x9d) [^\x07\x1b\x9c\n]* (?:\x07|\x1b\\|\x9c)?  # OSC: titles, links
  | \x1b [PX^_] [^\x1b\x9c\n]* (?:\x1b\\|\x9c)?        # strings for the terminal itself
  | \x1b [ -/]* [0-~]?                               # the rest: character sets, modes
    """,
    re.VERBOSE,
)
_OVERSTRUCK = re.compile(r"[^\n\b]\x08")
# Kept: tab, line feed, and (until lines are collapsed) carriage return.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CURSOR = re.compile(r"\x1b\[[0-9;]{0,20}[A-HJKf]")
_UNUSUAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(output: str) -> str:
    """`output` without escape sequences and control characters, and with overwritten lines left out.

    A line that a program rewrote with carriage returns (a progress bar) shows its last state, and so do lines that it
    went back to; letters that were overstruck with backspaces show the last one.
    """
    if not _UNUSUAL.search(output):
        return output
    if moves_about(output):
        return _CONTROLS.sub("", rendered(_ESCAPES.sub(_cursor_only, output)))
    text = _ESCAPES.sub("", output)
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\r" in text:
        text = "\n".join(last_state(line).strip("\r") for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def for_model(output: str) -> str:
    """`plain_text`, with what repeats itself shortened: a count says how much was left out."""
    return shortened(plain_text(output))


def _cursor_only(escape: re.Match[str]) -> str:
    return escape[0] if _CURSOR.fullmatch(escape[0]) else ""


# Whether the end of a program's output asks for input: only what hardly anything else looks like counts.

TAIL_CHARS = 1_000
"""So much of the end is enough to tell."""
FULL_SCREEN = "a full-screen program"
"""Stands for the question of a program that has the whole terminal."""

_MAX_SHOWN_CHARS = 200
_SURE = r"""
    [\[(] \s* (?:y|yes|n|no) \s* [/|] \s* (?:y|yes|n|no) \b [^\])\n]{0,40} [\])] \s* [?:]? \s* $    # [y/N], (yes/no)?
  | \? \s* [\[(] (?:y|yes|n|no) [\])] \s* :? \s* $                                                  # ok? (yes)
  | \b (?:continue|proceed|overwrite|replace|remove|delete|sure) \b [^\n]{0,80} \? (?:[^\n]{0,80}:)? \s* $
  | \b (?:password|passphrase|passcode|username|login|one-time\ code|verification\ code) \b [^\n]{0,120} : \s* $
  | \b (?:press|hit|strike) \s (?:any\ key|a\ key|enter|return|\[?enter\]?) \b [^\n]{0,80} $
  | ^ (?:>>>|\.\.\.|\(i?pdb\)|i?pdb>|\(gdb\)|\(lldb\)|in\ \[\d+\]:|mysql>|sqlite>|ftp>|sftp>|[\w-]+[=-][\#>]) \s* $
  | ^ (?:: | .*\(END\) | --More--.*) \s* $
  | \b use \s arrow[-\ ]keys \b [^\n]* $
"""
_SCREEN_ON, _SCREEN_OFF = "\x1b[?1049h", "\x1b[?1049l"


def open_line(tail: str) -> str:
    """The last line of the output `tail` when no line feed has ended it, as a person sees it."""
    line = tail.rpartition("\n")[2]
    return plain_text(line).strip()[-_MAX_SHOWN_CHARS:] if line else ""


def question(tail: str) -> str:
    """The question that `tail` ends with, '' when it is not sure to be one."""
    line = open_line(tail)
    # The pattern is compiled when it is first needed: a start should not pay for it.
    return line if line and re.search(_SURE, line, re.VERBOSE | re.IGNORECASE) else ""


def takes_the_screen(tail: str, *, was: bool) -> bool:
    """Whether a full-screen program (an editor, a pager) has the terminal after `tail`; `was`: it had it before."""
    on, off = tail.rfind(_SCREEN_ON), tail.rfind(_SCREEN_OFF)
    return was if on == off else on > off
