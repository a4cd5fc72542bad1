"""Makes the agents of one process: settings and model connections are shared, everything else is a session's own."""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.activity import RunReport
from agent_core.agent import AIAgent
from agent_core.background_tasks import News
from agent_core.compaction.compactor import engine_of
from agent_core.compaction.engine import CompressionRequest
from agent_core.config import ConfigSource, Configuration, teach
from agent_core.delegation.settings import DelegationSettings
from agent_core.delegation.worktree import tidy_copies
from agent_core.errors import AuthRequired, HermesError, SettingsError, StoreError, UnknownSession
from agent_core.home import Home, user_cache
from agent_core.loop import AgentSettings, Target
from agent_core.memory.session_memory import Memories, SessionMemory
from agent_core.memory.store import MemoryStore
from agent_core.model_request.fallback_chain import Route, Routes
from agent_core.model_request.side_models import AuxiliaryClient, look_at, summarise
from agent_core.notifications import Backgrounds
from agent_core.plugins.plugins import Plugins
from agent_core.prompt.layers import PromptSettings
from agent_core.providers.available_models import command_line_decides, resolve_chosen
from agent_core.providers.choice import ModelChoice, ServedWindow
from agent_core.providers.lessons import Lessons
from agent_core.providers.resolve import effort_in_use, resolve_model
from agent_core.providers.sign_out import SignedOut, sign_out
from agent_core.services import SessionServices
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import SessionRecord
from agent_core.settings.model import Settings
from agent_core.settings.options import SessionChoices
from agent_core.settings.project import context_file_settings
from agent_core.settings.sections import CompressionPart
from agent_core.telemetry.exporter import Traces
from agent_core.workspace import Workspace
from agent_core.workspace_factory import Workspaces, find_sandbox, load_sandbox
from tools.approval.commands import load_classifier
from tools.ports import Interrupt
from tools.redaction import Redactor, redact
from tools.registry import Toolbox, registry
from tools.result import ResultImage
from tools.toolsets import get_tool_definitions, load_tools
from tools.untrusted.scanner import scan

if TYPE_CHECKING:
    from agent_core.batch.trajectories import Runs, TrajectoryLog
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.mcp.specs import ServerSpec


def as_news(services: SessionServices) -> Callable[[str, str], None]:
    """A listener that puts what a background hook says into the session's news: whose it is, and its text."""

    def tell(source: str, text: str) -> None:
        services.news.put(News(source, "told", f"{source} has something to say", f"{source} says:\n{text}"))

    return tell


def load_for_prompt(*, for_stored: bool) -> None:
    """Load what the first prompt needs, but for its model.

    Args:
        for_stored: the session is a stored one, which has its system prompt: what builds one is not needed yet.
    """
    get_tool_definitions(quiet=True)
    engine_of(CompressionPart(), "", redact)
    if not for_stored:
        scan("", "context")
        find_sandbox()


def load_for_calls() -> None:
    """Load what the first calls need, and what a stored session's first prompt may need all the same."""
    scan("", "context")
    load_classifier()
    load_sandbox()


def session_model(config: Configuration, chosen: str, used: str, on_note: Callable[[str], None]) -> ModelChoice:
    """Which model a session asks: the one that was chosen for it, or used in it, or that the settings name.

    Args:
        chosen, used: as provider:model; '' for none.
        on_note: is told where the session's own model cannot be used any more, and another answers.

    Raises:
        AuthRequired, SettingsError: no usable model.
    """
    own = chosen or ("" if command_line_decides(config) else used)
    if not own:
        return resolve_model(config)
    try:
        return resolve_chosen(config, own)
    except (AuthRequired, SettingsError) as problem:
        choice = resolve_model(config)
        on_note(f"This session's model, {own}, cannot be used now ({problem.public}) {choice.name} answers.")
        return choice


def copies_directory(variables: Mapping[str, str]) -> Path:
    """Where copies of work trees are made: in the user's cache, since no command sees the home of this program."""
    return user_cache(variables) / "copies"


def tidy_left_over() -> None:
    """Remove the copies that a crash has left. Blocks for a moment where there are some."""
    tidy_copies(copies_directory(os.environ))


def delegation_settings(
    config: Configuration, workspaces: Workspaces, route_of: Callable[[ModelChoice], Route]
) -> DelegationSettings:
    """The settings of a session's own agent.

    Args:
        workspaces: who makes those at copies.
        route_of: the models that are asked in turn, a given one first.
    """
    part = config.settings.delegation

    def target_of(name: str) -> Target:
        choice = resolve_chosen(config, name)
        effort = part.reasoning_effort or config.settings.agent.reasoning_effort
        return Target(route_of(choice), effort_in_use(None, effort, choice))

    return DelegationSettings(
        part, target_of=target_of, workspace_at=workspaces.at_copy, copies=copies_directory(config.environ)
    )


log = logging.getLogger(__name__)

# No server keeps a conversation's beginning for longer: a prompt that is built anew then costs nothing more.
_CACHED_SECONDS = 24 * 3600.0


class AgentFactory:
    """The composition root of the agent side; safe to use from several threads."""

    def __init__(self, config: ConfigSource, sessions: SessionLibrary | None = None) -> None:
        self._config = config
        self._routes = Routes(config.home.root)
        self.signed_out = SignedOut(config.home)
        self._lock = threading.Lock()
        self._auxiliary = AuxiliaryClient(
            config, self._routes.member, self._routes.provider, windows=self._routes.windows
        )
        self._ephemeral: str | None = None
        self._trajectories: TrajectoryLog | None = None
        self._run_report = RunReport(config.home.running)
        self._traces = Traces(config.load)
        self._memories = Memories(config.home.root)
        self.sessions = sessions or SessionLibrary(config.home)
        self.background = Backgrounds(self.sessions.store)
        self.plugins = Plugins(config)
        self._workspaces = Workspaces(config, self.sessions, self._auxiliary, self.plugins)
        registry.add_loader(self.plugins.load)

    def workspace(
        self, cwd: Path, extra_roots: Sequence[Path], choices: SessionChoices, session_id: str = ""
    ) -> Workspace:
        """Where a session works: this machine's disk and shell, behind the user's rules; nobody is asked yet.

        Args:
            session_id: whose saved outputs may be read without a question; '' for none.

        Raises:
            SettingsError: the settings cannot be read.
        """
        return self._workspaces.make(cwd, extra_roots, choices, session_id)

    def servers(self, specs: Sequence[ServerSpec], roots: Sequence[Path]) -> SessionServers | None:
        """The MCP servers of a session in `roots`, the settings' too, not started yet; None where it has none."""
        return self._workspaces.servers(specs, roots)

    def settings(self) -> Settings:
        """The user's settings as they are now.

        Raises:
            SettingsError: they cannot be read.
        """
        return self._config.load().settings

    def memory_files(self) -> MemoryStore:
        """What is remembered over sessions, within the limits of the settings, if they can be read."""
        try:
            limits = self.settings().memory.limits
        except SettingsError:
            limits = None
        return MemoryStore(self.home.root, limits)

    def redactor(self) -> Redactor:
        """Takes secrets out of text, also those of the settings, if they can be read."""
        try:
            config = self._config.load()
        except SettingsError:  # shapes are known without them
            return Redactor()
        redactor = Redactor()
        teach(redactor.learn, config)
        return redactor

    def services(self, session_id: str, workspace: Workspace, call_ids: set[str] | None = None) -> SessionServices:
        """What a session keeps between its turns, as its last process left it, if that can be read; what goes on
        behind it in `workspace` is followed from now on.

        Args:
            call_ids: ids that no further call may have, which gets those of further calls.

        Raises:
            SettingsError: the settings cannot be read, or name a context engine that there is not.
        """
        load_tools()  # a plugin may bring the memory, or who compresses
        services = SessionServices(lambda: self.sessions.recall, self._look)
        if call_ids is not None:
            services.call_ids = call_ids
        services.tracing = self._traces.of_session()
        behind = self.background.of(session_id)
        services.news, services.tasks = behind.news, behind.tasks
        self.background.follow(session_id, workspace.processes)
        services.activity.on_begin = functools.partial(self._run_report.follow, session_id, str(workspace.client_cwd))
        services.skills = workspace.skills
        services.memory = self._memory(session_id)
        self._workspaces.hooks.listen(session_id, as_news(services))
        services.before_compression = functools.partial(self._before_compression, session_id, services.memory)
        settings = self.settings().compression
        redactor = functools.cache(self.redactor)
        services.engine = engine_of(settings, session_id, lambda text: redactor()(text))  # noqa: PLW0108 - made once needed
        services.by_itself = settings.enabled
        services.summarise = lambda messages, token: summarise(self._auxiliary, messages, token)
        services.summary_window = lambda: self._auxiliary.window("compression")
        try:
            kept = self.sessions.store.kept(session_id)
            used = self.sessions.archive.get(session_id).updated_at
        except UnknownSession:
            return services
        except StoreError:
            # The turn goes on in memory and says so, or fails because its messages cannot be read either.
            log.warning("what session %s has kept cannot be read", session_id, exc_info=True)
            return services
        if kept is not None:
            services.restore(kept, same_prompt=time.time() - used < _CACHED_SECONDS)
        return services

    def _before_compression(self, session_id: str, memory: SessionMemory | None, request: CompressionRequest) -> None:
        if memory is not None:
            memory.flush()
        by_person = request.reason == "asked"
        self._workspaces.hooks.before_compression(session_id, by_person=by_person, topic=request.topic)

    def _memory(self, session_id: str) -> SessionMemory | None:
        try:
            settings = self._config.load().settings.memory
        except SettingsError:  # it is told where the agent is made
            return None
        return self._memories.of(session_id, settings, self.plugins.memories)

    def let_go(self, session_id: str) -> None:
        """A session is closed or unloaded: its hooks are told, its memory provider commits. Blocks for seconds where
        that hangs.
        """
        self._workspaces.hooks.end(session_id)
        self._memories.end(session_id)

    def _look(self, image: ResultImage, question: str, interrupt: Interrupt) -> str:
        return look_at(self._auxiliary, image, question, interrupt)

    def agent(
        self,
        session_id: str,
        workspace: Workspace,
        services: SessionServices,
        choices: SessionChoices | None = None,
        on_note: Callable[[str], None] = lambda _: None,
        *,
        trajectories: Runs | None = None,
    ) -> AIAgent:
        """The agent of a session, with the model that was chosen for it or used last, or that the settings choose.

        Args:
            services: of the session; they learn which model it has.
            on_note: is told when the session's own model cannot be used any more.
            trajectories: who takes its turns when they are over; None leaves it to the settings.

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        config, choices = self._config.load(), choices or SessionChoices()
        route = self._routes.route(config, session_model(config, choices.model, services.model, on_note))
        choice = route.members[0].choice
        load_tools()
        enabled, disabled = self.toolsets()
        workspace_tools = workspace.tools
        if choice.name == choices.model:
            services.model = choice.name
        if services.memory is not None and (added := services.memory.tools()):
            workspace = replace(workspace, tools=Toolbox(lambda: (*workspace_tools.extra(), *added)))
        return AIAgent(
            choice.model,
            self._routes.provider(choice),
            route=route,
            reasoning=effort_in_use(choices.effort, config.settings.agent.reasoning_effort, choice),
            settings=AgentSettings.of(config.settings),
            max_iterations=config.settings.agent.max_turns,
            delegation=delegation_settings(
                config, self._workspaces, lambda choice: self._routes.route(config, choice)
            ),
            save_trajectories=trajectories or self._trajectory_log(config.settings),
            session_store=self.sessions.store,
            session_id=session_id,
            workspace=workspace,
            services=services,
            enabled_toolsets=enabled,
            disabled_toolsets=disabled,
            prompt=PromptSettings(
                self._config.home.root, context_file_settings(config, workspace.roots), self._ephemeral_prompt(config)
            ),
        )

    def _trajectory_log(self, settings: Settings) -> TrajectoryLog | bool:
        if not settings.agent.save_trajectories:
            return False
        with self._lock:
            if self._trajectories is None:
                from agent_core.batch.trajectories import TrajectoryLog  # noqa: PLC0415 - few homes keep their turns

                self._trajectories = TrajectoryLog(self._config.home.trajectories, self.redactor)
            return self._trajectories

    def _ephemeral_prompt(self, config: Configuration) -> str:
        """What goes behind the prompts; as it was first read, so that a session's requests keep their beginning."""
        with self._lock:
            if self._ephemeral is None:
                own = config.environ.get("HERMES_EPHEMERAL_SYSTEM_PROMPT", "")
                self._ephemeral = (own or config.settings.agent.ephemeral_system_prompt).strip()
            return self._ephemeral

    def toolsets(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Which toolsets sessions have, and which they do not have all the same.

        Raises:
            SettingsError: the settings cannot be read.
        """
        settings = self._config.load().settings
        listed = settings.platform_toolsets.get("acp")
        disabled = (*settings.agent.disabled_toolsets, *(() if settings.memory.has_files else ("memory",)))
        # Whoever lists toolsets still wants the servers that the editor gives a session.
        enabled = (*(listed or ()), "mcp") if listed is not None else ("hermes-acp",)
        return enabled, disabled if settings.skills.enabled else (*disabled, "skills")

    def choices(self, record: SessionRecord) -> SessionChoices:
        """What was chosen for a stored session. A model that the command line names goes before the one in there.

        Raises:
            SettingsError: the settings cannot be read.
        """
        choices = SessionChoices.from_stored(record.mode, record.options)
        return replace(choices, model="") if command_line_decides(self._config.load()) else choices

    def switch(self, agent: AIAgent, choices: SessionChoices, used: str) -> None:
        """Let a session's agent ask the model that was chosen, with the effort that was, from its next request on.

        Args:
            used: the provider:model that it asks now; it stays, where none is chosen.

        Raises:
            AuthRequired, SettingsError: no usable model; nothing was changed.
        """
        config = self._config.load()
        choice = session_model(config, choices.model, used, lambda _: None)
        effort = effort_in_use(choices.effort, config.settings.agent.reasoning_effort, choice)
        agent.switch(self._routes.route(config, choice), effort)

    def auxiliary(self) -> AuxiliaryClient:
        """Who asks models for side tasks: one for all sessions, over the connections of their agents."""
        return self._auxiliary

    @property
    def home(self) -> Home:
        """Where settings and sessions are."""
        return self._config.home

    def model(self, chosen: str, used: str) -> ModelChoice:
        """The model that a session gets which was chosen for it or used in it (provider:model, '' for none).

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        return self._routes.windows.fitted(session_model(self._config.load(), chosen, used, lambda _: None))

    def served_window(self, chosen: str, used: str) -> ServedWindow | None:
        """What the server of that model, as for `model`, has said of its window, if it was asked.

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        return self._routes.windows.of(session_model(self._config.load(), chosen, used, lambda _: None))

    @property
    def lessons(self) -> Lessons:
        """What was learned of models' servers."""
        return self._routes.lessons

    def check_model(self) -> ModelChoice:
        """The model that sessions get.

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        return resolve_model(self._config.load())

    def sign_in(self) -> None:
        """Take back a sign-out, where there is a model to ask.

        Raises:
            AuthRequired, SettingsError: no usable model. SignOutFailed: the home cannot be written to.
        """
        self.check_model()
        self.signed_out.clear()

    def sign_out(self) -> None:
        """Open no more sessions until somebody signs in, and forget the sign-in that is stored for the provider.

        Raises:
            SignOutFailed, SharedFileError: it could not be stored.
        """
        sign_out(self.signed_out, self._config.load, self._routes.tokens)

    def warm(self, *, for_stored: bool = False) -> None:
        """Load what the first prompt needs; a model that cannot be used is no error here.

        Args:
            for_stored: the session is a stored one, for which less is needed.
        """
        load_for_prompt(for_stored=for_stored)
        try:
            choice = self.check_model()
            self._routes.windows.begin(choice)
            self._routes.provider(choice).warm()
        except HermesError:
            log.info("the model is not ready", exc_info=True)

    def warm_calls(self) -> None:
        """Load what the first calls need, and remove what killed processes have left."""
        self.sessions.warm()
        load_for_calls()
        tidy_left_over()

    def close(self) -> None:
        """End every process and connection."""
        self.background.end_all("the agent ended")
        self._memories.end_all()
        self._workspaces.close()
        self._run_report.close()
        if self._trajectories is not None:
            self._trajectories.close()
        self._routes.close()
        self.sessions.close()
        self._traces.close()  # others may wait for a collector; nothing of ours waits behind it
