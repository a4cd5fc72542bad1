"""What a command is, what came of it, and what it may use; Markdown for its answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from acp_adapter.format import safe_text
from agent_core.events import Command, SaidAudio, SaidImage, SaidPart, SaidText, SessionEvent
from tools.light_dataclass import dataclass
from tools.toolsets import select

if TYPE_CHECKING:
    from acp_adapter.events import Outbox
    from acp_adapter.startup import SessionSeed
    from agent_core.agent import AIAgent
    from agent_core.cancel import CancelToken
    from agent_core.compaction.engine import Compaction
    from agent_core.factory import AgentFactory
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.mcp.specs import ServerStatus
    from agent_core.providers.choice import ModelChoice, ServedWindow
    from agent_core.services import SessionServices
    from agent_core.settings.options import Option, SessionChoices
    from agent_core.workspace import Workspace
    from tools.approval.policy import Mode
    from tools.registry import ToolEntry


@dataclass(frozen=True, slots=True)
class Told:
    """The command is done, and this is the answer; the model is not asked.

    Attributes:
        text: Markdown for the person.
        anew: nothing said so far is to reach the model any more.
        made: a compression of the conversation, which is stored with the answer.
        notice: said beside the conversation: it is no answer, and is not shown again.
    """

    text: str
    anew: bool = False
    notice: bool = False
    made: Compaction | None = None


@dataclass(frozen=True, slots=True)
class AsPrompt:
    """The command is a prompt with this text; pictures and links that came with it go along."""

    text: str


Outcome = Told | AsPrompt


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed.

    Attributes:
        rest: what followed the command's name, in one text; what is not text is in it by its name. For prose.
        parts: the whole prompt.
        words: the same without what is not text. For a name, a number or a format, which only the person may type: a
            mention may be called like one.
        begins_at: the part that begins with the command's name.
    """

    command: SlashCommand
    rest: str
    parts: tuple[SaidPart, ...] = ()
    words: str = ""
    begins_at: int = 0

    @property
    def attached(self) -> int:
        """How many things that are not text the person sent with it.

        Links and documents before the command were not: editors put the open file there by themselves.
        """
        return sum(
            isinstance(part, SaidImage | SaidAudio) or (at > self.begins_at and not isinstance(part, SaidText))
            for at, part in enumerate(self.parts)
        )


Run = Callable[[Typed, "Desk"], Outcome]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """Something to be typed as `/name`.

    Attributes:
        run: does it, on a worker thread, while no turn of the session runs; what it raises of `HermesError` is told.
        hint: what may follow the name, '' if nothing may.
        at_once: it is for the running turn, and does not wait for its end.
    """

    name: str
    description: str
    run: Run
    hint: str = ""
    at_once: bool = False

    @property
    def offer(self) -> Command:
        """The command as a client is told of it."""
        return Command(self.name, self.description, self.hint)


class CommandSession(Protocol):
    """A session as its commands see it: they know nothing of how sessions are kept.

    Attributes:
        services: None until the first prompt, and again after the session was unloaded.
        title: as it is stored; None while there is none.
        call_ids: those of cards that the editor may know.
    """

    seed: SessionSeed
    choices: SessionChoices
    workspace: Workspace
    agent: AIAgent | None
    outbox: Outbox
    servers: SessionServers | None
    services: SessionServices | None
    title: str | None
    call_ids: set[str]

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        ...

    @property
    def model_used(self) -> str:
        """The provider:model that it used last; '' before its first turn."""
        ...

    @property
    def news_waiting(self) -> int:
        """How many news of the background no turn has told the model of."""
        ...

    def show(self, event: SessionEvent) -> None:
        """Show something in its place in the open turn, which takes it down."""
        ...

    def tell_beside(self, said: SessionEvent, answer: SessionEvent) -> None:
        """Show the answer of a command beside turns; it is shown again in its place."""
        ...

    def cancel(self, before: CancelToken | None = None) -> bool:
        """Cancel the prompts that came before the one with this token; False where there is none."""
        ...


class OtherCommands(NamedTuple):
    """What can be typed beside the built-in commands, by whose it is."""

    own: Sequence[Command]
    added: Sequence[Command]
    skills: Sequence[Command]
    prompts: Sequence[Command]


@dataclass(frozen=True, slots=True)
class Desk:
    """What commands of one session may use. Its methods block; they are called on worker threads.

    Attributes:
        token: the prompt's: cancelled when the person cancels it.
        options: everything that can be chosen for the session now.
        choose: chooses, as `session/set_config_option` does: checked, stored, and told to the client. A
            `RequestError` says that there is no such option or value; nothing was changed then.
        steer: tells the running turn's model something; False where no turn runs that could take it.
        commands_beside: the session's commands that are not called like one of those given.
    """

    session: CommandSession
    factory: AgentFactory
    token: CancelToken
    options: Callable[[], Sequence[Option]]
    choose: Callable[[str, str | bool], object]
    steer: Callable[[str], bool]
    commands_beside: Callable[[Collection[str]], OtherCommands]

    def model(self) -> ModelChoice:
        """The model that the session's next request goes to.

        Raises:
            AuthRequired, SettingsError: there is none.
        """
        return self.factory.model(self.session.choices.model, self.session.model_used)

    def served_window(self) -> ServedWindow | None:
        """What that model's server has said of its window, if it was asked.

        Raises:
            AuthRequired, SettingsError: there is no model.
        """
        return self.factory.served_window(self.session.choices.model, self.session.model_used)

    def tools(self) -> Sequence[ToolEntry]:
        """The tools that the session's model is offered: with the first prompt, those of a memory provider too."""
        enabled, disabled = self.factory.toolsets()
        agent = self.session.agent
        workspace = self.session.workspace if agent is None else agent.workspace
        return select(enabled, disabled, workspace.tools)

    def servers(self) -> Sequence[ServerStatus]:
        """How it stands with the session's MCP servers."""
        return () if self.session.servers is None else self.session.servers.status()


# Pieces of Markdown from text that may hold anything.

_SIGNS = re.compile(r"([\\`*_\[\]<>|#~])")


def code(text: str) -> str:
    """`text` as code on one line."""
    shown = " ".join(safe_text(text).split())
    return f"`` {shown.replace('``', '` `')} ``" if "`" in shown else f"`{shown}`"


def plain(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown knows."""
    return _escaped(" ".join(safe_text(text).split()))


def prose(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown knows but words between backticks."""
    pieces = " ".join(safe_text(text).split()).split("`")
    if len(pieces) % 2 == 0 or not all(piece.strip() for piece in pieces[1::2]):
        return plain(text)
    return "".join(code(piece) if place % 2 else _escaped(piece) for place, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\1", text)


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table; its cells are Markdown of one line each."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
