"""Editors that can start the agent: where their settings are, what they say of it, and entering it there."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_adapter.cli.console import diff_lines, style_for
from acp_adapter.cli.main import say_failed
from acp_adapter.cli.setup.replacing import NewFile, free_backup, mode_of, replace_files
from acp_adapter.cli.terminal_input import Terminal
from agent_core.errors import HermesError
from agent_core.own_files import read_text, why_unreadable

# JSON with comments and trailing commas, as editors keep their settings: read, and changed in one place alone.

_TOKEN = re.compile(r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<comment>//[^\n\r]*|/\*.*?\*/)|\s+|.', re.DOTALL)
_SIGN = re.compile(r"[^\s]")
_INDENT = "  "


class JsoncError(ValueError):
    """The text is no JSON with comments; says where."""


def loads(text: str) -> Any:
    """The value that `text` holds; of keys that stand there twice the last counts.

    Raises:
        JsoncError: it holds none.
    """
    return _loaded(_plain(text))


def member(text: str, path: Sequence[str]) -> Any:
    """What stands at `path`; None where nothing does.

    Raises:
        JsoncError: the text cannot be read.
    """
    plain = _plain(text)
    found: Any = _loaded(plain) if plain.strip() else {}
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def with_member(text: str, path: Sequence[str], value: object) -> str:
    """`text`, an object, with `value` at `path`; everything else stays as it is, comments and layout too.

    Objects on the way are made where they are missing. A blank text counts as an empty object.

    Raises:
        JsoncError: the text cannot be read, or what stands on the way is no object.
    """
    plain = _plain(text)
    if not plain.strip():
        made = json.dumps(_nested(path, value), indent=_INDENT, ensure_ascii=False)
        return f"{text.rstrip()}\n{made}\n" if text.strip() else f"{made}\n"
    data = _loaded(plain)
    changed = _set(text, plain, _after_blanks(plain, 0), tuple(path), value)
    if loads(changed) != _expected(data, path, value):
        raise JsoncError("the entry could not be put in without changing something else")
    return changed


def _plain(text: str) -> str:
    """The same as JSON has it: blanks for comments and trailing commas, so that every place is the same."""
    signs = list(text)
    if signs and signs[0] == "\ufeff":
        signs[0] = " "
    before, comma = "{", None
    for token in _TOKEN.finditer(text):
        if token["comment"]:
            signs[token.start() : token.end()] = [each if each in "\r\n" else " " for each in token["comment"]]
        elif not token[0].isspace():
            if token[0] in "}]" and comma is not None:
                signs[comma] = " "
            # Behind a value: elsewhere it is a mistake.
            comma = token.start() if token[0] == "," and before not in "{[:," else None
            before = token[0][-1]
    return "".join(signs)


def _loaded(plain: str) -> Any:
    try:
        return json.loads(plain)
    except json.JSONDecodeError as problem:
        raise JsoncError(f"{problem.msg} (line {problem.lineno})") from problem
    except RecursionError as problem:
        raise JsoncError("it is nested too deeply") from problem


def _set(text: str, plain: str, start: int, path: tuple[str, ...], value: object) -> str:
    key, *rest = path
    if plain[start] != "{":
        raise JsoncError(f"there is no object where {key!r} belongs (line {text.count(chr(10), 0, start) + 1})")
    members = list(_members(plain, start))
    found = next((place for name, *place in reversed(members) if name == key), None)
    if found is None:
        last = members[-1][1:] if members else None
        return _inserted(text, plain, (start, last), key, _nested(rest, value))
    if rest:
        return _set(text, plain, found[0], tuple(rest), value)
    return text[: found[0]] + _shown(text, value, _lead(text, found[0])) + text[found[1] :]


def _members(plain: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The names of an object, and where their values begin and end."""
    decoder = json.JSONDecoder()
    at = _after_blanks(plain, start + 1)
    while plain[at] != "}":
        name, at = decoder.raw_decode(plain, at)
        begin = _after_blanks(plain, _after_blanks(plain, at) + 1)
        _, end = decoder.raw_decode(plain, begin)
        yield name, begin, end
        at = _after_blanks(plain, end)
        at = _after_blanks(plain, at + 1) if plain[at] == "," else at


def _inserted(text: str, plain: str, at: tuple[int, Sequence[int] | None], key: str, value: object) -> str:
    """The member goes behind the object's last one, on a line of its own; `at` says where both begin."""
    start, last = at
    line_end = "\r\n" if "\r\n" in text else "\n"
    lead = _lead(text, last[0]) if last else _lead(text, start) + _unit(text)
    made = f"{line_end}{lead}{json.dumps(key, ensure_ascii=False)}: {_shown(text, value, lead)}"
    if last is None:
        end = _after_blanks(plain, start + 1)
        inside = text[start + 1 : end].rstrip()
        return f"{text[: start + 1]}{inside}{made}{line_end}{_lead(text, start)}{text[end:]}"
    place = last[1]
    # A comma that stands there already is one that JSON does not have.
    signs = next(token for token in _TOKEN.finditer(text, place) if not token["comment"] and not token[0].isspace())
    trails = signs[0] == ","
    place = signs.end() if trails else place
    # A comment behind the last member stays on its line.
    rest = re.match(r"[ \t]*(?://[^\n\r]*|/\*[^\n\r]*?\*/)", text[place:])
    behind = place + (rest.end() if rest else 0)
    comma, after = ("", ",") if trails else (",", "")
    return f"{text[:place]}{comma}{text[place:behind]}{made}{after}{text[behind:]}"


def _after_blanks(plain: str, at: int) -> int:
    found = _SIGN.search(plain, at)
    return found.start() if found else len(plain)


def _shown(text: str, value: object, lead: str) -> str:
    line_end = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"{line_end}{lead}")


def _lead(text: str, place: int) -> str:
    """The blanks that the line of `place` begins with."""
    line = text[text.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """What the file indents by: as its first indented line."""
    found = re.search(r"\n([ \t]+)\"", text)
    return found[1] if found is not None else _INDENT


def _nested(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _expected(data: Any, path: Sequence[str], value: object) -> Any:
    if not path:
        return value
    key, *rest = path
    return {**data, key: _expected(data.get(key, {}), rest, value)}


# Our part of a start-up file: between two comments, so that it can be found and replaced.

_BEGIN, _END = "hermes-acp: begin (written by hermes-acp setup)", "hermes-acp: end"


def with_block(text: str, comment: str, block: str) -> str:
    """`text` with `block` between our marks: where it was, else at the end.

    Args:
        comment: what a comment begins with.
    """
    begin, end = f"{comment} {_BEGIN}", f"{comment} {_END}"
    line_end = "\r\n" if "\r\n" in text else "\n"
    made = f"{begin}\n{block}\n{end}".replace("\n", line_end)
    start = text.find(begin)
    stop = text.find(end, start)
    if start < 0 or stop < 0:
        gap = "" if not text else line_end if text.endswith("\n") else line_end * 2
        return f"{text}{gap}{made}{line_end}"
    return f"{text[:start]}{made}{text[stop + len(end) :]}"


# The editors that can be told of the agent: where their settings are, and what goes into them.

NAME = "Hermes"
_CONFIG = ".config/"
_UV_CACHE = re.compile(r"(?:archive|environments|builds)-v\d+")


@dataclass(frozen=True, slots=True)
class Editor:
    """One editor.

    Attributes:
        name: as the command line has it.
        title: as people know it.
        files: where its settings may be, below the home directory; the first that is there counts.
        new: the one that is made where none is there.
        keys: the place in its JSON; empty where the file is a program.
        docs: the page that tells more.
        entry: what the agent is called there.
    """

    name: str
    title: str
    files: tuple[str, ...]
    new: str
    keys: tuple[str, ...] = ()
    docs: str = ""
    entry: str = NAME

    def settings_file(self, home: Path) -> Path:
        """The file to change; it need not be there yet."""
        paths = [self._placed(home, file) for file in self.files]
        return next((path for path in paths if _is_there(path)), self._placed(home, self.new))

    def _placed(self, home: Path, file: str) -> Path:
        """Where a file of the table is: XDG_CONFIG_HOME counts for who it is set for, and not for Zed on macOS."""
        folder = os.environ.get("XDG_CONFIG_HOME", "")
        if not file.startswith(_CONFIG) or not folder.startswith("/") or home != Path.home():
            return home / file
        return home / file if _MAC and self.name == "zed" else Path(folder) / file.removeprefix(_CONFIG)

    def is_here(self, home: Path) -> bool:
        """Whether there are signs of the editor: its settings, a directory for them, or its program."""
        file = self.settings_file(home)
        has_folder = file.parent != home and _is_there(file.parent) and os.path.isdir(file.parent)  # noqa: PTH112
        return _is_there(file) or has_folder or shutil.which(_PROGRAMS[self.name]) is not None

    def entered(self, text: str, command: Sequence[str]) -> str:
        """Its settings with the agent in them.

        Raises:
            JsoncError: they cannot be read.
        """
        program, *arguments = command
        if self.keys:
            place = (*self.keys, self.entry)
            kind = {"type": "custom"} if self.name == "zed" else {}
            ours = {**kind, "command": program, "args": arguments}
            if not isinstance(member(text, place), dict):
                return with_member(text, place, {**ours, "env": {}})
            # What somebody has added to the entry, variables and comments say, is theirs.
            for key, value in ours.items():
                text = with_member(text, (*place, key), value)
            return text
        if self.name == "emacs":
            return with_block(text, ";;", _emacs(command))
        return with_block(text, "--", _neovim(command))


def own_command(profile: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """How an editor starts this program: by its full path, since editors do not read a shell's start-up files."""
    found = shutil.which("hermes-acp", path=environ.get("PATH"))
    beside = Path(sys.executable).with_name("hermes-acp.exe" if _WINDOWS else "hermes-acp")
    program = (
        (str(beside),) if beside.exists() else (found,) if found else (sys.executable, "-P", "-m", "acp_adapter")
    )
    return (*program, *((f"--profile={profile}",) if profile else ()))


def is_passing(prefix: Path) -> bool:
    """Whether `uvx` or `pipx run` made an installation for the moment: their caches are emptied now and then."""
    folder = prefix.parent
    in_pipx = {folder.name, folder.parent.name} == {".cache", "pipx"}
    return in_pipx or _UV_CACHE.fullmatch(folder.name) is not None


def _is_there(path: Path) -> bool:
    """Whether there is something, also where we may not look."""
    try:
        path.stat()  # `exists` says no, from Python 3.14 on, where nobody may look
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _emacs(command: Sequence[str]) -> str:
    words = " ".join(_lisp(word) for word in command)
    return f"(with-eval-after-load 'agent-shell\n  (setq agent-shell-hermes-acp-command '({words})))"


def _neovim(command: Sequence[str]) -> str:
    words = ", ".join(_lisp(word) for word in command)
    return f"""\
local found, config = pcall(require, "codecompanion.config")
if found and config.adapters and config.adapters.acp then
  config.adapters.acp.hermes = function()
    return require("codecompanion.adapters").extend("opencode", {{
      name = "hermes",
      formatted_name = "Hermes",
      commands = {{ default = {{ {words} }} }},
    }})
  end
end"""


def _lisp(word: str) -> str:
    """As a text of Lisp's and of Lua's: they quote alike."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_CODE = ("Code/User/settings.json", "VSCodium/User/settings.json", "Code - Insiders/User/settings.json")
_MAC = sys.platform == "darwin"
_WINDOWS = sys.platform == "win32"
_SETTINGS = "Library/Application Support" if _MAC else "AppData/Roaming" if _WINDOWS else ".config"
_PROGRAMS = {"zed": "zed", "jetbrains": "idea", "vscode": "code", "neovim": "nvim", "emacs": "emacs"}

_ZED = ".config/zed/settings.json"
_NVIM = "AppData/Local/nvim" if _WINDOWS else ".config/nvim"
_VIM_FILE = f"{_NVIM}/after/plugin/hermes_acp.lua"

EDITORS = (
    Editor(
        "zed",
        "Zed",
        (_ZED, ".var/app/dev.zed.Zed/config/zed/settings.json", "AppData/Roaming/Zed/settings.json"),
        "AppData/Roaming/Zed/settings.json" if _WINDOWS else _ZED,
        ("agent_servers",),
        "docs/editors/zed.md",
    ),
    Editor(
        "jetbrains",
        "JetBrains",
        (".jetbrains/acp.json",),
        ".jetbrains/acp.json",
        ("agent_servers",),
        "docs/editors/jetbrains.md",
    ),
    Editor(
        "vscode",
        "VS Code (ACP Client)",
        tuple(f"{_SETTINGS}/{file}" for file in _CODE),
        f"{_SETTINGS}/{_CODE[0]}",
        ("acp.agents",),
        "docs/editors/vscode.md",
        # The extension lists one of that name by itself, which starts another program: ours takes its place.
        "Hermes Agent",
    ),
    Editor("neovim", "Neovim (CodeCompanion)", (_VIM_FILE,), _VIM_FILE, docs="docs/editors/neovim.md"),
    Editor(
        "emacs",
        "Emacs (agent-shell)",
        (".emacs", ".emacs.el", ".emacs.d/init.el", ".config/emacs/init.el"),
        ".emacs.d/init.el",
        docs="docs/editors/emacs.md",
    ),
)
"""All of them, in the order in which they are offered."""


# Which entries of ours an editor's settings have, and whether the program that they start is there.

_PROGRAM, _MODULE = "hermes-acp", "acp_adapter"
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Known:
    """An entry that starts this agent, some version of it.

    Attributes:
        name: what the editor calls it; '' in start-up files.
        command: as far as it is written there.
        is_ours: `hermes-acp setup` would change this very entry.
    """

    name: str
    command: tuple[str, ...]
    is_ours: bool = True

    def program(self, path: str | None) -> Path | None:
        """The program that it starts; None where there is none.

        Args:
            path: the PATH that it is looked for on.
        """
        # Not `Path.expanduser`, which fails where a user of that name is not known.
        found = shutil.which(os.path.expanduser(self.command[0]), path=path)  # noqa: PTH111
        return Path(found) if found else None


def known_in(editor: Editor, home: Path) -> tuple[Known, ...]:
    """The entries of this agent in the editor's settings; none where there are none.

    Raises:
        OSError, UnicodeDecodeError, JsoncError: they cannot be read.
    """
    try:
        text = read_text(editor.settings_file(home))
    except FileNotFoundError:
        return ()
    return tuple(_in_json(text, editor) if editor.keys else _in_program(text))


def starts_same(known: Known, command: Sequence[str], path: str | None) -> bool:
    """Whether the entry starts the program that `command` starts, with whichever arguments."""
    program, wanted = known.program(path), shutil.which(command[0], path=path)
    return program is not None and wanted is not None and program.resolve() == Path(wanted).resolve()


def _in_json(text: str, editor: Editor) -> Iterator[Known]:
    entries = member(text, editor.keys)
    if entries is None:
        return
    if not isinstance(entries, dict):
        raise JsoncError(f"what stands at {'.'.join(editor.keys)} is no object")
    for name, entry in entries.items():
        command = _command(entry)
        if command and (name == editor.entry or _is_agent(command)):
            yield Known(name, command, is_ours=name == editor.entry)


def _command(entry: object) -> tuple[str, ...]:
    if not isinstance(entry, dict):
        return ()
    written = entry.get("command")
    # {"command": {"path": …, "args": …}}: as some editors had it.
    told = {"command": written.get("path"), "args": written.get("args")} if isinstance(written, dict) else entry
    command, arguments = told.get("command"), told.get("args")
    if not isinstance(command, str) or not command:
        return ()
    return (command, *(str(word) for word in arguments)) if isinstance(arguments, list) else (command,)


def _in_program(text: str) -> Iterator[Known]:
    """Texts in quotes, in order, from the one that names us on: a command and its arguments in Lisp and in Lua."""
    for line in text.splitlines():
        words = [word.replace('\\"', '"').replace("\\\\", "\\") for word in _STRING.findall(line)]
        if words and not line.lstrip().startswith((";", "--")) and _is_agent(words):
            yield Known("", tuple(words))


def _is_agent(command: Sequence[str]) -> bool:
    return Path(command[0]).name in {_PROGRAM, f"{_PROGRAM}.exe"} or _MODULE in command


# Enters the agent into an editor's settings: what will change is shown, and what was there is kept beside.

_NEW_FILE = 0o644


class NotEntered(HermesError):
    """The editor's settings were not changed; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to become of an editor's settings. `before` is None where there is no file yet."""

    editor: Editor
    path: Path
    before: str | None
    after: str

    @property
    def is_done(self) -> bool:
        """Whether they say it already."""
        return self.before == self.after


def planned_entry(editor: Editor, home: Path, command: Sequence[str]) -> Entry:
    """What entering the agent would change.

    Raises:
        NotEntered: the settings cannot be read; the text has what to put in by hand.
    """
    path = editor.settings_file(home)
    try:
        before = _content(path)
    except (OSError, UnicodeDecodeError) as problem:
        said = why_unreadable(problem)
        raise NotEntered(f"{path} could not be read: {said}. {_by_hand(editor, command)}") from problem
    try:
        return Entry(editor, path, before, editor.entered(before or "", command))
    except JsoncError as problem:
        raise NotEntered(
            f"{path} could not be read as settings: {problem}. Nothing was changed. {_by_hand(editor, command)}"
        ) from problem


def enter(entry: Entry) -> Path | None:
    """Write it; where the old settings are now, None where there were none.

    Raises:
        NotEntered: it could not be written, and nothing was.
    """
    try:
        backup = None if entry.before is None else free_backup(entry.path, ".before-hermes")
        if _content(entry.path) != entry.before:
            raise NotEntered(f"{entry.path} was changed meanwhile, and is left as it is. Try again.")
        real = Path(os.path.realpath(entry.path))
        if entry.before is not None and not mode_of(real) & stat.S_IWUSR:
            raise NotEntered(
                f"{real} is read-only: something else writes it, and it is left as it is. Put the entry in there; "
                f"{entry.editor.docs} has it."
            )
        # A link may lead to a place that is not there yet.
        real.parent.mkdir(parents=True, exist_ok=True)
        replace_files([NewFile(entry.path, entry.after, mode_of(entry.path, _NEW_FILE), backup)])
    except OSError as problem:
        said = problem.strerror or type(problem).__name__
        raise NotEntered(f"{entry.path} could not be written: {said}. Nothing was changed.") from problem
    return backup


def _content(path: Path) -> str | None:
    """The file's text, its line ends as they are; None where there is no file."""
    try:
        return read_text(path)
    except FileNotFoundError:
        return None


def _by_hand(editor: Editor, command: Sequence[str]) -> str:
    return f"Put this in by hand:\n\n{editor.entered('', command)}"


# What a person does in an editor once the agent stands in its settings.

NEXT_STEPS: Mapping[str, str] = {
    "zed": "open the agent panel and choose Hermes from the menu for new threads.",
    "jetbrains": "with the plugin AI Assistant, open the tool window AI Chat and choose Hermes among the agents.",
    "vscode": "with the extension ACP Client (formulahendry.acp-client), choose Hermes Agent in its view.",
    "neovim": "with the plugin CodeCompanion, start it anew and type :CodeCompanionChat adapter=hermes",
    "emacs": "with the package agent-shell, start it anew and type M-x agent-shell-hermes-start-agent",
}
"""By the name of the editor: what it needs beside the entry, and where the agent is then."""


# Offers a person to enter the agent into the settings of their editors.

PASSING = (
    "Editors' settings are left as they are: this hermes-acp was made for the moment by uvx or pipx, and its "
    "directory goes when their cache is emptied. Install it to stay, as docs/install.md says, then run: "
    "hermes-acp setup --editor NAME"
)


def offer_editors(person: Terminal, names: Sequence[str], profile: str | None, *, asks: bool) -> int:
    """Enter the agent where the person agrees; the exit code.

    Args:
        names: which editors; none: those that are here and do not know the agent yet.
        asks: whether the person is asked; else what is named is done.
    """
    if is_passing(Path(sys.prefix)):
        if not names:
            person.say(PASSING)
            return 0
        return say_failed("setup", PASSING)
    home = Path.home()
    command = own_command(profile, os.environ)
    wanted = [editor for editor in EDITORS if editor.name in names or (not names and editor.is_here(home))]
    codes = [_offer(person, editor, home, command, asks=asks, is_named=bool(names)) for editor in wanted]
    if not names:
        here = f" --profile {profile}" if profile else ""
        person.say(f"\nWithout an editor: `hermes-acp chat{here}`. Something is wrong? `hermes-acp doctor{here}`.")
    return max(codes, default=0)


def _offer(
    person: Terminal, editor: Editor, home: Path, command: Sequence[str], *, asks: bool, is_named: bool
) -> int:
    try:
        entry = planned_entry(editor, home, command)
        if entry.is_done:
            if is_named:
                person.say(f"{editor.title} knows the agent already: {entry.path}")
            return 0
        if asks and not _agreed(person, entry):
            person.say(f"Left as it is. `hermes-acp setup --editor {editor.name}` does it later.")
            return 0
        backup = enter(entry)
    except NotEntered as problem:
        return say_failed("setup", f"{editor.title}: {problem.public}")
    kept = f" (what it was: {backup})" if backup else ""
    person.say(f"Written: {entry.path}{kept}")
    person.say(f"Next, in {editor.title.partition(' (')[0]}: {NEXT_STEPS[editor.name]}")
    return 0


def _agreed(person: Terminal, entry: Entry) -> bool:
    person.say(f"\n{entry.editor.title}: {entry.path} would get:\n")
    print("\n".join(diff_lines(str(entry.path), entry.before, entry.after, style_for(sys.stdout))), flush=True)
    return person.agrees("\nAdd the agent to this file?", default=False)
