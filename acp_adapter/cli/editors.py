"""Editors that can start the agent: where their settings are, what they say of it, and entering it there."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_adapter.cli.console import diff_lines, style_for
from acp_adapter.cli.main import say_failed
from acp_adapter.cli.setup.config_files import NewFile, free_backup, mode_of
from acp_adapter.cli.terminal_input import Terminal
from agent_core.errors import HermesError
from agent_core.own_files import read_text, why_unreadable

# JSON with comments and trailing commas, as editors keep their settings: one entry of an object is put into the text,
# which is written only if it then means just that.

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n\r]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])")
_JSON_TOKEN = re.compile(rf'{_STRING}|[\[\]{{}},:]|[^\s\[\]{{}},:"]+')
_MOST_PLACES = 50


class JsoncError(ValueError):
    """The text is no JSON with comments, or the entry cannot be put into it; says where and why."""


def loads(text: str) -> Any:
    """The value that `text` holds; of keys that stand there twice the last counts.

    Raises:
        JsoncError: it holds none.
    """
    plain = _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text.removeprefix("\ufeff"))
    try:
        return json.loads(_TRAILING_COMMA.sub(lambda found: found[1] or "", plain))
    except json.JSONDecodeError as problem:
        raise JsoncError(f"{problem.msg} (line {problem.lineno})") from problem
    except RecursionError as problem:
        raise JsoncError("it is nested too deeply") from problem


def _settings(text: str, place: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """All settings, none where the text is blank, and of them the object that stands at `place`.

    Raises:
        JsoncError: they cannot be read, or something else stands there.
    """
    data = loads(text) if _COMMENT.sub(r"\1", text).strip("\ufeff \t\r\n") else {}
    entries = data.get(place, {}) if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise JsoncError(f"there is no object where {place!r} belongs")
    return data, entries


def with_entry(text: str, place: str, name: str, entry: Mapping[str, Any]) -> str:
    """`text` with `entry` as `name` in its object `place`; everything else stays, comments and layout too.

    Raises:
        JsoncError: the text cannot be read, or it cannot be done so.
    """
    data, entries = _settings(text, place)
    wanted = {**data, place: {**entries, name: entry}}
    if wanted == data:
        return text
    if name in entries:
        changes = _with_another_value(text, name, entries[name], entry)
    elif place in data:
        changes = _with_member(text, rf"{re.escape(json.dumps(place))}\s*:\s*\{{", {name: entry}, entries)
    else:
        text = text if data or "{" in text else f"{text.rstrip()}\n{{\n}}\n".lstrip()
        changes = _with_member(text, r"\{", {place: {name: entry}}, data)
    for changed in itertools.islice(changes, _MOST_PLACES):
        with suppress(JsoncError):
            if loads(changed) == wanted:
                return changed
    raise JsoncError("the entry cannot be put in without changing something else")


def _with_member(text: str, place: str, member: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[str]:
    """The text with a first member, before the `others`, in each object that `place` finds the beginning of."""
    line_end, unit = _layout(text)
    for found in re.finditer(place, text):
        outside = re.match(r"[ \t]*", text[text.rfind("\n", 0, found.start()) + 1 :])[0]  # type: ignore[index]
        shown = json.dumps(member, indent=unit, ensure_ascii=False)[1:-1].rstrip()
        made = shown.replace("\n", f"{line_end}{outside}")
        rest = text[found.end() :]
        if not re.match(r"[ \t]*(//|/\*|\r?\n)", rest):
            rest = f"{line_end}{outside}{'' if rest.lstrip().startswith('}') else unit}{rest.lstrip(' ')}"
        yield f"{text[: found.end()]}{made}{',' if others else ''}{rest}"


def _with_another_value(text: str, name: str, old: object, new: object) -> Iterator[str]:
    """The text with `new` at each place where `name` has the value `old`, however that is laid out."""
    line_end, unit = _layout(text)
    tokens = (re.escape(token) for token in _JSON_TOKEN.findall(json.dumps(old, ensure_ascii=False)))
    value = r"\s*".join(rf",?\s*{token}" if token in {r"\}", r"\]"} else token for token in tokens)
    for found in re.finditer(rf"([ \t]*){re.escape(json.dumps(name))}\s*:\s*({value})", text):
        shown = json.dumps(new, indent=unit, ensure_ascii=False).replace("\n", f"{line_end}{found[1]}")
        yield f"{text[: found.start(2)]}{shown}{text[found.end(2) :]}"


def _layout(text: str) -> tuple[str, str]:
    """The file's line ends, and what it indents by: as its first indented line."""
    found = re.search(r"\n([ \t]+)\"", text)
    return "\r\n" if "\r\n" in text else "\n", found[1] if found else "  "


# Our part of a start-up file: between two comments, so that it can be found and replaced.

_BEGIN, _END = "hermes-acp: begin (written by hermes-acp setup)", "hermes-acp: end"


def with_block(text: str, comment: str, block: str) -> str:
    """`text` with `block` between our marks, which `comment` begins: where it was, else at the end."""
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

_MAC = sys.platform == "darwin"
_WINDOWS = sys.platform == "win32"
_SETTINGS = "Library/Application Support" if _MAC else "AppData/Roaming" if _WINDOWS else ".config"
_CODE = ("Code/User/settings.json", "VSCodium/User/settings.json", "Code - Insiders/User/settings.json")
_ZED = "AppData/Roaming/Zed/settings.json" if _WINDOWS else ".config/zed/settings.json"
_VIM_FILE = f"{'AppData/Local/nvim' if _WINDOWS else '.config/nvim'}/after/plugin/hermes_acp.lua"
_CONFIG = ".config/"


@dataclass(frozen=True, slots=True)
class Editor:
    """One editor.

    Attributes:
        name: as the command line has it.
        title: as people know it.
        program: that starts it.
        files: where its settings may be, below the home directory; the first that is there counts.
        new: the one that is made where none is there.
        next_step: what it needs beside the entry, and where the agent is then.
        key: the place in its JSON; empty where the file is a program.
        entry: what the agent is called there.
    """

    name: str
    title: str
    program: str
    files: tuple[str, ...]
    new: str
    next_step: str
    key: str = ""
    entry: str = "Hermes"

    @property
    def docs(self) -> str:
        """The page that tells more."""
        return f"docs/editors/{self.name}.md"

    def settings_file(self, home: Path) -> Path:
        """The file to change; it need not be there yet."""
        paths = [self._placed(home, file) for file in self.files]
        return next((path for path in paths if os.path.exists(path)), self._placed(home, self.new))  # noqa: PTH110 - nobody may look there, perhaps

    def _placed(self, home: Path, file: str) -> Path:
        """`file` below the home, or where XDG_CONFIG_HOME says; Zed on a Mac does not look at that."""
        folder = os.environ.get("XDG_CONFIG_HOME", "")
        is_moved = file.startswith(_CONFIG) and folder.startswith("/") and home == Path.home()
        return Path(folder, file.removeprefix(_CONFIG)) if is_moved and not _MAC else home / file

    def is_here(self, home: Path) -> bool:
        """Whether there are signs of the editor: its settings, a directory for them, or its program."""
        file = self.settings_file(home)
        has_folder = file.parent != home and os.path.exists(file.parent)  # noqa: PTH110 - as above
        return has_folder or os.path.exists(file) or shutil.which(self.program) is not None  # noqa: PTH110

    def entered(self, text: str, command: Sequence[str]) -> str:
        """Its settings with the agent in them.

        Raises:
            JsoncError: they cannot be read, or changed.
        """
        program, *arguments = command
        if self.key:
            # What somebody has added to the entry is theirs.
            old = _settings(text, self.key)[1].get(self.entry)
            kind = {"type": "custom"} if self.name == "zed" else {}
            ours = {**kind, "command": program, "args": arguments}
            entry = {**old, **ours} if isinstance(old, dict) else {**ours, "env": {}}
            return with_entry(text, self.key, self.entry, entry)
        if self.name == "emacs":
            return with_block(text, ";;", _emacs(command))
        return with_block(text, "--", _neovim(command))


EDITORS = (
    Editor(
        "zed",
        "Zed",
        "zed",
        (_ZED, ".var/app/dev.zed.Zed/config/zed/settings.json"),
        _ZED,
        "open the agent panel and choose Hermes from the menu for new threads.",
        key="agent_servers",
    ),
    Editor(
        "jetbrains",
        "JetBrains",
        "idea",
        (".jetbrains/acp.json",),
        ".jetbrains/acp.json",
        "with the plugin AI Assistant, open the tool window AI Chat and choose Hermes among the agents.",
        key="agent_servers",
    ),
    Editor(
        "vscode",
        "VS Code (ACP Client)",
        "code",
        tuple(f"{_SETTINGS}/{file}" for file in _CODE),
        f"{_SETTINGS}/{_CODE[0]}",
        "with the extension ACP Client (formulahendry.acp-client), choose Hermes Agent in its view.",
        key="acp.agents",
        # The extension lists one of that name by itself, which starts another program: ours takes its place.
        entry="Hermes Agent",
    ),
    Editor(
        "neovim",
        "Neovim (CodeCompanion)",
        "nvim",
        (_VIM_FILE,),
        _VIM_FILE,
        "with the plugin CodeCompanion, restart it and type :CodeCompanionChat adapter=hermes",
    ),
    Editor(
        "emacs",
        "Emacs (agent-shell)",
        "emacs",
        (".emacs", ".emacs.el", ".emacs.d/init.el", ".config/emacs/init.el"),
        ".emacs.d/init.el",
        "with the package agent-shell, restart it and type M-x agent-shell-hermes-start-agent",
    ),
)
"""All of them, in the order in which they are offered."""


def _emacs(command: Sequence[str]) -> str:
    words = " ".join(_quoted(word) for word in command)
    return f"(with-eval-after-load 'agent-shell\n  (setq agent-shell-hermes-acp-command '({words})))"


def _neovim(command: Sequence[str]) -> str:
    words = ", ".join(_quoted(word) for word in command)
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


def _quoted(word: str) -> str:
    """As a text of Lisp's and of Lua's: they quote alike."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# The command that starts this program.

_UV_CACHE = re.compile(r"(?:archive|environments|builds)-v\d+")


def own_command(profile: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """How an editor starts this program: by its full path, since editors do not read a shell's start-up files."""
    beside = Path(sys.executable).with_name("hermes-acp.exe" if _WINDOWS else "hermes-acp")
    found = str(beside) if beside.exists() else shutil.which("hermes-acp", path=environ.get("PATH"))
    program = (found,) if found else (sys.executable, "-P", "-m", "acp_adapter")
    return (*program, *((f"--profile={profile}",) if profile else ()))


def is_passing(prefix: Path) -> bool:
    """Whether `uvx` or `pipx run` made an installation for the moment: their caches are emptied now and then."""
    folder = prefix.parent
    in_pipx = {folder.name, folder.parent.name} == {".cache", "pipx"}
    return in_pipx or _UV_CACHE.fullmatch(folder.name) is not None


# Which entries of ours an editor's settings have, and whether the program that they start is there.


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
        """The program that it starts, looked for on the PATH `path`; None where there is none."""
        # Not `Path.expanduser`, which fails where a user of that name is not known.
        found = shutil.which(os.path.expanduser(self.command[0]), path=path)  # noqa: PTH111
        return Path(found) if found else None


def known_in(editor: Editor, home: Path) -> tuple[Known, ...]:
    """The entries of this agent in the editor's settings; none where there are none.

    Raises:
        OSError, UnicodeDecodeError, JsoncError: they cannot be read.
    """
    text = _content(editor.settings_file(home))
    return () if text is None else tuple(_in_json(text, editor) if editor.key else _in_program(text))


def starts_same(known: Known, command: Sequence[str], path: str | None) -> bool:
    """Whether the entry starts the program that `command` starts, with whichever arguments."""
    program, wanted = known.program(path), shutil.which(command[0], path=path)
    return program is not None and wanted is not None and program.resolve() == Path(wanted).resolve()


def _in_json(text: str, editor: Editor) -> Iterator[Known]:
    for name, entry in _settings(text, editor.key)[1].items():
        match entry:
            # {"command": {"path": …, "args": …}}: as some editors had it.
            case {"command": str(program), **rest} | {"command": {"path": str(program), **rest}} if program:
                arguments = rest.get("args")
                command = (program, *(map(str, arguments) if isinstance(arguments, list) else ()))
                if name == editor.entry or _is_agent(command):
                    yield Known(name, command, is_ours=name == editor.entry)


def _in_program(text: str) -> Iterator[Known]:
    """Texts in quotes, in order, from the one that names us on: a command and its arguments in Lisp and in Lua."""
    for line in text.splitlines():
        words = [word[1:-1].replace('\\"', '"').replace("\\\\", "\\") for word in re.findall(_STRING, line)]
        if words and not line.lstrip().startswith((";", "--")) and _is_agent(words):
            yield Known("", tuple(words))


def _is_agent(command: Sequence[str]) -> bool:
    return Path(command[0]).name in {"hermes-acp", "hermes-acp.exe"} or "acp_adapter" in command


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
        NotEntered: the settings cannot be read or changed; the text has what to put in by hand.
    """
    path = editor.settings_file(home)
    try:
        before = _content(path)
        return Entry(editor, path, before, editor.entered(before or "", command))
    except (OSError, UnicodeDecodeError, JsoncError) as problem:
        said = str(problem) if isinstance(problem, JsoncError) else why_unreadable(problem)
        raise NotEntered(
            f"{path} could not be changed: {said}. Put this in by hand:\n\n{editor.entered('', command)}"
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
        if entry.before is not None and not mode_of(entry.path) & stat.S_IWUSR:
            raise NotEntered(
                f"{entry.path} is read-only: something else writes it, and it is left as it is. Put the entry in "
                f"there; {entry.editor.docs} has it."
            )
        # A link may lead to a place that is not there yet.
        Path(os.path.realpath(entry.path)).parent.mkdir(parents=True, exist_ok=True)
        NewFile(entry.path, entry.after, mode_of(entry.path, _NEW_FILE), backup).write()
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
    person.say(f"Next, in {editor.title.partition(' (')[0]}: {editor.next_step}")
    return 0


def _agreed(person: Terminal, entry: Entry) -> bool:
    person.say(f"\n{entry.editor.title}: {entry.path} would get:\n")
    print("\n".join(diff_lines(str(entry.path), entry.before, entry.after, style_for(sys.stdout))), flush=True)
    return person.agrees("\nAdd the agent to this file?", default=False)
