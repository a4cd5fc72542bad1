"""The agent's ports: questions to the person, earlier sessions, MCP servers, skills."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol

from tools.approval.actions import ToolPin
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult

# What a tool asks the person: a question with fields to fill in, and what came of it.

Kind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
"""A line of text, a number, a whole number, yes or no, one of several, any of several."""

Value = str | int | float | bool | tuple[str, ...]
"""What a field holds: a tuple for `choices`."""

Outcome = Literal["answered", "unfit", "declined", "dismissed", "unavailable"]
"""The person answered; answered what no field can hold; chose not to; closed the question; or could only be asked in
text, and answers by prompt."""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in.

    Attributes:
        name: the key of its value in the answer.
        title: what the person reads beside it.
        choices: for `choice` and `choices`, at least one.
        other: beside the choices the person may write an answer of their own.
        required: without it there is no answer.
        default: what is filled in already.
    """

    name: str
    title: str
    kind: Kind = "text"
    description: str = ""
    choices: tuple[str, ...] = ()
    other: bool = True
    required: bool = True
    default: Value | None = None

    @property
    def is_open(self) -> bool:
        """Whether a text of the person's own may stand for a choice."""
        return self.other and self.kind in {"choice", "choices"}


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question to the person.

    Attributes:
        fields: with different names; at least one.
        call_id: the tool call that asks, '' outside one.
    """

    text: str
    fields: tuple[Field, ...]
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class PersonPage:
    """A page that the person is asked to open: an https address without a password in it.

    Attributes:
        call_id: the tool call that asks, '' outside one.
    """

    text: str
    url: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """What came of a question. `values` are by the fields' names; fields that were left out are missing."""

    outcome: Outcome
    values: Mapping[str, Value] = field(default_factory=dict)


_WANTS_SECRET = re.compile(
    r"""
    (?: \b(?:enter|type|paste|provide|give|send|share|supply|input|tell) \s (?:in\s)? (?:me\s (?:the|your|an?)|your)
      | (?:^|[.!?:,;]|\bplease\b) \s? (?:enter|type|paste|provide|send|supply|input) (?:\s in)? (?:\s (?:the|an?))?
      | \bwhat(?:'s|\s is|\s are) \s (?:the|your) (?= [^.!?]* (?:\?|$)) (?! .* \s (?:called|named|used|stored)\b)
    )
    \s (?:(?!(?:on|about|of|for|how|where|whether)\b)[\w-]+\s){0,3}?
    (?: passwords?|passphrases?|passcodes?|credentials?|pin(?:\scode)?|one-time\scode
      | (?:api|secret|private|access|ssh|licen[cs]e)[ -]keys?
      | (?:api|access|bearer|auth|refresh|session|bot)[ -]tokens?
      | client[ -]secrets?
    )
    \b (?! \s (?:policy|length|format|name|variable|field|file|type|store|reset|prompt|manager|hash))
    """,
    re.IGNORECASE | re.VERBOSE,
)


def wants_secret(text: str) -> bool:
    """Whether `text` asks for a password or a key: forms must not (ACP v1, elicitation).

    It knows the usual words only; a question about secrets («where is the key stored?») is none for one.
    """
    return _WANTS_SECRET.search(" ".join(text.split())) is not None


# Earlier sessions: what was said in them, found by words.

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question to the stored sessions.

    Attributes:
        text: words to look for, in any order; "…" is a phrase, `word*` a beginning.
        limit: sessions to tell of, at most.
        sort: best match first, or newest first.
        roles: whose messages are searched.
        window: messages told before and after each hit.
        not_in: a session whose own line of forks is left out; '' for none.
    """

    text: str
    limit: int = 3
    sort: Literal["relevance", "newest"] = "relevance"
    roles: tuple[Role, ...] = ("user", "assistant")
    window: int = 5
    not_in: str = ""


@dataclass(frozen=True, slots=True)
class RecalledMessage:
    """A message of a stored session, its text bounded.

    Attributes:
        is_hit: it was found.
        is_answer: it ended the turn of the one that was found; messages between them may be left out.
    """

    id: int
    role: Role
    text: str
    at: float
    is_hit: bool = False
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class RecalledSession:
    """A session with what was found in it, and what was said around that."""

    session_id: str
    title: str
    cwd: str
    updated_at: float
    messages: tuple[RecalledMessage, ...]
    hits: int


class SessionRecall(Protocol):
    """Searches and reads earlier sessions."""

    def search(self, query: RecallQuery) -> tuple[RecalledSession, ...]:
        """Sessions in which the words were found, one of each line of forks.

        Raises:
            ToolError: the query says nothing, or the sessions cannot be read.
        """
        ...

    def around(self, session_id: str, message_id: int, window: int) -> RecalledSession:
        """The messages before and after one; around 0 the first `window` messages of the session, around -1 its last.

        Raises:
            ToolError: there is no such session or message, or they cannot be read.
        """
        ...

    def unsearched(self) -> int:
        """About how many messages a search does not find yet, because they are not in the index."""
        ...

    def latest(self, limit: int) -> tuple[RecalledSession, ...]:
        """The sessions that were used last, each with its first messages.

        Raises:
            ToolError: they cannot be read.
        """
        ...


# The MCP servers of a session.

CALL_BY_NAME = "mcp_call_tool"
"""The tool that calls a tool of a server by its name, where these are not in the model's list."""


class McpTools(Protocol):
    """The servers of one session."""

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
    ) -> ToolResult:
        """Call a tool of a server and wait for its result; `progress` gets what it tells meanwhile.

        Args:
            server, tool: as the server and its tool call themselves, not the names that the model has for them.

        Returns:
            the result; a failed one when the server is not there, does not answer in time, or says that it failed.

        Raises:
            Denied: the policy or the person said no.
            ToolInterrupted: the turn was cancelled; the server has been told.
        """
        ...

    def read(self, server: str, uri: str, interrupt: Interrupt, progress: Callable[[str], None]) -> ToolResult:
        """Read a resource of a server.

        Returns, Raises: as `call` does.
        """
        ...

    def resources(self, server: str) -> str:
        """The resources that servers have told of, as lines; of all servers for ''."""
        ...

    def find(self, query: str) -> str:
        """Tools that are not among the model's own, with their arguments, as JSON lines; the best first."""
        ...

    def locate(self, name: str) -> tuple[str, str] | None:
        """The server and the tool that the model's name for a tool means; None where there is none."""
        ...


class Behalf(Protocol):
    """The person, as a server reaches them while a call of it runs. Each of its methods blocks."""

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """Put a server's question to the person.

        Raises:
            ValueError: it is a page that nobody should open. ToolInterrupted: nobody waits for the answer any more.
        """
        ...

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        """Return when a server may have `prompt` answered by a model.

        Raises:
            Denied: the policy or the person said no. ToolInterrupted: nobody waits for it any more.
        """
        ...


class McpServers(McpTools, Protocol):
    """The servers with nothing before them."""

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        """Call a tool; the server may ask of `behalf` meanwhile, of nobody for None."""
        ...

    def read(
        self,
        server: str,
        uri: str,
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        """Read a resource."""
        ...

    def pins(self, server: str) -> Mapping[str, ToolPin]:
        """What each of a server's tools is now, by its own name; '' is for what is no tool of its list. Empty for a
        server that there is not.
        """
        ...

    def fit(self, window: int | None, session_id: str = "") -> None:
        """The session's model takes so many tokens; tools that take too many of them go behind a search.

        A sub-agent, whose session is another than the first one's, changes nothing.
        """
        ...


# A session's skills: what there is, what is in it, and where a new one goes. Reading goes through this port and never
# leaves a skill's own folder: the home that most skills lie in is private. What changes a skill is written by the
# tools through the session's file system, so that it is asked about.

Origin = Literal["yours", "external", "plugin", "project"]
"""Where a skill comes from: the home, a folder that the settings name, a plugin, or the project, which may be
anybody's."""

SKILL_FILE = "SKILL.md"
SUBFOLDERS = ("references", "templates", "scripts", "assets")
"""Where the tools write what a skill has beside its SKILL.md."""


@dataclass(frozen=True, slots=True)
class SkillFacts:
    """A skill as lists show it.

    Attributes:
        name: the folder's name: small letters, digits and single hyphens, 64 at most.
        description: one line.
        category: the folders between the skills' folder and this one, joined by `/`; '' for none.
        folder: absolute, symbolic links resolved.
        hidden_by: the origin of the skill of the same name that is used in its place; '' where it is used itself.
    """

    name: str
    description: str
    category: str
    origin: Origin
    folder: Path
    hidden_by: str = ""

    @property
    def address(self) -> str:
        """The name that finds it: of a hidden one with its origin before it."""
        return f"{self.origin}:{self.name}" if self.hidden_by else self.name


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A folder that would be a skill, and why it is none; or why a place was not looked at to its end."""

    place: str
    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class SkillView:
    """A file of a skill.

    Attributes:
        file: relative to the skill's folder.
        text: None where it is no text.
        size: in bytes.
        files: the others of the skill, relative, by name.
        left_out: how many more there are.
    """

    skill: SkillFacts
    file: str
    text: str | None
    size: int
    files: tuple[str, ...] = ()
    left_out: int = 0


class Skills(Protocol):
    """A session's skills. Every method may block for files, and looks at them as they are now."""

    def listed(self) -> Sequence[SkillFacts]:
        """All of them by name, those that are hidden by another of the same name too."""
        ...

    def problems(self) -> Sequence[SkillProblem]:
        """What is no skill, and why."""
        ...

    def view(self, name: str, file_path: str = "") -> SkillView:
        """A file of a skill, SKILL.md without a path.

        Raises:
            ToolError: there is no such skill or file, or it cannot be shown; what there is instead.
        """
        ...

    def find(self, name: str) -> SkillFacts:
        """A skill to be changed, also one that is broken.

        Raises:
            ToolError: there is none, or it is not to be changed by tools.
        """
        ...

    def new_folder(self, name: str, category: str) -> Path:
        """Where a new skill of the user's goes.

        Raises:
            ToolError: the name or the category cannot be one, or the name is taken.
        """
        ...

    def content(self, skill: SkillFacts, file_path: str) -> bytes | None:
        """The bytes of a file; None where there is none.

        Raises:
            ToolError: it cannot be read.
        """
        ...

    def contents(self, skill: SkillFacts) -> Mapping[str, bytes]:
        """Every file of a skill, by its relative path.

        Raises:
            ToolError: there are too many for a tool, or one cannot be read.
        """
        ...

    def check(self, name: str, file_path: str, data: bytes) -> None:
        """Whether a file of a skill may be so.

        Raises:
            ToolError: why not.
        """
        ...

    def keep(self, skill: SkillFacts, contents: Mapping[str, bytes]) -> Path:
        """Copy a skill that is about to be deleted; where to.

        Raises:
            ToolError: it cannot be written.
        """
        ...

    def drop(self, copy: Path) -> None:
        """Remove a copy again: the skill stays."""
        ...

    def tidy(self, skill: SkillFacts) -> None:
        """Remove the folders of a skill that are empty now."""
        ...


# Paths inside a skill's folder, as models and people write them.

DEEPEST = 5
"""Parts that such a path may have."""


def inner_path(file_path: str) -> str:
    """A path inside a skill's folder, made plain.

    Raises:
        ToolError: it is none.
    """
    path = PurePosixPath(file_path.strip().replace("\\", "/"))
    parts = [part for part in path.parts if part != "."]
    strange = any(unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for sign in file_path.strip())
    if path.is_absolute() or not parts or ".." in parts or strange or len(parts) > DEEPEST:
        raise ToolError(f"{file_path[:120]!r} is no path inside a skill's folder. Write it as references/guide.md.")
    return "/".join(parts)
