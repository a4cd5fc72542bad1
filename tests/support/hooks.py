"""Agents with hooks: functions of the test, or commands of a settings file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.agent import AIAgent
from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.hooks.hook import Hook
from agent_core.hooks.registry import HookSessions
from agent_core.hooks.session_hooks import HookedSession, HookSet, SessionHooks
from agent_core.loop import AgentSettings
from agent_core.model_request.caller import Patience
from agent_core.plugins.plugin import hook_of
from agent_core.plugins.plugins import Plugins
from agent_core.providers.base import Provider
from agent_core.workspace import Workspace, local_workspace
from tests.support.agents import TEST_TOOLS
from tests.support.scripted_provider import Script, ScriptedProvider
from tools.approval.gate import Approver
from tools.approval.policy import Mode
from tools.environments.guardian import Guardian

Callback = Callable[..., Any]


def hook(event: str, callback: Callback, *, seconds: float = 5.0, **options: Any) -> Hook:
    """A hook that a plugin's function is."""
    made = hook_of(event, callback, "The hook of the test", seconds, **options)
    assert made is not None, event
    return made


def into(found: list[Any], fact: str) -> Callback:
    """A function for a hook that puts one fact of each event into `found`."""
    return lambda **facts: found.append(facts[fact])


def session_hooks(*hooks: Hook, cwd: Path = Path("/"), **limits: Any) -> SessionHooks:
    """Hooks of a session, ready to be asked at its first turn."""
    return SessionHooks(HookedSession("session-1", cwd), lambda: HookSet(hooks, **limits))


def of_home(home: Path, cwd: Path, guardian: Guardian | None = None) -> SessionHooks:
    """The hooks that the home's settings name, for a session in `cwd`."""
    config = ConfigSource(Home(home))
    sessions = HookSessions(config, Plugins(config, packages=lambda: iter(())), guardian or Guardian())
    return sessions.of("session-1", cwd, lambda: "default")


def hooked_agent(
    cwd: Path,
    *scripts: Script,
    hooks: SessionHooks,
    mode: Mode = "dont_ask",
    approver: Approver | None = None,
    provider: Provider | None = None,
    **options: Any,
) -> AIAgent:
    """An agent in `cwd` whose model plays `scripts` (or is `provider`), with these hooks."""
    workspace = with_hooks(local_workspace(cwd, guardian=Guardian(), mode=mode, approver=approver), hooks)
    options.setdefault("enabled_toolsets", ("hermes-acp", TEST_TOOLS))
    return AIAgent(
        "test-model",
        provider or ScriptedProvider(*scripts),
        workspace=workspace,
        settings=AgentSettings(patience=Patience(attempts=1)),
        **options,
    )


def with_hooks(workspace: Workspace, hooks: SessionHooks) -> Workspace:
    """The workspace with these hooks, as the factory joins them."""
    workspace.approvals.advice = hooks.calls.permission
    return replace(workspace, hooks=hooks)


def script(folder: Path, name: str, source: str) -> str:
    """A Python program that a hook's command is: it has what it was told as `told`."""
    file = folder / f"{name}.py"
    file.write_text(f"import json, sys\ntold = json.load(sys.stdin)\n{source}\n", encoding="utf-8")
    return f"{sys.executable} -S {file}"


def entry(command: str, **options: Any) -> Mapping[str, Any]:
    """A hook in the settings."""
    return {"command": command, **options}
