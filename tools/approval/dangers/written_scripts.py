"""Scripts that a command writes into files and then runs itself."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path

from tools.approval.dangers.hidden import SHELLS
from tools.approval.dangers.inline import files_read, is_sql_client, language_of, script_files, scripts_of
from tools.approval.dangers.places import full_path
from tools.approval.dangers.targets import written_by
from tools.approval.dangers.task_files import just_recipes, package_scripts, recipes
from tools.approval.dangers.words import sort_words, texts
from tools.bash.machine import Call
from tools.bash.printing import printed
from tools.bash.read import read_command
from tools.bash.reading import UNKNOWN, Argument, Invocation, Reading
from tools.light_dataclass import dataclass

WRITES = frozenset({">", ">>", ">|", "&>"})
_COPIERS = frozenset({"mv", "cp", "install", "ln"})
_PACKAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_FILTERS = frozenset({"sed", "gsed", "tr", "cut", "head", "tail", "grep", "fold", "paste", "xxd", "openssl", "m4"})
_TASK_FILES = {
    "make": ("GNUmakefile", "makefile", "Makefile"), "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"), **dict.fromkeys(_PACKAGERS, ("package.json",)),
}  # fmt: skip
_TASKS = {"make": recipes, "just": just_recipes, "package": package_scripts}
_EXTENSIONS = {".py": "python", ".js": "javascript", ".ts": "javascript", ".rb": "ruby", ".pl": "perl"}
_WRITING = re.compile(r"write|retrieve|dump|print|save|copy|move|rename|>|\bput|['\"][wax]b?\+?['\"]", re.IGNORECASE)
_MAX_DEPTH = 4
_MAX_SCRIPTS = 40


@dataclass(frozen=True, slots=True)
class WrittenScript:
    """The text of a file that a command writes and then runs; `language` is «shell», or that of an interpreter."""

    language: str
    source: str


@dataclass(slots=True)
class _Files:
    """What has been written so far: the texts by path, `UNKNOWN` where nobody can tell, and what scripts are like."""

    texts: dict[str, str] = field(default_factory=dict)
    inline: list[str] = field(default_factory=list)

    def text_of(self, path: str) -> str | None:
        """The text of a file; None where the command has not written it."""
        if path in self.texts:
            return self.texts[path]
        name = posixpath.basename(path)
        is_made = name and any(name in source and _WRITING.search(source) for source in self.inline)
        return UNKNOWN if is_made else None


def scripts_written(reading: Reading) -> Iterator[WrittenScript]:
    """The scripts that a command writes itself, and then runs."""
    files = _Files()
    open_for: tuple[str, ...] = ()  # the files that the output of a group goes to
    for call in reading.invocations:
        yield from _started_scripts(call, files)
        targets = _targets(call)
        text = _text(call)
        if not call.written:
            open_for = targets
        elif text is None:
            open_for = ()
        elif call.program != "tee" and not targets:
            targets = open_for
        for path in targets if text is not None else ():
            files.texts[path] = f"{files.texts.get(path, '')}\n{text}".strip("\n")
        files.inline.extend(script.source for script in scripts_of(call) if script.source)
        if call.program in _COPIERS:
            for path, copy in tuple(copies_of(call, files.texts.__contains__)):
                files.texts[copy] = files.texts[path]


def started_by(call: Invocation) -> str:
    """The file whose text `call` runs, as a full path; '' where it runs an installed program."""
    if "/" in call.written:
        return full_path(call.written, call.cwd)
    is_script = call.program in {"source", "."} or SHELLS.fullmatch(call.program)
    if is_script or language_of(call.program) not in {None, "sed", "awk"}:
        first = next((one.text for one in call.arguments if not one.text.startswith("-")), "")
        return full_path(first, call.cwd) if first else ""
    return ""


def copies_of(call: Invocation, is_of_interest: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """What a `cp`, `mv`, `ln` or `install` makes of the files that are of interest: from which path, to which."""
    operands = sort_words(call.arguments, "mtS").operands
    for source in operands[:-1]:
        path = full_path(source.text, call.cwd)
        if is_of_interest(path):
            yield path, full_path(operands[-1].text, call.cwd)
            yield path, full_path(posixpath.join(operands[-1].text, posixpath.basename(source.text)), call.cwd)


def _started_scripts(call: Invocation, files: _Files) -> Iterator[WrittenScript]:
    """What `call` runs of the written files, and what that runs of them."""
    waiting = [(call, 0)]
    for _ in range(_MAX_SCRIPTS):
        if not waiting:
            return
        current, depth = waiting.pop()
        for language, path in _taken(current):
            text = files.text_of(path)
            if text is None:
                continue
            script = _script(language, text, current)
            yield script
            if depth < _MAX_DEPTH:
                waiting.extend((inner, depth + 1) for inner in _inside(script, current))


def _inside(script: WrittenScript, call: Invocation) -> Iterator[Invocation]:
    if script.language == "shell":
        yield from read_command(script.source, Path(call.cwd) if call.cwd else None).invocations
    elif script.language == "sql":
        yield from (
            Invocation("psql", "psql", (Argument("-f"), file), cwd=call.cwd) for file in files_read(script.source)
        )


def _taken(call: Invocation) -> Iterator[tuple[str, str]]:
    """The files whose text `call` runs, with the language that it is read in."""
    own = "shell" if SHELLS.fullmatch(call.program) else language_of(call.program)
    started = started_by(call)
    if started:
        yield own or "shell", started
    elif call.written == call.program and (extension := posixpath.splitext(call.program)[1]) in _EXTENSIONS:
        yield _EXTENSIONS[extension], full_path(call.program, call.cwd)  # `uv run a.py`
    for language, file in script_files(call):
        yield language, full_path(file.text, call.cwd)
    fed = own or ("sql" if is_sql_client(call.program) else None)
    for redirection in call.redirections if fed and not started else ():
        if redirection.operator == "<" and redirection.descriptor in {None, 0}:
            yield str(fed), full_path(redirection.target.text, call.cwd)
    if call.program in _TASK_FILES:
        words = sort_words(
            call.arguments, "fCIojlW", ("--file", "--makefile", "--directory", "--justfile", "--prefix")
        )
        folder = next((one.text for one in words.values("-C", "--directory", "--prefix")), ".")
        named = [one.text for one in words.values("-f", "--file", "--makefile", "--justfile")]
        kind = {"gmake": "make"}.get(call.program, "package" if call.program in _PACKAGERS else call.program)
        for name in named or _TASK_FILES[call.program]:
            yield kind, full_path(posixpath.join(folder, name), call.cwd)


def _script(language: str, source: str, call: Invocation) -> WrittenScript:
    if language in _TASKS and UNKNOWN not in source:
        goals = [one for one in sort_words(call.arguments, "fCIojlW").plain if "=" not in one]
        return WrittenScript("shell", _TASKS[language](source, goals))
    if (shebang := re.match(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([\w.]+)(?:\s|$)", source)) is not None:
        language = language_of(shebang[1]) or language
    return WrittenScript(language, source)


def _targets(call: Invocation) -> tuple[str, ...]:
    targets = [one.target for one in call.redirections if one.operator in WRITES and one.descriptor in {None, 1}]
    if call.program in {"tee", "dd"} or _copies_its_input(call):
        targets.extend(written_by(call))
    return tuple(full_path(one.text, call.cwd) for one in targets if UNKNOWN not in one.text)


def _copies_its_input(call: Invocation) -> bool:
    return call.program in {"cp", "install"} and any(
        text in {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"} for text in texts(call.arguments)
    )


def _text(call: Invocation) -> str | None:
    """What `call` prints or writes; `UNKNOWN` where it makes that of a text of the command, None where of others."""
    if call.program == "dd" or _copies_its_input(call):
        return call.input.text if call.input.kind == "text" else None
    known = printed(Call((Argument(call.program), *call.arguments), input=call.input, cwd=call.cwd))
    if known is not None:
        return known
    if call.program in {"echo", "printf"}:
        return " ".join(texts(call.arguments)).replace("\\n", "\n")
    makes_text = call.program in _FILTERS and call.input.kind == "text"
    writes_text = language_of(call.program) not in {None, "sed"} and any(script.source for script in scripts_of(call))
    return UNKNOWN if (makes_text or writes_text) and _targets(call) else None
