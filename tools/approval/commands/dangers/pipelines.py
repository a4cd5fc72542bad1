"""What the programs of a command do together: scripts written and then run, data that goes from one to another."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path

from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.bash.reading import UNKNOWN, Argument, Invocation, Reading
from tools.approval.commands.bash.state import Call
from tools.approval.commands.bash.stdout import printed
from tools.approval.commands.classes import Finding
from tools.approval.commands.dangers.calls import SHELLS
from tools.approval.commands.dangers.credentials import PROGRAMS_WITHOUT_CONTENT, names_secrets
from tools.approval.commands.dangers.deletion import DELETERS, finds_essential
from tools.approval.commands.dangers.scene import (
    Scene,
    Words,
    full_path,
    is_below,
    is_on_a_machine,
    listed,
    place_of,
    sort_words,
    texts,
    why_essential,
)
from tools.approval.commands.dangers.writing import sources_and_target, unpacked_into, written_by
from tools.approval.commands.scripts.inline import (
    Script,
    is_sql_client,
    language_of,
    script_file,
    script_files,
    scripts_of,
)
from tools.light_dataclass import dataclass

# The tasks of files whose text is known: `make`, `just`, `npm run`.

_RULE = re.compile(r"^([^\s#:=][^#:=]*)::?(?!=)([^#;]*)(?:;(.*))?")
_ASSIGNED = re.compile(r"^(?:export\s+|override\s+)?([\w.-]+)\s*(?:[:?+!]|::)?=\s*(.*)")
_VARIABLE = re.compile(r"\$[({]([\w.-]+)[)}]")
# `$@`, `$<` …: the names of the target and what it is made of.
_AUTOMATIC = re.compile(r"\$[@<^?*+%]|\$\([@<^?*+%][DF]\)")
_MAX_GOALS = 200
_MAX_CHARS = 20_000


def recipes(source: str, goals: Sequence[str]) -> str:
    """The shell commands that these goals run, with what they depend on; the first target where none is named."""
    rules: dict[str, tuple[list[str], list[str]]] = {}
    assigned: dict[str, str] = {}
    current: list[list[str]] = []
    for line in source[:_MAX_CHARS].replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            for lines in current:
                lines.append(line.lstrip("\t @-+"))
        elif (found := _ASSIGNED.match(line)) is not None:
            assigned[found[1]] = found[2].strip()
        elif (found := _RULE.match(line)) is not None:
            current = []
            for target in _expanded(found[1], assigned).split():
                needs, lines = rules.setdefault(target, ([], []))
                needs.extend(_expanded(found[2], assigned).split())
                lines.extend([found[3].strip()] if found[3] else [])
                current.append(lines)
    first = [name for name in rules if not name.startswith(".")][:1]
    commands: list[str] = []
    for goal in _reached(rules, list(goals) or first):
        commands.extend(rules[goal][1])
    return "\n".join(_expanded(command, assigned) for command in commands)


def just_recipes(source: str, goals: Sequence[str]) -> str:
    """The same of a justfile, whose recipes are indented by blanks, too."""
    indented = re.sub(r"(?m)^[ \t]+(?=\S)", "\t", source[:_MAX_CHARS])
    return recipes(re.sub(r"\{\{\s*(\w+)\s*\}\}", r"$(\1)", indented), goals)


_INSTALLING = "install", "prepare"
_SHORT_GOALS = {**dict.fromkeys(("install", "i", "ci"), _INSTALLING), "t": ("test",)}


def package_scripts(source: str, goals: Sequence[str]) -> str:
    """The scripts of a `package.json` that these words name, with what runs before and after them."""
    goals = [name for goal in goals or ["install"] for name in _SHORT_GOALS.get(goal, (goal,))]
    try:
        content = json.loads(source)
    except (ValueError, RecursionError):
        return ""
    scripts = content.get("scripts") if isinstance(content, dict) else None
    if not isinstance(scripts, dict):
        return ""
    names = [f"{kind}{goal}" for goal in goals for kind in ("pre", "", "post")]
    return "\n".join(str(scripts[name]) for name in names if name in scripts)


def _reached(rules: dict[str, tuple[list[str], list[str]]], goals: list[str]) -> list[str]:
    reached: list[str] = []
    waiting = goals
    while waiting and len(reached) < _MAX_GOALS:
        goal = waiting.pop()
        if goal in rules and goal not in reached:
            reached.append(goal)
            waiting.extend(rules[goal][0])
    return reached


def _expanded(text: str, assigned: dict[str, str]) -> str:
    """With the values of variables; one that nobody sets is the program it is named after (`$(CC)`, `$(RM)`)."""
    text = _AUTOMATIC.sub("target", text)
    for _ in range(2):
        text = _VARIABLE.sub(lambda found: assigned.get(found[1], found[1].lower()), text)
    return text.replace("$$", "$")


# Scripts that a command writes into files and then runs itself.

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
    """

    files: tuple[str, ...]
    letters: str
    named: tuple[str, ...]
    folders: tuple[str, ...]
    commands: Callable[[str, Sequence[str]], str]

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
        return self.commands(source, [one for one in plain if "=" not in one and not _NUMBER.fullmatch(one)])


_MAKE = _TaskRunner(
    ("GNUmakefile", "makefile", "Makefile"), "fCIoW", ("-f", "--file", "--makefile"), ("-C", "--directory"), recipes
)
_PACKAGES = _TaskRunner(("package.json",), "C", (), ("-C", "--prefix", "--dir", "--cwd"), package_scripts)
_TASK_RUNNERS = {
    "make": _MAKE,
    "gmake": _MAKE,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _PACKAGES),
    "just": _TaskRunner(("justfile", "Justfile", ".justfile"), "fd", ("-f", "--justfile"), (), just_recipes),
}  # fmt: skip


@dataclass(slots=True)
class _Files:
    """What has been written so far: the texts by path, `UNKNOWN` where nobody can tell, and what scripts are like.

    Attributes:
        followed: the scripts that were run so far, with the directories that they ran in; a script may run itself.
    """

    texts: dict[str, str] = field(default_factory=dict)
    inline: list[str] = field(default_factory=list)
    followed: set[tuple[Script, str | None]] = field(default_factory=set)

    def text_of(self, path: str) -> str | None:
        """The text of a file; None where the command has not written it."""
        if path in self.texts:
            return self.texts[path]
        name = posixpath.basename(path)
        is_made = name and any(name in source and _WRITING.search(source) for source in self.inline)
        return UNKNOWN if is_made else None


def scripts_written(reading: Reading) -> Iterator[Script]:
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


def _started_scripts(call: Invocation, files: _Files) -> Iterator[Script]:
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
            yield Script("shell", UNKNOWN)
            return
        yield script
        for inner in _inside(script, call):
            yield from _started_scripts(inner, files)


def _inside(script: Script, call: Invocation) -> Iterator[Invocation]:
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


def _script(language: str, source: str, call: Invocation) -> Script:
    if language in _TASK_RUNNERS and UNKNOWN not in source:
        return Script("shell", _TASK_RUNNERS[language].script(source, call))
    if (shebang := _SHEBANG.match(source)) is not None:
        language = language_of(shebang[1]) or language
    return Script(language, source)


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


# Programs that act together: fetched and then run, found and then deleted, written and run.

_FETCHERS = frozenset(
    listed("""
    curl wget wget2 aria2c http https xh axel fetch lynx scp sftp nc ncat ftp aws gsutil rclone lwp-request curlie
""")
)
_FINDERS = frozenset({"find", "gfind", "bfs", "fd", "fdfind", "ls", "locate", "rg", "grep", "git", "tree"})
_MOVERS = frozenset({"mv", "cp", "install", "ln"})
_PROGRAMS = re.compile(r"(?:/usr)?(?:/local)?/s?bin/[^/]+")
_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst|lz4|lzma|br|Z|gpg|asc|b64|age|enc)$")
_MAX_PIPE = 5


def judge_flows(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """What the programs of a command do together."""
    yield from _fetched_and_run(reading)
    yield from _found_and_deleted(reading, scene)
    yield from _found_and_shown(reading, scene)
    yield from _through_links(reading, scene)


def _fetched_and_run(reading: Reading) -> Iterator[Finding]:
    files: set[str] = set()
    folders: set[str] = set()
    renamed: set[str] = set()
    unpacked: set[str] = set()  # where nobody named a directory for what was fetched
    for call in reading.invocations:
        started = started_by(call)
        if any(
            path in files
            or any(is_below(path, folder) for folder in folders)
            or any(_is_new(path, folder, call) for folder in unpacked)
            for path in started
        ):
            yield Finding("dangerous", "remote code", "runs code that comes from elsewhere")
            return
        if not renamed.isdisjoint(started):
            yield Finding("dangerous", "hidden", "runs a program under another name")
            return
        files.update(_fetched(call))
        if named := files.intersection(full_path(one.text, call.cwd) for one in call.arguments):
            files.update(_made_of(named, call))
        if call.program in _MOVERS:
            files.update([copy for _, copy in copies_of(call, files.__contains__)])
            renamed.update(copy for _, copy in copies_of(call, lambda path: _PROGRAMS.fullmatch(path) is not None))
        if call.program == "git" and "clone" in texts(call.arguments):
            folders.update(full_path(one.text, call.cwd) for one in written_by(call))
        elif (folder := unpacked_into(call)) is not None and _is_of(files, call):
            (folders if folder != "." else unpacked).add(full_path(folder, call.cwd))


def _made_of(fetched: set[str], call: Invocation) -> Iterator[str]:
    """What `call` makes of fetched files: `gunzip -c x.gz > x`, `gunzip x.gz`, `openssl … -out x`."""
    targets = [one.target for one in call.redirections if one.operator in WRITES]
    if call.program not in _MOVERS:
        targets.extend(written_by(call))
    yield from (full_path(one.text, call.cwd) for one in targets)
    yield from (_PACKED.sub("", path) for path in fetched)


def _is_new(started: str, folder: str, call: Invocation) -> bool:
    """Whether what is started may come from an archive that was unpacked right there, and not from the project."""
    return is_below(started, folder) and (posixpath.dirname(started) != folder or "/" in call.written)


def _is_of(files: set[str], call: Invocation) -> bool:
    """Whether `call` gets something that was fetched, by name or through a pipe."""
    named = {full_path(one.text, call.cwd) for one in call.arguments}
    return bool(files & named) or _fetcher_of(call) is not None


def _fetched(call: Invocation) -> Iterator[str]:
    if _fetcher_of(call) is None:
        return
    targets = [one.target for one in call.redirections if one.operator in WRITES]
    targets.extend(written_by(call))
    yield from (full_path(one.text, call.cwd) for one in targets)


def _fetcher_of(call: Invocation) -> Invocation | None:
    """What fetches the text that `call` gets or prints, itself or before it in its pipe."""
    source: Invocation | None = call
    for _ in range(_MAX_PIPE):
        if source is None or source.program in _FETCHERS:
            return source
        source = source.input.source
    return None


def _found_and_deleted(reading: Reading, scene: Scene) -> Iterator[Finding]:
    deletes = [
        call for call in reading.invocations
        if call.program in DELETERS and is_on_a_machine(call)
    ]  # fmt: skip
    if gone := _lists_and_deletes(reading, deletes, scene):
        yield Finding("forbidden", "deletion", f"deletes {gone}")
        return
    finders = [call for call in reading.invocations if call.program in {"find", "gfind", "bfs", "fd", "fdfind"}]
    for finder in finders if any(call.adds_unknown for call in deletes) else ():
        if gone := finds_essential(finder, scene):
            yield Finding("forbidden", "deletion", f"deletes {gone}")
            return


def _lists_and_deletes(reading: Reading, deletes: list[Invocation], scene: Scene) -> str:
    """What essential directory is listed, and each name in it deleted: `ls / | xargs -I{} rm -rf /{}`."""
    for lister in reading.invocations:
        if lister.program not in {"ls", "find", "dir"}:
            continue
        deleted = {path for call in deletes for path in _deleted_by_name(call, lister)}
        for start in sort_words(lister.arguments).operands or (Argument("."),):
            each = full_path(posixpath.join(start.text, UNKNOWN), lister.cwd)
            gone = why_essential(start, lister.cwd, scene)
            if gone and not deleted.isdisjoint((each, f"{each}*", f"{each}/*")):
                return gone
    return ""


def _deleted_by_name(call: Invocation, lister: Invocation) -> Iterator[str]:
    """The paths that `call` deletes, where each name that it does not know comes from `lister`."""
    yield from (full_path(one.text, call.cwd) for one in call.arguments)
    is_bare = call.adds_unknown or UNKNOWN in texts(call.arguments)
    # The names alone are those of `ls`; `find` puts its directory before each.
    if is_bare and "xargs" in call.via and call.input.source == lister and lister.program != "find":
        yield full_path(f"./{UNKNOWN}", call.cwd)


def _through_links(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """A file elsewhere that is written through a link which the same command makes."""
    links: dict[str, Argument] = {}
    for call in reading.invocations:
        targets = [one.target for one in call.redirections if one.operator in WRITES]
        if call.program in {"ln", "gln"}:
            sources, target = sources_and_target(call)
            goal = full_path(target.text, call.cwd)
            for source in sources:
                links[posixpath.join(goal, posixpath.basename(source.text))] = source
                if goal != call.cwd:
                    links[goal] = source
        elif links:
            for target in (*targets, *written_by(call)):
                path = full_path(target.text, call.cwd)
                link = next((link for link in links if is_below(path, link)), None)
                if link is None:
                    continue
                place = place_of(Argument(links[link].text + path.removeprefix(link)), call.cwd, scene)
                if place.kind not in {"inside", "temporary", "nothing", "unknown"}:
                    yield Finding("dangerous", "writing", f"writes {place.shown} through a link", outside=True)


def _found_and_shown(reading: Reading, scene: Scene) -> Iterator[Finding]:
    """`find . -name .env | xargs cat`: the names are secret ones, and another program gets them."""
    readers = [
        call for call in reading.invocations
        if call.program not in PROGRAMS_WITHOUT_CONTENT and call.program not in _FINDERS
        and (call.adds_unknown or any(one.text.startswith(UNKNOWN) for one in call.arguments))
    ]  # fmt: skip
    for finder in reading.invocations if readers else ():
        if finder.program in _FINDERS and (why := names_secrets(finder, scene)):
            yield Finding("dangerous", "credentials", why)
            return
