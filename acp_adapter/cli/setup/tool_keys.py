"""Keys that tools can use, and do without: what each is for, and where a person gets one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.errors import install_line
from tools.web.reading import can_read_html

if TYPE_CHECKING:
    from acp_adapter.cli.setup.choosing import Person


@dataclass(frozen=True, slots=True)
class ToolKey:
    """A variable that a tool looks for.

    Attributes:
        others: names that the tool knows it by as well.
        page: where it is got.
        secret: whether it is typed unseen; an address is not.
    """

    variable: str
    title: str
    page: str
    others: tuple[str, ...] = ()
    secret: bool = True


TOOL_KEYS = (
    ToolKey(
        "BRAVE_API_KEY", "Brave Search", "https://api-dashboard.search.brave.com/app/keys", ("BRAVE_SEARCH_API_KEY",)
    ),
    ToolKey("TAVILY_API_KEY", "Tavily", "https://app.tavily.com/home"),
    ToolKey("EXA_API_KEY", "Exa", "https://dashboard.exa.ai/api-keys"),
    ToolKey("SEARXNG_URL", "SearXNG, a server of your own", "https://docs.searxng.org", secret=False),
)
"""What `web_search` can use, in the order in which it looks for them."""

_NONE = frozenset({"", "n", "no", "none"})


def choose_tool_keys(person: Person, environ: Mapping[str, str]) -> dict[str, str]:
    """Ask for the keys that the person wants to give; '' for none of them is the usual answer."""
    missing = [key for key in TOOL_KEYS if not any(environ.get(name) for name in (key.variable, *key.others))]
    there = [key.title for key in TOOL_KEYS if key not in missing]
    person.say("\nSearching the web works with one of these, if you have a key:" if not there else "")
    if there:
        person.say(f"Searching the web: there is a key for {', '.join(there)}.")
    elif can_read_html():
        person.say("(Without any, public search engines are asked.)")
    else:
        person.say(f"(Without any it needs an extra: {install_line('web')})")
    for number, key in enumerate(missing, 1):
        person.say(f"{number:>4}  {key.title}: {key.page}")
    given: dict[str, str] = {}
    while missing:
        typed = person.line(
            "Which do you have? A number, or Enter for none" if not given else "Another? Enter for none"
        )
        if typed.lower() in _NONE:
            break
        if not typed.isdecimal() or not 0 < int(typed) <= len(missing):
            person.say(f"{typed!r} is no number of this list.")
            continue
        key = missing[int(typed) - 1]
        if value := _value(person, key):
            given[key.variable] = value
    return given


def problem_of(key: ToolKey, value: str) -> str:
    """Why this cannot be the value; '' where it can."""
    if not value.isascii() or not value.isprintable() or " " in value:
        return f"{key.variable} cannot hold blanks or characters that no key has."
    if not key.secret and not value.startswith(("http://", "https://")):
        return f"{key.variable} is an address: it begins with http:// or https://."
    return ""


def _value(person: Person, key: ToolKey) -> str:
    while True:
        ask = person.secret if key.secret else person.line
        value = ask(f"{key.variable}; empty for none")
        problem = problem_of(key, value) if value else ""
        if not problem:
            return value
        person.say(problem)
