"""Hooks that are commands of the user's: how they are run, what they are told and what they say."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import yaml
from pydantic import ValidationError

from agent_core.hooks.hook import (
    LONGEST_TEXT,
    NOTHING,
    Hook,
    HookCall,
    HookFailed,
    Verdict,
    in_background,
    verdict_of,
)
from agent_core.settings.hooks import COMMUNITY, CommandHookPart, HookName, HooksPart, community_tool, event_of
from tools.environments.child_env import child_environment
from tools.environments.command_watch import open_exit_watch
from tools.environments.guardian import GO, Guardian, kill_marked, signal_group, start_waiting
from tools.environments.program_finder import PROGRAMS
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL, absolute
from tools.ports import Interrupt

# The process: in a group of its own, told on its input, heard on its outputs, gone at the end.

_READ_BYTES = 64 * 1024
_MOST_BYTES = 1024 * 1024
_REST_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. `exit_code` is negative where a signal ended it."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(
    command: str,
    told: bytes,
    *,
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    interrupt: Interrupt | None,
    guardian: Guardian,
) -> Ran:
    """Run `command` with a shell. What it leaves running is ended with it.

    Args:
        told: what it gets on its standard input.

    Raises:
        HookFailed: it could not be started, or has not ended after `seconds`.
        ToolInterrupted: the turn is over.
    """
    try:
        process, mark = start_waiting(("/bin/sh", "-c", command), guardian, cwd=cwd, env=env)
    except (OSError, ValueError) as problem:
        raise HookFailed(f"could not be started in {cwd}: {problem}") from problem
    heard = bytearray(), bytearray()
    talking = [
        threading.Thread(target=_write, args=(process.stdin, GO + told), daemon=True),
        threading.Thread(target=_read, args=(process.stdout, heard[0]), daemon=True),
        threading.Thread(target=_read, args=(process.stderr, heard[1]), daemon=True),
    ]

    def kill() -> None:
        signal_group(process.pid, SIGKILL)

    forget = interrupt.on_cancel(kill) if interrupt is not None else lambda: None
    watch = open_exit_watch(process)
    try:
        for thread in talking:
            thread.start()
        with selectors.DefaultSelector() as selector:
            selector.register(watch, selectors.EVENT_READ)
            ended = bool(selector.select(seconds))
    finally:
        forget()
        kill()
        os.close(watch)
        exit_code = process.wait()
        guardian.discard(process.pid)
        # What has left the group, and may keep the pipes open; nobody waits for the look through all processes.
        in_background(lambda: kill_marked(mark), "what a hook has left running")
    for thread in talking:
        thread.join(_REST_SECONDS)
    if interrupt is not None and interrupt.is_set():
        raise ToolInterrupted
    if not ended:
        raise HookFailed(f"has not ended within {seconds:g} seconds, and was ended")
    out, err = (bytes(each).decode("utf-8", "replace") for each in heard)
    return Ran(exit_code, out, err)


def _write(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:  # it need not read
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(pipe.fileno(), rest) :]


def _read(pipe: IO[bytes], into: bytearray) -> None:
    """Read to the end; more than a megabyte is left out."""
    with contextlib.suppress(OSError), pipe:
        while data := os.read(pipe.fileno(), _READ_BYTES):
            into += data[: max(0, _MOST_BYTES - len(into))]


# What the command is told, in upstream's form or in the community's, and what it says.

_BLOCKED = 2
_WORDS = frozenset({"prompt", "session_start"})
_NOT_FOUND = (126, 127)
_MODES = {"accept_edits": "acceptEdits", "dont_ask": "bypassPermissions"}
_SOURCES = {"new": "startup"}
_PATH, _THEIR_PATH = "path", "file_path"


def to_json(written: str, call: HookCall) -> bytes:
    """What a command is told of `call`, in the form that belongs to the event's name as it was written."""
    told = _community(written, call) if written in COMMUNITY else _upstream(written, call)
    return json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace")


def from_run(written: str, call: HookCall, ran: Ran) -> Verdict:
    """What a command wants that has ended.

    Raises:
        HookFailed: it broke, or what it says means nothing.
    """
    said, complaint = _said(call.event, ran.stdout), ran.stderr.strip()[:LONGEST_TEXT]
    if ran.exit_code == _BLOCKED:
        reason = ""
        with contextlib.suppress(HookFailed):  # it is a no, whatever else it says
            reason = verdict_of(call.event, _parsed(said)).refusal if said.startswith("{") else ""
        return _blocked(call.event, reason or complaint or "it does not say why")
    if ran.exit_code != 0:
        raise HookFailed(_broke(ran.exit_code, complaint))
    if not said.startswith("{"):
        # Plain words count only where they can be nothing but words for the model.
        return verdict_of(call.event, said) if call.event in _WORDS else NOTHING
    verdict = verdict_of(call.event, _parsed(said))
    if verdict.arguments is not None and written in COMMUNITY:
        verdict = replace(verdict, arguments=_our_arguments(call, verdict.arguments))
    return verdict


def _said(event: HookName, output: str) -> str:
    """What a command says: its last line, where that is an object and something of no meaning stands before it."""
    said = output.strip().removeprefix("\ufeff")
    last = said.rpartition("\n")[2]
    if event in _WORDS or said.startswith("{") or not (last.startswith("{") and last.endswith("}")):
        return said
    with contextlib.suppress(HookFailed):
        _parsed(last)
        return last
    return said


def _community(written: str, call: HookCall) -> dict[str, Any]:
    facts = call.facts
    told: dict[str, Any] = {
        "session_id": call.session_id,
        "transcript_path": call.transcript(),
        "cwd": str(call.cwd),
        "permission_mode": _MODES.get(call.mode, call.mode or "default"),
        "hook_event_name": written,
    }
    if "tool_name" in facts:
        told["tool_name"] = community_tool(str(facts["tool_name"]))
        told["tool_input"] = _their_arguments(call)
        told["tool_use_id"] = facts.get("tool_call_id", "")
    match call.event:
        case "post_tool_call":
            told |= {"tool_response": facts["response"], "duration_ms": facts["duration_ms"]}
        case "permission":
            told |= {"message": facts["action"], "reason": facts["reason"]}
        case "stop" | "subagent_stop":
            told |= {
                "stop_hook_active": facts["stop_hook_active"],
                "last_assistant_message": facts["answer"],
            }
        case "session_start":
            told |= {"source": _SOURCES.get(facts["source"], facts["source"]), "model": facts["model"]}
        case "pre_compact":
            told |= {"trigger": facts["trigger"], "custom_instructions": facts["topic"]}
        case "prompt" | "session_end" | "notification":
            told |= facts
        case _:
            pass
    return told


def _upstream(written: str, call: HookCall) -> dict[str, Any]:
    facts = dict(call.facts)
    if call.event == "prompt":
        facts["user_message"] = facts["prompt"]
    return {
        "hook_event_name": written,
        "tool_name": facts.pop("tool_name", None),
        "tool_input": facts.pop("args", None),
        "session_id": call.session_id,
        "cwd": str(call.cwd),
        "extra": facts,
    }


def _their_arguments(call: HookCall) -> dict[str, Any]:
    arguments = dict(call.facts["args"])
    path = arguments.get(_PATH)
    if isinstance(path, str):
        arguments[_THEIR_PATH] = absolute(path, call.cwd)
    return arguments


def _our_arguments(call: HookCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a hook changed, without the name that only the community has for one of them."""
    told = _their_arguments(call)
    arguments = {name: value for name, value in given.items() if name != _THEIR_PATH}
    if _THEIR_PATH in given and given[_THEIR_PATH] != told.get(_THEIR_PATH):
        arguments[_PATH] = given[_THEIR_PATH]
    return arguments


def _blocked(event: HookName, reason: str) -> Verdict:
    match event:
        case "permission":
            return Verdict(permission="deny", reason=reason)
        case "session_end" | "notification" | "pre_compact" | "post_model_call" | "session_start":
            return Verdict(note=reason)
        case _:
            return Verdict(refusal=reason)


def _broke(exit_code: int, complaint: str) -> str:
    why = f": {complaint[:400]}" if complaint else ""
    if exit_code < 0:
        return f"was ended by signal {-exit_code}{why}"
    if exit_code in _NOT_FOUND:
        return f"could not be run (status {exit_code}){why}"
    return f"ended with status {exit_code}{why}"


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise HookFailed(f"answered with what is no JSON ({problem})") from problem
    if not isinstance(value, Mapping):
        raise HookFailed("answered with JSON that is no object")
    return value


# The hooks, from the settings.

_SHOWN = 60
# They come before the user has asked for anything to be done in the workspace.
_OPENING = frozenset({"session_start", "prompt"})


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """What all commands of hooks have in common.

    Attributes:
        variables: what their environment is made from: this process's, without what the settings take keys from.
        extra: variables that they get besides.
    """

    guardian: Guardian
    variables: Callable[[], Mapping[str, str]]
    extra: Mapping[str, str]


def command_hooks(parts: Sequence[CommandHookPart], where: str, runner: CommandRunner) -> Iterator[Hook]:
    """The hooks that the settings in `where` name."""
    for part in parts:
        event = event_of(part.event)
        if event is None:
            continue
        refuses = event == "pre_tool_call" if part.refuses is None else part.refuses
        yield Hook(
            event=event,
            source=f"The hook `{_short(part.command)}` ({where})",
            run=_Command(part, runner).run,
            matcher=part.matcher,
            in_background=part.in_background,
            refuses_when_failing=refuses and not part.in_background,
        )


@dataclass(frozen=True, slots=True)
class _Command:
    part: CommandHookPart
    runner: CommandRunner

    def run(self, call: HookCall, interrupt: Interrupt | None) -> Verdict:
        """Run it, and understand what it says.

        Raises:
            HookFailed, ToolInterrupted: as `run_command` and `from_run` do.
        """
        directory = str(call.cwd)
        own = {
            "PWD": directory,
            "HERMES_PROJECT_DIR": directory,
            # By this name the community's commands find their files.
            "CLAUDE_PROJECT_DIR": directory,
            "HERMES_SESSION_ID": call.session_id,
            "HERMES_HOOK_EVENT": call.event,
        }
        ran = run_command(
            self.part.command,
            to_json(self.part.event, call),
            # A session on another machine has a directory that may not be here.
            cwd=call.cwd if call.cwd.is_dir() else Path.home(),
            env=_with_path(child_environment(self.runner.variables(), {**own, **self.runner.extra}), call.event),
            seconds=self.part.timeout,
            interrupt=interrupt,
            guardian=self.runner.guardian,
        )
        return from_run(self.part.event, call, ran)


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _with_path(variables: dict[str, str], event: str) -> dict[str, str]:
    """With a PATH on which what a workspace brings comes last; nothing of it where a session only opens."""
    trusted, whole = PROGRAMS.search_path(variables.get("PATH")), variables.get("PATH", "")
    return {**variables, "PATH": trusted if event in _OPENING or not whole else f"{trusted}:{whole}"}


# The command hooks that a project brings, from the copy of them that the user has trusted.

FILE_NAME = "hooks.yaml"


def read_hooks(folder: Path) -> HooksPart:
    """The hooks in `folder`. They may allow nothing: what they say of that is passed over.

    Raises:
        HookFailed: they cannot be read.
    """
    try:
        value = yaml.safe_load((folder / FILE_NAME).read_text(encoding="utf-8"))
        return HooksPart.model_validate(value or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as problem:
        raise HookFailed(f"{FILE_NAME} cannot be used: {' '.join(str(problem).split())[:300]}") from problem
