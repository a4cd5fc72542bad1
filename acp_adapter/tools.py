"""How each tool looks in the editor: kind, title, locations and content. A new tool gets an entry in the table."""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tools.light_dataclass import dataclass
from tools.os_compat import absolute as absolute_path
from tools.patching.v4a import paths_of
from tools.result import MAX_SHOWN_CHARS, ResultImage, Shown, ShownDiff, ShownOutput, ShownText
from tools.text.terminal_output import plain_text

# Titles: one line each, with nothing in it that could make it read as something else.

Arguments = Mapping[str, Any]

_MAX_TITLE = 200
_BREAKS = re.compile(r"\s*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")
# Control characters, and those that turn the direction of what follows: a title could show another name with them.
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


# Signs that nobody sees, joiners and blanks that are none among them, and line breaks that few editors break at.
# The sign that makes a picture of the one before it is left out.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PADDING = re.compile(r"[^\S\n]{40,}|(?:[^\S\n]*\n){6,}")


def one_line(text: str, limit: int = _MAX_TITLE) -> str:
    """`text` as one line of at most `limit` characters, without control characters; «…» ends what was cut."""
    line = _HIDDEN.sub("", _BREAKS.sub(" ", text.strip()))
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def unmasked(text: str) -> str:
    """All of `text`, hidden characters written out: what a person is asked to allow must be what they see."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in "\n\t" else ascii(found[0])[1:-1], text)


def unpadded(text: str) -> str:
    """`text` with no room in which what follows would be out of sight: what is left out is counted."""
    return _PADDING.sub(_counted, text)


def unseen_in(text: str) -> frozenset[str]:
    """The signs in `text` that nobody sees, line breaks and tabs apart."""
    return frozenset(_UNSEEN.findall(text)) - frozenset("\n\t\r")


def _counted(room: re.Match[str]) -> str:
    lines = room[0].count("\n")
    return f"\n[… {lines - 1} blank lines …]\n" if lines else f" [… {len(room[0])} blanks …] "


def absolute(path: object, cwd: str) -> str | None:
    """The path that an argument means, seen from `cwd`; None where it is none."""
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    return absolute_path(path, cwd)


def on_path(verb: str, arguments: Arguments, cwd: str) -> str:
    """«Edit src/a.py»: the path relative to the session's directory where it is below it."""
    return f"{verb} {_shown_path(arguments, cwd)}"


def edit_title(arguments: Arguments, cwd: str) -> str:
    """The file that is changed; of a patch the first one, and how many more there are."""
    paths = paths_of(arguments)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{on_path('Edit', {'path': paths[0] if paths else None}, cwd)}{more}"


def read_title(arguments: Arguments, cwd: str) -> str:
    """What is read, from which line, and whether the prompt linked to it."""
    offset = arguments.get("offset")
    start = f" from line {offset}" if isinstance(offset, int) and offset > 1 else ""
    linked = " (linked)" if arguments.get("linked") is True else ""
    return f"{on_path('Read', arguments, cwd)}{start}{linked}"


def search_title(arguments: Arguments, cwd: str) -> str:
    """What is searched for, and where if not everywhere."""
    where = "" if arguments.get("path") in (None, "", ".") else f" in {_shown_path(arguments, cwd)}"
    return f"Search {str(arguments.get('pattern', '?'))!r}{where}"


def recall_title(arguments: Arguments, _cwd: str) -> str:
    """Which of the three things `session_search` does."""
    if query := arguments.get("query"):
        return f"Search sessions for {str(query)!r}"
    return "Read an earlier session" if arguments.get("session_id") else "Look at the latest sessions"


def todo_title(arguments: Arguments, _cwd: str) -> str:
    """Whether the plan is changed or looked at."""
    return "Update the plan" if arguments.get("todos") else "Look at the plan"


def first_line(text: object, otherwise: str) -> str:
    """The first line of `text` that is not blank, with « …» where another follows; `otherwise` without one."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    if not lines:
        return otherwise
    return f"{lines[0]} …" if len(lines) > 1 else lines[0]


def _shown_path(arguments: Arguments, cwd: str) -> str:
    full = absolute(arguments.get("path"), cwd)
    if full is None:
        return "?"
    relative = os.path.relpath(full, cwd)
    return full if relative.startswith("..") else relative


# Content of cards: text, diffs, the output of commands, terminals, and the way to what was cut.

Update = dict[str, Any]

_MAX_DIFF = 1024 * 1024
_HEAD_SHARE = 0.4
_KILO, _MEGA = 1000, 1000 * 1000


def shown_block(shown: Shown) -> Update:
    """What a tool has to show, as content of its card."""
    match shown:
        case ShownDiff():
            return diff_block(shown)
        case ShownText(text=text, language=language):
            return text_block(text, language)
        case ShownOutput(output=output, exit_code=exit_code, signal=signal):
            ended = f"ended by {signal}" if signal else "running" if exit_code is None else f"exit code {exit_code}"
            printed = plain_text(output)
            if not printed.strip():
                return _block(f"(no output, {ended})")
            return _block(f"{_fenced(_both_ends(printed), '')}\n{ended}")


def diff_block(diff: ShownDiff) -> Update:
    """A diff as tool content; a huge one as a note."""
    if len(diff.before or "") + len(diff.after or "") > _MAX_DIFF:
        return _block(f"The change of {diff.path} is too large to show here.")
    return {"type": "diff", "path": str(diff.path), "oldText": diff.before, "newText": diff.after or ""}


def text_block(text: str, language: str | None = None) -> Update:
    """Text as tool content, in a code block where a language (or '') is given; a long one is cut."""
    if language is not None and not text.strip():
        return _block("(empty)")
    shown = text
    if len(text) > MAX_SHOWN_CHARS:
        shown = f"{text[:MAX_SHOWN_CHARS]}… ({len(text) - MAX_SHOWN_CHARS} more characters)"
    return _block(shown if language is None else _fenced(shown, language))


def image_block(image: ResultImage) -> Update:
    """An image as tool content."""
    data = base64.b64encode(image.data).decode()
    return {"type": "content", "content": {"type": "image", "mimeType": image.mime_type, "data": data}}


def live_block(tail: str) -> Update:
    """The last lines that a running call has printed."""
    printed = plain_text(tail)
    return _block(_fenced(printed, "") if printed.strip() else "(only blank lines so far)")


def terminal_block(terminal: str) -> Update:
    """A terminal, which is all that its card shows."""
    return {"type": "terminal", "terminalId": terminal}


def saved_blocks(facts: Mapping[str, Any]) -> list[Update]:
    """A link to the file that holds all of a result that was too long to show; none where there is no such file."""
    saved = facts.get("saved")
    if not isinstance(saved, Mapping):
        return []
    path, size = saved.get("path"), saved.get("size")
    if not isinstance(path, str) or not isinstance(size, int) or not Path(path).is_absolute():
        return []
    link = {
        "type": "resource_link",
        "name": f"Full output ({_readable(size)})",
        "uri": Path(path).as_uri(),
        "mimeType": "text/plain",
        "size": size,
    }
    return [{"type": "content", "content": link}]


def _both_ends(text: str) -> str:
    """The beginning and the end of a long output: how it ended tells most."""
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    room = int(MAX_SHOWN_CHARS * _HEAD_SHARE)
    head, tail = text[:room], text[room - MAX_SHOWN_CHARS :]
    head = head[: head.rfind("\n") + 1] or f"{head}\n"
    return f"{head}[… the middle is left out here …]\n{tail[tail.find(chr(10)) + 1 :]}"


def _readable(size: int) -> str:
    return f"{size / _MEGA:.1f} MB" if size >= _MEGA else f"{max(1, round(size / _KILO))} kB"


def _fenced(text: str, language: str) -> str:
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _block(text: str) -> Update:
    return {"type": "content", "content": {"type": "text", "text": text}}


# Titles of what has to do with MCP servers.

PREFIX = "mcp__"


def readable_name(name: str) -> str:
    """«server: tool» for a tool of an MCP server; other names as they are."""
    server, _, tool = name.removeprefix(PREFIX).partition("__")
    return f"{server}: {tool}" if name.startswith(PREFIX) and server and tool else name


def more_tools_title(arguments: Arguments, _cwd: str) -> str:
    """What is looked for among the tools that are not in the model's list."""
    wanted = arguments.get("query") or arguments.get("name")
    return f"Look for a tool: {wanted}" if wanted else "Look at the other tools"


def resource_title(arguments: Arguments, _cwd: str) -> str:
    """The resource that is read, and whose it is."""
    return f"Read {arguments.get('uri') or 'a resource'} of {arguments.get('server') or 'an MCP server'}"


# Locations, by which an editor follows along (ACP v1, tool calls).

_MOST = 10
_MAX_LINE = 2**32 - 1  # clients read it as an unsigned number of 32 bits


def argument_places(arguments: Arguments, cwd: str) -> list[Update]:
    """The file that the arguments name, at the line where they begin."""
    full = absolute(arguments.get("path"), cwd)
    return [] if full is None else [_place(full, arguments.get("offset"))]


def edited_places(arguments: Arguments, cwd: str) -> list[Update]:
    """Every file that a patch names, bounded."""
    found = (absolute(path, cwd) for path in paths_of(arguments)[:_MOST])
    return [_place(full, None) for full in found if full is not None]


def no_places(arguments: Arguments, cwd: str) -> list[Update]:  # noqa: ARG001 - a column of the table
    """None, whatever the arguments say."""
    return []


def found_places(facts: Mapping[str, Any]) -> list[Update]:
    """Where a result's facts say that something was found or changed: every file, bounded; else the one path."""
    found = facts.get("locations")
    places = [place for each in found if (place := _found(each))] if isinstance(found, list) else []
    if not places and (only := _found(facts)):
        places = [only]
    return places[:_MOST]


def _found(fact: object) -> Update | None:
    if not isinstance(fact, Mapping):
        return None
    path = fact.get("path")
    return _place(path, fact.get("line")) if isinstance(path, str) and Path(path).is_absolute() else None


def _place(path: str, line: object) -> Update:
    is_line = isinstance(line, int) and not isinstance(line, bool) and 0 < line <= _MAX_LINE
    return {"path": path, "line": line} if is_line else {"path": path}


# Titles of the tools that reach out: web, browser, processes, and the map of the code.

Title = Callable[[Arguments, str], str]

_PROCESS = {
    "list": "List background processes",
    "poll": "Look at",
    "log": "Read the output of",
    "wait": "Wait for",
    "kill": "End",
    "write": "Type into",
    "submit": "Type into",
    "close": "Close the input of",
}

_SAYS_LITTLE = ("import ", "from ", "#", '"""')
_SKILL = {"create": "Write", "delete": "Delete", "remove_file": "Delete from"}


def fixed(title: str) -> Title:
    """The same title whatever the arguments are."""
    return lambda _arguments, _cwd: title


def about(doing: str, key: str, otherwise: str) -> Title:
    """What is done to what an argument names."""
    return lambda arguments, _cwd: f"{doing} {arguments.get(key) or otherwise}"


def lined(key: str, otherwise: str) -> Title:
    """The first line of an argument; « …» where it has more."""
    return lambda arguments, _cwd: first_line(arguments.get(key), otherwise)


def process_title(arguments: Arguments, _cwd: str) -> str:
    """What is done to which background process, with what is typed."""
    action = str(arguments.get("action") or "list")
    doing = _PROCESS.get(action, action)
    if action == "list":
        return doing
    title = f"{doing} {arguments.get('session_id') or 'a process'}"
    typed = arguments.get("data") if action in {"write", "submit"} else None
    return f"{title}: {first_line(typed, '')}" if typed else title


def program_title(arguments: Arguments, _cwd: str) -> str:
    """The first line of a program that says something: no import and no comment, where it has another."""
    lines = [line.strip() for line in str(arguments.get("code") or "").splitlines() if line.strip()]
    told = next((line for line in lines if not line.startswith(_SAYS_LITTLE)), lines[0] if lines else "?")
    return f"python: {told}{' …' if len(lines) > 1 else ''}"


def web_extract_title(arguments: Arguments, _cwd: str) -> str:
    """The one address, or the hosts of several."""
    urls = arguments.get("urls")
    pages = [str(url) for url in urls] if isinstance(urls, list) else [str(urls or "?")]
    if len(pages) == 1:
        return f"Read {pages[0]}"
    return f"Read {', '.join(dict.fromkeys(_host(page) for page in pages))}"


def skill_title(arguments: Arguments, _cwd: str) -> str:
    """Which skill is read, and which file of it."""
    file = arguments.get("file_path")
    return f"Read the skill {arguments.get('name') or '?'}{f': {file}' if file else ''}"


def skill_change_title(arguments: Arguments, _cwd: str) -> str:
    """What is done to which skill."""
    verb = _SKILL.get(str(arguments.get("action")), "Change")
    file = arguments.get("file_path")
    return f"{verb} the skill {arguments.get('name') or '?'}{f': {file}' if file else ''}"


def on_element(verb: str, argument: str = "ref") -> Title:
    """«Click @e3»: what the browser does to which element."""
    return lambda arguments, _cwd: f"{verb} {first_line(arguments.get(argument), '')}".rstrip()


def image_title(arguments: Arguments, cwd: str) -> str:
    """The image that is looked at."""
    source = str(arguments.get("image_url") or "")
    if source.startswith(("http://", "https://", "data:")):
        return f"Look at {source.partition(',')[0]}"
    return on_path("Look at", {"path": source}, cwd)


def map_title(arguments: Arguments, cwd: str) -> str:
    """Which directory is mapped."""
    return "Map the code" if arguments.get("path") in {None, "", "."} else on_path("Map the code in", arguments, cwd)


def memory_title(arguments: Arguments, _cwd: str) -> str:
    """What is remembered or forgotten."""
    steps = arguments.get("operations")
    if isinstance(steps, list) and len(steps) > 1:
        return f"Change {len(steps)} memories"
    step = steps[0] if isinstance(steps, list) and steps and isinstance(steps[0], dict) else arguments
    about = " about you" if arguments.get("target") == "user" else ""
    if step.get("action") == "remove":
        return f"Forget{about}: {first_line(step.get('old_text') or step.get('content'), '?')}"
    verb = "Remember anew" if step.get("action") == "replace" else "Remember"
    return f"{verb}{about}: {first_line(step.get('content'), '?')}"


def goals_of(arguments: Arguments) -> list[str]:
    """What sub-agents shall do, each a text."""
    tasks = arguments.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        goal = str(arguments.get("goal") or "").strip()
        return [goal] if goal else []
    goals = [task.get("goal") if isinstance(task, dict) else task for task in tasks]
    return [f"{number}. {str(goal or '?').strip()}" for number, goal in enumerate(goals, 1)]


def delegation_title(arguments: Arguments, _cwd: str) -> str:
    """What a sub-agent shall do, or how many there are."""
    goals = goals_of(arguments)
    if len(goals) == 1:
        return f"Delegate: {first_line(goals[0], '?')}"
    return f"Delegate {len(goals)} tasks" if goals else "Delegate"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


# The table.

_MAX_RAW = 2_000
_MOST_LIVE = 1_200


@dataclass(frozen=True, slots=True)
class Look:
    """How one tool is shown.

    Attributes:
        kind: the ACP tool kind.
        waiting: the title while only the tool's name is known.
        title: the title once the arguments are known; paths come relative to the session's directory.
        places: the places that the arguments name, for an editor that follows along.
        opening: content that the card has from its beginning, and keeps before the reason of a failure.
        while_running: content that stands before what the call prints while it runs.
        keeps_opening: `opening` stays before what came of the call.
        named_by: the argument that the title needs, where one is enough.
        result: what comes of it is content of the card, or goes to its terminal, or is shown elsewhere (the plan has
            its own place).
    """

    kind: str
    waiting: str
    title: Callable[[Arguments, str], str]
    places: Callable[[Arguments, str], list[Update]] = argument_places
    opening: Callable[[Arguments], list[Update]] = lambda _: []
    while_running: Callable[[Arguments], list[Update]] = lambda _: []
    result: Literal["content", "terminal", "elsewhere"] = "content"
    keeps_opening: bool = False
    named_by: str = ""


def _goals(arguments: Arguments) -> list[Update]:
    return [text_block(text) for text in goals_of(arguments)]


def _plan(arguments: Arguments) -> list[Update]:
    plan = arguments.get("plan")
    return [text_block(plan)] if isinstance(plan, str) and plan.strip() else []


def _program(arguments: Arguments) -> list[Update]:
    code = arguments.get("code")
    return [text_block(code, "python")] if isinstance(code, str) and code.strip() else []


def _short_program(arguments: Arguments) -> list[Update]:
    # What is sent again and again is short.
    code = str(arguments.get("code") or "")
    return _program({"code": code if len(code) <= _MOST_LIVE else f"{code[:_MOST_LIVE]}…"})


def _called_tool(arguments: Arguments, _cwd: str) -> str:
    return readable_name(str(arguments.get("name") or "An MCP tool"))


_ELSEWHERE = "another machine"
_LOOKS: dict[str, Look] = {
    "read_file": Look("read", "Read a file", read_title, named_by="path"),
    "write_file": Look(
        "edit", "Write a file", lambda arguments, cwd: on_path("Write", arguments, cwd), named_by="path"
    ),
    "patch": Look("edit", "Edit a file", edit_title, edited_places, named_by="path"),
    "search_files": Look("search", "Search", search_title),
    "terminal": Look(
        "execute", "Run a command", lined("command", "?"), no_places, result="terminal", named_by="command"
    ),
    "execute_code": Look(
        "execute", "Run a program", program_title, no_places, _program, _short_program, keeps_opening=True
    ),
    "session_search": Look("search", "Search earlier sessions", recall_title, no_places),
    "todo": Look("think", "Plan", todo_title, no_places, result="elsewhere"),
    "clarify": Look("think", "Ask a question", lined("question", "Ask a question"), no_places),
    "exit_plan_mode": Look("switch_mode", "Plan ready", lambda _, __: "Plan ready", no_places, _plan),
    "process": Look("execute", "Background process", process_title, no_places),
    "web_search": Look(
        "fetch",
        "Search the web",
        lambda arguments, _: f"Search the web for {str(arguments.get('query', '?'))!r}",
        no_places,
    ),
    "web_extract": Look("fetch", "Read the web", web_extract_title, no_places),
    "repo_map": Look("search", "Map the code", map_title),
    "vision_analyze": Look("read", "Look at an image", image_title, no_places),
    "browser_navigate": Look("fetch", "Open a page", about("Open", "url", "a page"), no_places),
    "browser_snapshot": Look("read", "Look at the page", fixed("Look at the page"), no_places),
    "browser_vision": Look("read", "Look at the page", fixed("Take a picture of the page"), no_places),
    "browser_get_images": Look("read", "List images", fixed("List the page's images"), no_places),
    "browser_console": Look("read", "Read the console", fixed("Read the page's console"), no_places),
    "browser_click": Look("execute", "Click", on_element("Click"), no_places),
    "browser_type": Look("execute", "Type", on_element("Type into"), no_places),
    "browser_press": Look("execute", "Press a key", on_element("Press", "key"), no_places),
    "browser_scroll": Look("execute", "Scroll", on_element("Scroll", "direction"), no_places),
    "browser_back": Look("execute", "Go back", fixed("Go back"), no_places),
    "memory": Look("edit", "Remember", memory_title, no_places),
    "skills_list": Look("read", "List skills", fixed("List skills"), no_places),
    "skill_view": Look("read", "Read a skill", skill_title, no_places),
    "skill_manage": Look("edit", "Change a skill", skill_change_title, no_places),
    "mcp_list_resources": Look("read", "List resources", fixed("List resources of MCP servers"), no_places),
    "mcp_read_resource": Look("read", "Read a resource", resource_title, no_places),
    "mcp_find_tools": Look("search", "Find MCP tools", about("Find MCP tools:", "query", "?"), no_places),
    "more_tools": Look("search", "Use another tool", more_tools_title, no_places),
    "mcp_call_tool": Look("other", "Call an MCP tool", _called_tool, no_places),
    "delegate_task": Look("think", "Delegate", delegation_title, no_places, _goals),
    "copy_workspace": Look(
        "other", "Copy the workspace", about("Copy the workspace to", "to", _ELSEWHERE), no_places
    ),
    "bring_back": Look("edit", "Bring changes back", about("Bring changes back from", "from", _ELSEWHERE), no_places),
    "rewind": Look("edit", "Take back", lambda arguments, cwd: on_path("Take back", arguments, cwd)),
}


def look_of(name: str) -> Look:
    """How the tool `name` is shown; a plain look for a tool that the table does not know."""
    known = _LOOKS.get(name)
    if known is not None:
        return known
    title = one_line(readable_name(name)) or "A tool"
    # What a server of the user's calls a path need not be one here.
    return Look("other", title, lambda _, __: title, no_places if name.startswith(PREFIX) else argument_places)


def card_details(name: str, arguments: Arguments, cwd: str, by: str = "") -> Update:
    """Title, kind, places and raw input of a call; `by` is the sub-agent that makes it, '' for the agent itself."""
    look = look_of(name)
    title = one_line(look.title(arguments, cwd)) or look.waiting
    details: Update = {
        "title": one_line(f"{by}: {title}") if by else title,
        "kind": look.kind,
        "rawInput": _clipped(arguments),
    }
    if places := look.places(arguments, cwd):
        details["locations"] = places
    return details


def _clipped(value: Any) -> Any:
    match value:
        case str() if len(value) > _MAX_RAW:
            return f"{value[:_MAX_RAW]}… ({len(value) - _MAX_RAW} more characters)"
        case list():
            return [_clipped(part) for part in value]
        case Mapping():
            return {_clipped(key): _clipped(part) for key, part in value.items()}
    return value


# Cards of clients that keep the first title: they are not made before the title says what the call is about.

LONGEST_HOLD = 0.3
"""Seconds that a card is held; then it is made with the name of its tool alone, so that the person sees it coming."""

_LONGEST_BEGINNING = 64 * 1024

Hold = Callable[[Callable[[], None]], Callable[[], None]]
"""Calls a function when a card has been held for long enough, on any thread; what it returns takes that back."""


def for_a_moment(show: Callable[[], None]) -> Callable[[], None]:
    """Hold a card for as long as is right for a person."""
    timer = threading.Timer(LONGEST_HOLD, show)
    timer.daemon = True
    timer.start()
    return timer.cancel


class HeldCall:
    """A tool call that the model is writing, and whose card is held.

    Attributes:
        arguments: those that its title needs, once they are known.
        forget: takes back the call of `Hold`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.forget: Callable[[], None] = lambda: None
        self.arguments: Mapping[str, str] = {}
        self._key = look_of(name).named_by
        self._written = ""

    def is_named_by(self, more: str) -> bool:
        """Whether its title is known, now that the model has written `more` of its arguments."""
        if not self._key or self.arguments or len(self._written) > _LONGEST_BEGINNING:
            return bool(self.arguments)
        self._written += more
        value = _text_of(self._key, self._written)
        if value:
            self.arguments = {self._key: value}
        return bool(value)


def _text_of(key: str, beginning: str) -> str:
    """The text that JSON, of which this is the beginning, has for a key; '' where it is not there, or not whole."""
    found = re.search(rf'"{key}"\s*:\s*("(?:[^"\\]|\\.)*")', beginning)
    if found is None:
        return ""
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return ""
