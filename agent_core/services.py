"""The agent's side of `AgentServices`: what tools reach that outlasts one call."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_core.activity import Activity
from agent_core.background_tasks import TaskBoard
from agent_core.callbacks import AgentCallbacks
from agent_core.cancel import CancelToken
from agent_core.compaction.engine import Compaction, CompressionRequest, ContextEngine
from agent_core.compaction.tokens import CutPrompts, TokenMeter
from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.model_request.history_filter import Omissions, PrefixWatch, SeenHabits
from agent_core.model_request.side_models import Completion
from agent_core.notifications import NewsBox
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.records import KeptState
from agent_core.turn import SoundHistory
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion, SessionRecall
from tools.approval.approvals import Approvals, PlanAnswer, propose
from tools.context import Delegation, TodoItem
from tools.errors import ToolError
from tools.ports import Interrupt
from tools.registry import ToolEntry
from tools.result import ResultImage, ToolResult
from tools.toolsets import MORE_TOOLS

if TYPE_CHECKING:
    from agent_core.memory.session_memory import SessionMemory
    from agent_core.sessions.store import SessionStore
    from agent_core.skills import SessionSkills
    from agent_core.telemetry.spans import SessionSpans
    from agent_core.tool_calls import NestedCalls
    from tools.memory_port import Memory


log = logging.getLogger(__name__)

Look = Callable[[ResultImage, str, Interrupt], str]
Summarise = Callable[[Sequence[Message], CancelToken], Completion | None]


class SessionServices:
    """What one session keeps between its turns, whichever agent runs them."""

    def __init__(self, recall: Callable[[], SessionRecall] | None = None, look: Look | None = None) -> None:
        self.recall = recall
        # Asks a model that sees about an image.
        self.look = look
        # What is remembered over sessions; None where nothing is.
        self.memory: SessionMemory | None = None
        self.skills: SessionSkills | None = None
        self.plan: tuple[TodoItem, ...] = ()
        # What the model is told of itself and of its tools stays the same all session long: servers cache it.
        self.system: str | None = None
        # Names and characters of its parts, and what was left out of it, for the person.
        self.prompt_layers: tuple[tuple[str, int], ...] = ()
        self.prompt_notes: tuple[str, ...] = ()
        self.tools: list[dict[str, object]] | None = None
        # Whether they are those for a small window, None: not decided yet; and what is not in the list then.
        self.small: bool | None = None
        self.behind: tuple[ToolEntry, ...] = ()
        # Those that come with the session, by name and a mark of what the model was told of them.
        self.extra_tools: tuple[str, ...] = ()
        self.spent = Spent()
        # Is told of it too: of a sub-agent, who it works for.
        self.on_spent: Callable[[Usage, float | None], None] | None = None
        self._spending = threading.Lock()
        self.activity = Activity()
        # Who collects traces of its turns; None: nobody.
        self.tracing: SessionSpans | None = None
        self.prefix = PrefixWatch()
        self.habits = SeenHabits()
        self.omissions = Omissions()
        # What the model is shown in place of a part of the history, as the store has it at the turn's begin.
        self.compaction: Compaction | None = None
        # Who compresses; None: nobody. `by_itself`: also without being asked to.
        self.engine: ContextEngine | None = None
        self.by_itself = True
        self.meter = TokenMeter()
        # Who watches whether servers read all of what they are sent; None before the first answer.
        self.cuts = CutPrompts()
        # The model that was asked last, as provider:model, and its window in tokens.
        self.asked: tuple[str, int] | None = None
        # Asks a model for the words of a summary.
        self.summarise: Summarise | None = None
        # Tells the window of that model, None where it is not known.
        self.summary_window: Callable[[], int | None] = lambda: None
        # Is told before a part of the history leaves the view.
        self.before_compression: Callable[[CompressionRequest], None] | None = None
        # How many messages the conversation had at the end of the last turn of this process.
        self.told = 0
        self.sound = SoundHistory()
        # Ids that tool calls have had, also of answers that were not kept: an editor knows their cards.
        self.call_ids: set[str] = set()
        # What happened in the background and was not delivered yet; what runs there.
        self.news = NewsBox()
        self.tasks = TaskBoard()
        # provider:model that the session uses; '' before the first turn.
        self.model = ""

    @property
    def has_small_prompt(self) -> bool:
        """Whether the system prompt is the one for a small window."""
        return MORE_TOOLS in dict(self.prompt_layers)

    def missing_tools(self) -> tuple[str, ...]:
        """Names of tools that have nothing to work with in this session."""
        return () if self.memory is not None and self.memory.notes() is not None else ("memory",)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add what a request used, here and for whom this session works. Safe to use from several threads.

        Args:
            cost: in US dollars; None where it is not known.
        """
        with self._spending:
            self.spent = self.spent.add(usage, cost)
        if self.on_spent is not None:
            self.on_spent(usage, cost)

    def recall_compaction(self, store: SessionStore, session_id: str, length: int | None) -> None:
        """Take up what is in effect when a turn begins.

        Args:
            length: of the history; None for one that is not the stored one, of which nothing was compressed.
        """
        try:
            self.compaction = None if length is None else store.compaction(session_id)
        except StoreError:
            # The messages are known, from memory: so is what was made of them, if nothing was taken back.
            log.warning("what was compressed in session %s cannot be read", session_id, exc_info=True)
            if length is None or length < self.told:
                self.compaction = None

    def kept(self) -> KeptState:
        """What a later process needs to go on as this one would."""
        return KeptState(
            plan=self.plan,
            system=self.system,
            tools=None if self.tools is None else tuple(self.tools),
            model=self.model,
            spent=self.spent,
            omitted_results=frozenset(self.omissions.results),
            sealed_before=self.omissions.sealed_before,
            images_before=self.omissions.images_before,
            prompt_layers=self.prompt_layers,
            prompt_notes=self.prompt_notes,
        )

    def restore(self, kept: KeptState, *, same_prompt: bool) -> None:
        """Go on from what was kept.

        Args:
            same_prompt: use the system prompt as it was, because the model's server may still have it; else it is
                built anew.
        """
        self.plan, self.spent, self.model = kept.plan, kept.spent, kept.model
        self.system = kept.system if same_prompt else None
        known = self.system is not None
        self.prompt_layers, self.prompt_notes = (kept.prompt_layers, kept.prompt_notes) if known else ((), ())
        self.omissions = omissions_of(kept)


def omissions_of(kept: KeptState | None) -> Omissions:
    """What the model is not shown of a session's results any more."""
    if kept is None:
        return Omissions()
    return Omissions(set(kept.omitted_results), kept.sealed_before, kept.images_before)


class TurnServices:
    """A session's services as one turn's tools see them; its own listeners are told. Implements `AgentServices`."""

    def __init__(
        self,
        session: SessionServices,
        approvals: Approvals,
        callbacks: AgentCallbacks,
        nested: NestedCalls | None = None,
        delegation: Callable[[], Delegation | None] = lambda: None,
    ) -> None:
        self._session = session
        self._nested = nested
        self._approvals = approvals
        self._callbacks = callbacks
        self._delegation = delegation

    def todos(self) -> Sequence[TodoItem]:
        """The plan as it stands."""
        return self._session.plan

    def recall(self) -> SessionRecall | None:
        """Who searches earlier sessions, which may have read what others wrote."""
        self._approvals.note_others()
        return None if self._session.recall is None else self._session.recall()

    def memory(self) -> Memory | None:
        """What is remembered over sessions, as far as it may be changed."""
        return None if self._session.memory is None else self._session.memory.notes()

    def skills(self) -> SessionSkills | None:
        """The session's skills."""
        return self._session.skills

    def delegation(self) -> Delegation | None:
        """Who has sub-agents do work."""
        return self._delegation()

    def look(self, image: ResultImage, question: str, interrupt: Interrupt) -> str:
        """What a model that sees answers about an image."""
        if self._session.look is None:
            raise ToolError("No other model can be asked here, and the one that is asked sees no images.")
        return self._session.look(image, question, interrupt)

    def set_todos(self, items: Sequence[TodoItem]) -> None:
        """Replace the plan and show it."""
        self._session.plan = tuple(items)
        if self._callbacks.plan_callback is not None:
            self._callbacks.plan_callback(self._session.plan)

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """Put a question to the person and wait for the answer."""
        if self._callbacks.ask_callback is None:
            return PersonAnswer("unavailable")
        return self._callbacks.ask_callback(question, interrupt)

    def offered_tools(self) -> frozenset[str]:
        """The names of the tools that the model is told of."""
        return frozenset() if self._nested is None else self._nested.offered

    def call_tool(self, name: str, arguments: Mapping[str, Any], parent: str, interrupt: Interrupt) -> ToolResult:
        """Call one of them for `parent`, the id of a call that runs."""
        if self._nested is None:
            raise ToolError("No tool can be called from here: this needs a running turn.")
        return self._nested.call(name, arguments, parent, interrupt)

    def leave_plan(self, plan: str, tool_call_id: str, interrupt: Interrupt) -> PlanAnswer:
        """Show the plan to the person; on a yes the session goes on in the mode that they chose."""
        answer = propose(self._approvals, plan, tool_call_id, interrupt)
        if answer.mode is not None and self._callbacks.mode_callback is not None:
            self._callbacks.mode_callback(answer.mode)
        return answer
