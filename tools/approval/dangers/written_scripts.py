"""Scripts that a command writes into files and then runs itself."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from tools.approval.dangers.hidden import SHELLS
from tools.approval.dangers.inline import is_sql_client, language_of, script_file, script_files, scripts_of
from tools.approval.dangers.places import full_path
from tools.approval.dangers.targets import sources_and_target, written_by
from tools.approval.dangers.task_files import just_recipes, package_scripts, recipes
from tools.approval.dangers.words import Words, sort_words, texts
from tools.bash.machine import Call
from tools.bash.printing import printed
from tools.bash.read import read_command
from tools.bash.reading import UNKNOWN, Argument, Invocation, Reading
from tools.light_dataclass import dataclass

WRITES = frozenset({">", ">>", ">|", ">&", "&>", "&>>"})
_COPIERS = frozenset({"mv", "gmv", "cp", "gcp", "install", "ginstall", "ln", "gln", "rsync"})
_COPIERS_OF_INPUT = _COPIERS | {"cat"}
_OWN_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_FILTERS = frozenset({"sed", "gsed", "tr", "cut", "head", "tail", "grep", "fold", "paste", "xxd", "openssl", "m4"})
_EXTENSIONS = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx"), "javascript"),
    ".py": "python",
    ".rb": "ruby",
    ".pl": "perl",
}  # fmt: skip
_SHELL_VALUES = "coO", ("--rcfile", "--init-file")
_MOST_FOLLOWED = 100
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([\w.-]+)(?:\s|$)")
_NUMBER = re.compile(r"[\d.]+")
_WRITING = re.compile(r"write|retrieve|dump|print|save|copy|move|rename|>|\bput|['\"][wax]b?\+?['\"]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _TaskRunner:
    """A program that runs commands out of a file.

    Attributes:
        files: where it looks.
        letters: those whose value follows.
        named: the options that name another file.
        folders: those that name the directory of the file.
        commands: what it runs of a file's text for these goals.
        usual: the goals where none is named.
        other_names: of goals, each with what it stands for.
    """

    files: tuple[str, ...]
    letters: str
    named: tuple[str, ...]
    folders: tuple[str, ...]
    commands: Callable[[str, Sequence[str]], str]
    usual: tuple[str, ...] = ()
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def words(self, call: Invocation) -> Words:
        """The arguments of the program, sorted."""
        return sort_words(call.arguments, self.letters, (*self.named, *self.folders, "--working-directory"))

    def paths(self, call: Invocation) -> Iterator[str]:
        """The files that it may read."""
        words = self.words(call)
        folder = "/".join((*texts(words.values(*self.folders)), "."))
        for name in texts(words.values(*self.named)) or self.files:
            yield full_path(posixpath.join(folder, name), call.cwd)

    def script(self, source: str, call: Invocation) -> str:
        """What it runs of a file with this text."""
        plain = self.words(call).plain
        goals = [one for one in plain if "=" not in one and _NUMBER.fullmatch(one) is None] or self.usual
        return self.commands(source, [name for goal in goals for name in self.other_names.get(goal, (goal,))])


_MAKE = _TaskRunner(
    ("GNUmakefile", "makefile", "Makefile"), "fCIoW", ("-f", "--file", "--makefile"), ("-C", "--directory"), recipes
)
_INSTALLING = "install", "prepare"
_PACKAGES = _TaskRunner(
    ("package.json",),
    "C",
    (),
    ("-C", "--prefix", "--dir", "--cwd"),
    package_scripts,
    ("install",),
    {**dict.fromkeys(("install", "i", "ci"), _INSTALLING), "t": ("test",)},
)  # fmt: skip
_TASK_RUNNERS = {
    "make": _MAKE,
    "gmake": _MAKE,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _PACKAGES),
    "just": _TaskRunner(("justfile", "Justfile", ".justfile"), "fd", ("-f", "--justfile"), (), just_recipes),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrittenScript:
    """The text of a file that a command writes and then runs; `language` is «shell», or that of an interpreter."""

    language: str
    source: str


@dataclass(slots=True)
class _Files:
    """What has been written so far: the texts by path, `UNKNOWN` where nobody can tell, and what scripts are like.

    Attributes:
        followed: the scripts that were run so far, with the directories that they ran in; a script may run itself.
    """

    texts: dict[str, str] = field(default_factory=dict)
    inline: list[str] = field(default_factory=list)
    followed: set[tuple[WrittenScript, str | None]] = field(default_factory=set)

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
        if not call.written:
            open_for = targets or open_for
        text = _text(call, files)
        if text is not None:
            for path in targets or open_for:
                files.texts[path] = files.texts.get(path, "") + text
        files.inline.extend(script.source for script in scripts_of(call) if script.source)
        if call.program in _COPIERS:
            for path, copy in tuple(copies_of(call, files.texts.__contains__)):
                files.texts[copy] = files.texts[path]


def started_by(call: Invocation) -> tuple[str, ...]:
    """The files whose text `call` runs, as full paths; none where it runs an installed program by its name."""
    written = (call.written,) if "/" in call.written else ()
    return tuple(full_path(file, call.cwd) for file in (*_file_run(call), *written))


def _file_run(call: Invocation) -> tuple[str, ...]:
    """The file that `call` gives to a shell or another interpreter."""
    if call.program in {"source", "."} or SHELLS.fullmatch(call.program):
        words = sort_words((one for one in call.arguments if one.text[:1] != "+"), *_SHELL_VALUES, is_led=True)
        named = () if words.has("-s") else words.plain[:1]
    else:
        named = script_file(call)
    return tuple(name for name in named if name not in _OWN_INPUT)


def copies_of(call: Invocation, is_of_interest: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """What a `cp`, `mv`, `ln` or `install` makes of the files that are of interest: from which path, to which."""
    sources, target = sources_and_target(call)
    for source in sources:
        path = full_path(source.text, call.cwd)
        if is_of_interest(path):
            yield path, full_path(target.text, call.cwd)
            yield path, full_path(posixpath.join(target.text, posixpath.basename(source.text)), call.cwd)


def _started_scripts(call: Invocation, files: _Files) -> Iterator[WrittenScript]:
    """What `call` runs of the written files, and what that runs of them."""
    for language, path in _taken(call):
        text = files.text_of(path)
        if text is None:
            continue
        script = _script(language, text, call)
        if (script, call.cwd) in files.followed:
            continue
        files.followed.add((script, call.cwd))
        if len(files.followed) > _MOST_FOLLOWED:
            yield WrittenScript("shell", UNKNOWN)
            return
        yield script
        for inner in _inside(script, call):
            yield from _started_scripts(inner, files)


def _inside(script: WrittenScript, call: Invocation) -> Iterator[Invocation]:
    if script.language == "shell":
        yield from read_command(script.source, Path(call.cwd) if call.cwd else None).invocations
    elif script.language == "sql":
        yield replace(call, arguments=(Argument(script.source),))


def _language_read_by(program: str) -> str | None:
    if SHELLS.fullmatch(program):
        return "shell"
    return "sql" if is_sql_client(program) else language_of(program)


def _taken(call: Invocation) -> Iterator[tuple[str, str]]:
    """The files whose text `call` runs, with the language that it is read in."""
    own = _language_read_by(call.program)
    yield from ((own or "shell", path) for path in started_by(call))
    if call.written == call.program and (extension := posixpath.splitext(call.program)[1]) in _EXTENSIONS:
        yield _EXTENSIONS[extension], full_path(call.program, call.cwd)  # `uv run a.py`
    for language, file in script_files(call):
        yield language, full_path(file.text, call.cwd)
    if own and not _file_run(call):
        yield from ((own, full_path(one.target.text, call.cwd)) for one in call.redirections if one.operator == "<")
    if call.program in _TASK_RUNNERS:
        yield from ((call.program, path) for path in _TASK_RUNNERS[call.program].paths(call))


def _script(language: str, source: str, call: Invocation) -> WrittenScript:
    if language in _TASK_RUNNERS and UNKNOWN not in source:
        return WrittenScript("shell", _TASK_RUNNERS[language].script(source, call))
    if (shebang := _SHEBANG.match(source)) is not None:
        language = language_of(shebang[1]) or language
    return WrittenScript(language, source)


def _targets(call: Invocation) -> tuple[str, ...]:
    targets = [one.target for one in call.redirections if one.operator in WRITES and one.descriptor in {None, 1}]
    if call.program in {"tee", "dd"} or _copies_its_input(call):
        targets.extend(written_by(call))
    return tuple(full_path(one.text, call.cwd) for one in targets if UNKNOWN not in one.text)


def _copies_its_input(call: Invocation) -> bool:
    return call.program in _COPIERS_OF_INPUT and not _OWN_INPUT.isdisjoint(texts(call.arguments))


def _text(call: Invocation, files: _Files) -> str | None:
    """What `call` prints or writes; `UNKNOWN` where it makes that of a text of the command, None where of others."""
    is_copy = call.program == "dd" or _copies_its_input(call)
    words = (Argument("cat"),) if is_copy else (Argument(call.program), *call.arguments)
    known = printed(Call(words, input=call.input))
    if known is not None:
        return known
    if call.program in {"echo", "printf"}:
        return " ".join(texts(call.arguments)).replace("\\n", "\n") + "\n"
    if call.program == "cat":
        shown = [files.text_of(full_path(one.text, call.cwd)) for one in call.arguments]
        return "\n".join(text for text in shown if text) or None
    makes_text = call.program in _FILTERS and call.input.kind == "text"
    writes_text = language_of(call.program) not in {None, "sed"} and any(script.source for script in scripts_of(call))
    return f"{UNKNOWN}\n" if (makes_text or writes_text) and _targets(call) else None
