"""The limits that tools work under. `agent_core.config` fills them from the user's settings."""

from __future__ import annotations

from dataclasses import field, replace

from tools.browser.settings import BrowserSettings
from tools.light_dataclass import dataclass
from tools.programs.settings import ProgramSettings
from tools.shell.passthrough import Passthrough
from tools.web.settings import WebSettings


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """`read_file`: lines in a page when none are asked for and at most; characters in a line and in a page.

    With `whole`, who asks for no number of lines gets all of them or an error.
    """

    default_lines: int = 500
    max_lines: int = 2000
    max_line_chars: int = 2000
    max_chars: int = 100_000
    max_bytes: int = 64 * 1024 * 1024
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """`terminal`: seconds a command may take when nothing is asked and at most; characters the model gets.

    `passthrough` are the variables that commands get though they look like secrets.
    """

    default_timeout: float = 180.0
    max_timeout: float = 600.0
    max_output_chars: int = 50_000
    head_share: float = 0.4
    passthrough: Passthrough = field(default_factory=Passthrough)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`search_files`: seconds, characters of one line, results of one page."""

    timeout: float = 60.0
    max_line_chars: int = 500
    max_results: int = 1000


_MOST_PROGRAM_LINES = 500_000


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """All tools' settings, one part each.

    Attributes:
        max_result_chars: characters of one result for the model.
        max_answer_chars: of all results of one answer together.
        redact_results: take secrets out of what the model gets.
    """

    read: ReadSettings = field(default_factory=ReadSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    web: WebSettings = field(default_factory=WebSettings)
    browser: BrowserSettings = field(default_factory=BrowserSettings)
    programs: ProgramSettings = field(default_factory=ProgramSettings)
    max_result_chars: int = 100_000
    max_answer_chars: int = 200_000
    redact_results: bool = False

    def for_programs(self) -> ToolSettings:
        """What programs get of their calls: a window has to be spared, a program works with what it gets.

        It writes files back that it has read, and filters what a command has printed: the part that a model is shown
        would be taken for all of it.
        """
        most = self.programs.max_message_bytes
        read = replace(
            self.read,
            default_lines=_MOST_PROGRAM_LINES,
            max_lines=_MOST_PROGRAM_LINES,
            max_line_chars=most,
            max_chars=most,
            whole=True,
        )
        return replace(self, read=read, terminal=replace(self.terminal, max_output_chars=most // 4))
