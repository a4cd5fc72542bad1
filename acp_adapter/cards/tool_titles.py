"""Titles of the tools that reach out: web, browser, processes, and the map of the code."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from acp_adapter.cards.titles import Arguments, first_line, on_path

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


def copying_title(doing: str, key: str) -> Title:
    """Where the workspace is copied to, or what comes back from."""
    return lambda arguments, _cwd: f"{doing} {arguments.get(key) or 'another machine'}"


def process_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """What is done to which background process, with what is typed."""
    action = str(arguments.get("action") or "list")
    doing = _PROCESS.get(action, action)
    if action == "list":
        return doing
    title = f"{doing} {arguments.get('session_id') or 'a process'}"
    typed = arguments.get("data") if action in {"write", "submit"} else None
    return f"{title}: {first_line(typed, '')}" if typed else title


def program_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The first line of a program that says something: no import and no comment, where it has another."""
    lines = [line.strip() for line in str(arguments.get("code") or "").splitlines() if line.strip()]
    told = next((line for line in lines if not line.startswith(_SAYS_LITTLE)), lines[0] if lines else "?")
    return f"python: {told}{' …' if len(lines) > 1 else ''}"


def web_search_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """What the web is searched for."""
    return f"Search the web for {str(arguments.get('query', '?'))!r}"


def web_extract_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The one address, or the hosts of several."""
    urls = arguments.get("urls")
    pages = [str(url) for url in urls] if isinstance(urls, list) else [str(urls or "?")]
    if len(pages) == 1:
        return f"Read {pages[0]}"
    return f"Read {', '.join(dict.fromkeys(_host(page) for page in pages))}"


def navigate_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The address that the browser opens."""
    return f"Open {arguments.get('url') or 'a page'}"


def skill_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """Which skill is read, and which file of it."""
    file = arguments.get("file_path")
    return f"Read the skill {arguments.get('name') or '?'}{f': {file}' if file else ''}"


def skill_change_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
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


def memory_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
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


def delegation_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
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
