"""What a turn would leave undone if it ended now, such as unchecked edits; the model is told once for each kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from agent_core.check_commands import is_check, only_brings, outcome_of
from agent_core.messages import Content, ToolCall, arguments_of, text_of
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.result import ChangedFile, ShownDiff, ToolResult

# What a turn has edited since a check last passed, and how the last check came out.

_CODE_SUFFIXES = frozenset({
    "py", "pyi", "pyx", "ipynb", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte", "go",
    "rs", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm", "cu", "cs", "java", "kt", "kts", "scala",
    "groovy", "rb", "php", "pl", "pm", "swift", "dart", "ex", "exs", "erl", "hrl", "hs", "ml", "mli", "clj",
    "cljs", "lua", "r", "jl", "zig", "nim", "sh", "bash", "zsh", "fish", "ps1", "sql", "sol", "vb", "fs", "fsx",
    "gradle", "cmake", "proto", "tf",
})  # fmt: skip
_CODE_NAMES = frozenset({"makefile", "dockerfile", "cmakelists.txt", "rakefile", "justfile", "build", "meson.build"})
_EDITING = frozenset({"write_file", "patch"})
_RUNS_COMMANDS = frozenset({"terminal", "execute_code"})
_LOOKS = frozenset({"poll", "log", "wait"})
_MOST_NAMES = 5
_LONGEST_COMMAND = 120

_NOT_WANTED = re.compile(
    r"\b(?:do\s*n[o'’]?t|don['’]?t|never|without|no need to|not necessary to|skip(?:ping)?|avoid)\b[^.!?;\n]{0,40}?"
    r"\b(?:run|running|tests?|testing|execut\w+|commands?|build\w*|verif\w+|check\w*|lint\w*)\b"
    r"|\bno (?:tests?|commands?|checks?|verification)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that failed; `how` says by what that is seen: an exit code, a line of its output."""

    command: str
    how: str


@dataclass(slots=True)
class UncheckedEdits:
    """Watches the calls of one turn. Not safe for several threads: the loop of the turn uses it.

    Attributes:
        has_any: whether the turn has changed code at all.
        failed: the last check, where it failed.
    """

    has_any: bool = False
    failed: FailedCheck | None = None
    _files: dict[Path, None] = field(default_factory=dict)
    _made: set[Path] = field(default_factory=set)
    _checking: set[str] = field(default_factory=set)

    def see(self, call: ToolCall, result: ToolResult) -> None:
        """Take down what a call edited or checked; in the order of the answer's calls."""
        name = call["function"]["name"]
        if name in _EDITING:
            if not result.failed:
                self._edit(_edited(result))
        elif name in _RUNS_COMMANDS and "exit_code" in result.facts:
            self._ran(name, result)
        elif (
            name == "process"
            and arguments_of(call).get("action") in _LOOKS
            and result.facts.get("process") in self._checking
        ):
            self._checked(result)

    def _ran(self, name: str, result: ToolResult) -> None:
        command = str(result.facts.get("command", ""))
        code = [file for file in result.changed if is_code(file.path)]
        if name == "execute_code":
            self._ran_program(code, result)
            return
        if not only_brings(command):
            self._edit(code)
        if not is_check(command, edited=bool(code)):
            return
        process = result.facts.get("process")
        if process is not None and result.facts["exit_code"] is None:
            self._checking.add(str(process))
            return
        self._checked(result)

    def _ran_program(self, code: Iterable[ChangedFile], result: ToolResult) -> None:
        calls = result.facts.get("calls") or ()
        # The calls of a program were seen one by one; among them may be a check of what it has changed itself.
        if "terminal" not in calls:
            self._edit(code)
        if not calls and not code and result.facts["exit_code"] == 0:
            self._settle()

    def _checked(self, result: ToolResult) -> None:
        """A check has ended, or runs on, which shows something, too."""
        outcome = outcome_of(result)
        if outcome.passed:
            self._settle()
        elif outcome.failure:
            self._files.clear()
            command = " ".join(str(result.facts.get("command", "")).split())
            self.failed = FailedCheck(
                command if len(command) <= _LONGEST_COMMAND else f"{command[:_LONGEST_COMMAND]}…", outcome.failure
            )

    def _settle(self) -> None:
        self._files.clear()
        self.failed = None

    def _edit(self, files: Iterable[ChangedFile]) -> None:
        for file in files:
            if not is_code(file.path):
                continue
            self.has_any = True
            if not file.was_there:
                self._made.add(file.path)
            if not file.is_there and file.path in self._made:
                # What came and went with the turn has nothing to check.
                self._files.pop(file.path, None)
            else:
                self._files[file.path] = None

    @property
    def unchecked(self) -> str:
        """The names of the files that were edited since the last check, the first of many; '' for none."""
        names = [path.name for path in self._files]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"{', '.join(names[:_MOST_NAMES])}{more}"


def is_code(path: Path) -> bool:
    """Whether a change of the file could break something that a check would find: prose and data do not count."""
    return path.suffix.lower().removeprefix(".") in _CODE_SUFFIXES or path.name.lower() in _CODE_NAMES


def forbids_checks(content: Content) -> bool:
    """Whether the person's words ask not to run anything. Unsure means that they do."""
    return _NOT_WANTED.search(text_of(content)) is not None


def _edited(result: ToolResult) -> list[ChangedFile]:
    """The files whose text is another now."""
    return [
        ChangedFile(shown.path, shown.before is not None, shown.after is not None)
        for shown in result.shown
        if isinstance(shown, ShownDiff) and shown.after != shown.before
    ]


# What is undone, and what the model is told of it.

Kind = Literal["unchecked", "failed", "plan", "announced"]

_ENOUGH_LEFT = 3
"""Requests that a nudge needs: the step, what it shows, the last word."""
_MOST_ITEMS, _LONGEST_ITEM = 5, 80
_OPEN = frozenset({"pending", "in_progress"})

_TOLD: dict[Kind, str] = {
    "unchecked": "Code was changed and not checked: the model is asked to check it.",
    "failed": "The last check failed: the model is asked to look into it.",
    "plan": "The plan has open items: the model is asked to finish them.",
    "announced": "The model announced a step and did not take it: it is asked to go on.",
}

_UNCHECKED = (
    "You changed code in this turn ({names}) and have run nothing since that shows whether it works. Run the "
    "narrowest check that covers it (its tests, a type check, a build, or the code itself) and fix what it "
    "shows. If no check is possible or needed, say in one sentence why."
)


@dataclass(frozen=True, slots=True)
class Nudge:
    """What the model is told, and in short what the person is."""

    text: str
    told: str


@dataclass(slots=True)
class LooseEnds:
    """Watches the calls of one turn. Not safe for several threads: the loop of the turn uses it.

    Attributes:
        wanted: whether the model is to be told of anything.
        checks_wanted: whether it is to be told of checks: the person may have asked not to run any.
        edits: what it has edited and checked.
    """

    wanted: bool = True
    checks_wanted: bool = True
    edits: UncheckedEdits = field(default_factory=UncheckedEdits)
    _told: set[Kind] = field(default_factory=set)
    _has_planned: bool = False
    _was_refused: bool = False

    def see(self, call: ToolCall, result: ToolResult) -> None:
        """Take down what a call did; in the order of the answer's calls."""
        self._was_refused = self._was_refused or result.denied
        self._has_planned = self._has_planned or (not result.failed and _plans(call))
        self.edits.see(call, result)

    def nudge(
        self, text: str, plan: Sequence[TodoItem], left: int, *, can_check: bool, is_awaited: bool
    ) -> Nudge | None:
        """What the model is told now, which counts as told; None where the turn may end with `text`.

        Args:
            left: how many requests the turn has.
            can_check: it has a tool for commands.
            is_awaited: something runs in the background whose end will be told.
        """
        if not self.wanted or self._was_refused or left < _ENOUGH_LEFT:
            return None

        if asks_person(text):
            return None
        found: dict[Kind, str] = {}
        if can_check and self.checks_wanted:
            found |= self._unchecked(explained=explains_failure(text))
        still_open = [item.content for item in plan if item.status in _OPEN]
        if still_open and self._has_planned and not is_awaited:
            found["plan"] = _of_plan(still_open)
        if not is_awaited and (step := announced_step(text)):
            found["announced"] = (
                f"Your message ends with “{step}”, but it calls no tool, so nothing was done. Take that step now "
                "with a tool call; if it is not needed, give your final answer."
            )
        new = [kind for kind in found if kind not in self._told]
        if not new:
            return None
        self._told.update(new)
        words = " ".join(found[kind] for kind in new)
        return Nudge(
            f"[Not from the user. {words} Do not repeat what you have said already.]",
            " ".join(_TOLD[kind] for kind in new),
        )

    def _unchecked(self, *, explained: bool) -> dict[Kind, str]:
        edits, failed = self.edits, self.edits.failed
        if failed is None:
            return {"unchecked": _UNCHECKED.format(names=edits.unchecked)} if edits.unchecked else {}
        # Who was only asked to run something has done so.
        if not edits.has_any or explained:
            return {}
        since = f" You changed {edits.unchecked} since and have not run it again." if edits.unchecked else ""
        return {
            "failed": (
                f"The last check failed: `{failed.command}` ({failed.how}).{since} Fix what it shows and run it "
                "again; if that is not possible or not part of the task, say in one sentence what fails and why."
            )
        }


def _plans(call: ToolCall) -> bool:
    """Whether a call has written the plan, not only asked for it."""
    return call["function"]["name"] == "todo" and arguments_of(call).get("todos") is not None


def _of_plan(items: Sequence[str]) -> str:
    names = "; ".join(
        f"“{item if len(item) <= _LONGEST_ITEM else f'{item[:_LONGEST_ITEM]}…'}”" for item in items[:_MOST_ITEMS]
    )
    more = f" and {len(items) - _MOST_ITEMS} more" if len(items) > _MOST_ITEMS else ""
    return (
        f"Your plan has open items: {names}{more}. Go on with them. Those that are done or no longer needed, mark "
        "completed or cancelled with todo; if something keeps you from going on, say what."
    )


# What the text says that a turn would end with: does it ask, does it announce a step, does it explain a failure?
# English only: what is written in other languages is left alone. Unsure means that there is nothing to say about it.

_TAIL = 1_200
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")
_MARKS = re.compile(r"^[\s>*#_\-–—•\d.)]*|[\s*_]+$")
_SENTENCE = re.compile(r"(?<=[.!?…:])[\"')\]*_]*\s+(?=[\"'(*_]*[A-Z])|\n+")

_ASKS = re.compile(
    r"[?？]|\blet me know\b|\btell me\b|\b(?:want|like) me to\b|\bshall I\b|\bshould I\b|\bup to you\b"
    r"|\b(?:please|kindly) (?:confirm|approve|choose|provide|specify|clarify|say|tell|let|decide|review)\b"
    r"|\b(?:awaiting|waiting for|wait for|need|once I have|pending) your\b|\byou(?:'d| would) (?:like|prefer)\b"
    r"|\bif you(?:'d| would)? (?:like|want|prefer|wish|need|agree|approve|confirm)\b"
    r"|\bsay (?:so|the word|\"?(?:yes|go|continue))\b",
    re.IGNORECASE,
)
_VERBS = (
    r"(?:run|re-?run|check|verify|test|fix|update|edit|modify|change|add|create|write|implement|look|read|open|examine|"
    r"inspect|search|find|apply|start|begin|continue|proceed|make|refactor|remove|delete|install|build|try|explore|"
    r"analy[sz]e|investigate|review|move|rename|replace|execute|see|view|list|grep|debug|adjust|correct|patch|commit|"
    r"compile)"
)
_ADVERBS = r"(?:(?:now|next|then|also|first|just|quickly|go ahead and|start by|begin by|try to|proceed to) )*"
_PROMISE = re.compile(
    rf"^(?:(?:ok(?:ay)?|good|great|perfect|alright|all right|right|so|now|next|then|first|finally|after that|and|but"
    rf"|here|with that(?: done)?|to (?:do|fix|verify|check) (?:this|that|it))[,.!:]? )*"
    rf"(?:let me|let's|I(?:'ll| will|'m going to| am going to)(?: now| next)?) {_ADVERBS}{_VERBS}\b",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"^(?:now|next)[,:]? (?:running|checking|verifying|testing|fixing|updating|editing|adding|creating|writing"
    r"|implementing|applying|reading|looking)\b|^(?:running|checking|verifying|fixing|updating|applying|reading)\b"
    r".*\bnow\W*$",
    re.IGNORECASE,
)
# It says how something is, and not what is done.
_STATES = re.compile(
    r"\b(?:is|are|was|were|no longer|works?|passes|returns?|raises?|throws?|gives?|invalidates?|uses?|instead"
    r"|left)\b",
    re.IGNORECASE,
)
# What makes a step one for later, for somebody else, or none.
_NOT_NOW = re.compile(
    r"\b(?:when|whenever|once|after|if|unless|until|as soon as|later|tomorrow|in (?:the )?future|from now on"
    r"|look forward|see how|start with"
    r"|going forward|another (?:turn|session)|you|your|not|never|\w+n't|stop|wait|leave|would|could|might)\b",
    re.IGNORECASE,
)
_LONGEST_PROMISE = 300

_FAILURE = (
    r"(?:fail(?:s|ed|ing|ures?)?|errors?|broken|crash(?:es|ed)?|exit(?:s|ed)? (?:code|with)|red"
    r"|(?:do(?:es)?|did)(?: not|n't) (?:pass|compile|build|run)|could(?: not|n't) (?:run|be run|build|be built))"
)
_REASON = (
    r"(?:because|since|due to|unrelated|not related|pre-?existing|already (?:fail|broken|there|red)\w*|"
    r"(?:failed|fails|failing|broken|red) (?:already |even |also )?(?:before|on main|on master|without)|"
    r"before (?:my|this|the|these) (?:change|edit|fix|work)\w*|as (?:you )?(?:asked|requested|intended)|expected|"
    r"on purpose|intentional\w*|by design|not installed|missing (?:dependenc\w+|module|package|tool|service)"
    r"|no network|needs? (?:network|docker|a (?:running )?(?:database|server|service))|the sandbox|out of scope|"
    r"flaky|cause is|caused by|comes from|root cause)"
)
_EXPLAINED = re.compile(rf"\b{_FAILURE}\b.*\b{_REASON}|\b{_REASON}\b.*\b{_FAILURE}", re.IGNORECASE | re.DOTALL)


def asks_person(text: str) -> bool:
    """Whether the text ends by asking the person something, or hands the next step to them."""
    return any(_ASKS.search(sentence) for sentence in _sentences(text)[-2:])


def announced_step(text: str) -> str:
    """The final sentence, where it says that the model will do something now; '' otherwise."""
    if _CODE_BLOCK.search(text.rstrip()[-_TAIL:]) and text.rstrip().endswith("```"):
        return ""
    last = (_sentences(text) or [""])[-1]
    if len(last) > _LONGEST_PROMISE or _NOT_NOW.search(last):
        return ""
    is_doing = _DOING.match(last) is not None and _STATES.search(last) is None
    return last if _PROMISE.match(last) or is_doing else ""


def explains_failure(text: str) -> bool:
    """Whether the text says of a failure why it stays."""
    return _EXPLAINED.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return _INLINE.sub("`…`", _CODE_BLOCK.sub("\n", text)).replace("’", "'")


def _sentences(text: str) -> list[str]:
    """Those of the text's end, without code and marks of Markdown."""
    tail = _plain(text[-_TAIL:]).strip()
    cleaned = (_MARKS.sub("", part) for part in _SENTENCE.split(tail))
    return [part for part in cleaned if part]
