"""The screen, at the widths that terminals have, with and without colours, and where there is no terminal."""

import io
import os
import pty
import termios
from pathlib import Path

import pytest

from acp_adapter.cli.console import Style, columns, style_for
from acp_adapter.cli.doctor.report import failing, finding_lines, summary_lines, warning, well

GOLDEN = Path(__file__).parent / "golden" / "screen.txt"
CONFIG = "/home/me/.hermes/config.yaml"
FINDINGS = (
    well("python", "3.13.1, /home/me/.local/share/uv/tools/hermes-editor-agent/bin/python"),
    well("packages", "11 are as they should be: agent-client-protocol 0.12.1, mcp 2.3.0, pydantic 2.14.3"),
    failing(
        "home", "/home/me/.hermes cannot be written: nothing is saved", "Make /home/me/.hermes yours.", mends=True
    ),
    failing(
        "settings",
        f"{CONFIG}:3:9: approvals.mode = 'maybe': it must be auto (also manual, smart), all or off",
        "Correct it: no session begins like this.",
    ),
    warning(
        "settings",
        f"{CONFIG}:7:1: modle is not a setting of this program and is ignored; did you mean model?",
        "Write model.",
    ),
    warning(
        "editor", "none of them starts hermes-acp yet (Zed, Emacs (agent-shell))", "`hermes-acp setup` enters it."
    ),
    well("file history", "«Café» … 4 earlier contents"),
)


STYLES = {
    "80 columns, colours": (80, {}),
    "120 columns, colours": (120, {}),
    "80 columns, no colours": (80, {"NO_COLOR": "1"}),
    "120 columns, no colours": (120, {"NO_COLOR": "1"}),
    "a pipe": (0, {}),
}


class Window(io.StringIO):
    """A stream to a terminal of so many columns; 0 is none."""

    encoding = "utf-8"

    def __init__(self, columns):
        super().__init__()
        self._columns = columns
        self._ends = pty.openpty()
        termios.tcsetwinsize(self._ends[1], (40, columns))

    def isatty(self):
        return self._columns > 0

    def fileno(self):
        return self._ends[1]

    def close(self):
        for end in self._ends:
            os.close(end)
        super().close()


def screen(style, findings=FINDINGS, left_out=("model",)):
    lines = [line for finding in findings for line in finding_lines(finding, style)]
    return "\n".join((*lines, "", *summary_lines(findings, left_out, style), ""))


def shown(name):
    columns, environ = STYLES[name]
    with Window(columns) as window:
        return screen(style_for(window, environ))


def test_it_looks_as_it_did():
    now = "\n".join(f"=== {name} ===\n{shown(name)}" for name in STYLES).replace("\x1b", "␛")
    if os.environ.get("GOLDEN_UPDATE") == "1":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(now, encoding="utf-8")
    assert now == GOLDEN.read_text(encoding="utf-8"), "review the change and run it with GOLDEN_UPDATE=1"


@pytest.mark.parametrize("name", [name for name in STYLES if "no colours" in name])
def test_no_line_is_wider_than_the_window(name):
    assert max(map(len, shown(name).splitlines())) <= STYLES[name][0]


def test_all_that_is_well_is_said_so():
    assert screen(Style(), FINDINGS[:1], ()).endswith("\nAll is well.\n")


def test_nothing_that_was_found_steers_the_terminal():
    (line,) = finding_lines(well("running", "/tmp/\x1b[2J\x9b2Jevil\nnext\u202e"), Style())
    assert line == "+ running      /tmp/evil next"


def test_what_is_found_in_wide_signs_fits_the_window_too():
    found = well("running", "設定は正しく読まれました。" * 8)
    lines = finding_lines(found, Style(signs=True, columns=lambda: 60))
    assert max(map(columns, lines)) <= 60
    assert "".join(line[15:] for line in lines) == found.text
