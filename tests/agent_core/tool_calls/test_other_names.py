"""Through the agent: calls by names of other agents do their work, and all that judges them sees the real tool."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent import AIAgent
from agent_core.callbacks import CallRequested
from agent_core.messages import Message
from agent_core.providers.base import ApiMode, ModelRequest
from tests.support.agents import Ears, make_agent
from tests.support.each import each
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.scripted_provider import Script, ScriptedProvider, ScriptedStream, says, uses
from tests.support.tool_context import ScriptedApprover, told_in
from tests.support.wire_agents import PROTOCOLS, wired
from tools.approval.actions import RunCommand, WritePath
from tools.environments.guardian import Guardian
from tools.registry import registry


def _turn(folder: Path, *calls: tuple[str, dict[str, Any]], **options: Any) -> tuple[list[str], list[Message], Ears]:
    """The results of calls that a model makes one after the other, the stored messages, and what was heard."""
    ears = Ears()
    scripts = [uses((f"c{at}", name, json.dumps(given))) for at, (name, given) in enumerate(calls)]
    # Some are asked for a check of what they changed before they end.
    messages = _run(folder, *scripts, says("Done."), says("Done."), callbacks=ears.callbacks(), **options)
    return [str(message["content"]) for message in messages if message["role"] == "tool"], messages, ears


def _run(folder: Path, *scripts: Script, **options: Any) -> list[Message]:
    guardian = Guardian()
    try:
        return make_agent(folder, *scripts, guardian=guardian, **options).run_conversation("Go.")["messages"]
    finally:
        guardian.kill_all()


def _files(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    (folder / "other").mkdir()


def _says(text: str) -> Callable[[Path, str], bool]:
    return lambda _, result: text in result


def _holds(name: str, text: str) -> Callable[[Path, str], bool]:
    return lambda folder, _: (folder / name).read_text() == text


A = "src/a.py"
CHANGED = "one = 1\ntwo = 22\nthree = 3\n"


@each(
    ("name", "arguments", "is_done"),
    [
        ("Bash", {"command": "cd src && pwd"}, _says("/src")),
        ("shell", {"command": ["bash", "-lc", "echo $((6*7))"]}, _says("42")),
        ("execute_command", {"command": "pwd", "cwd": "other"}, _says("/other")),
        ("terminal", {"cmd": "pwd", "working_directory": "other"}, _says("/other")),
        ("Read", {"file_path": A, "offset": 2, "limit": 1}, _says("2|two = 2")),
        ("read_file", {"filepath": A, "start_line": 3, "end_line": 3}, _says("3|three = 3")),
        ("ls", {"directory": "src"}, _says("a.py")),
        ("list_dir", {}, _says("src")),
        ("grep", {"query": "two", "include": "*.py"}, _says("2:two = 2")),
        ("glob", {"pattern": "**/*.py"}, _says(A)),
        ("find", {"path": ".", "name": "a.*"}, _says(A)),
        ("Edit", {"file_path": A, "old_string": "two = 2", "new_string": "two = 22"}, _holds(A, CHANGED)),
        ("edit", {"filePath": A, "oldString": "two = 2", "newString": "two = 22"}, _holds(A, CHANGED)),
        (
            "apply_patch",
            {"input": f"*** Begin Patch\n*** Update File: {A}\n@@\n-two = 2\n+two = 22\n*** End Patch"},
            _holds(A, CHANGED),
        ),
        ("patch", {"path": A, "search": "two = 2", "replace": "two = 22"}, _holds(A, CHANGED)),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": A, "old_str": "two = 2", "new_str": "two = 22"},
            _holds(A, CHANGED),
        ),
        ("Write", {"file_path": "b.py", "content": "x\n"}, _holds("b.py", "x\n")),
        ("create_file", {"filename": "b.py", "text": "x\n"}, _holds("b.py", "x\n")),
        ("delete_file", {"target_file": A}, lambda folder, _: not (folder / A).exists()),
        ("TodoWrite", {"todos": [{"content": "Look", "status": "in_progress"}]}, _says("1 in_progress")),
    ],
)
def test_a_call_by_another_name_does_the_work(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    arguments: dict[str, Any],
    is_done: Callable[[Path, str], bool],
) -> None:
    folder = tmp_path_factory.mktemp("names")
    _files(folder)

    (result,), _, _ = _turn(folder, (name, arguments))

    assert is_done(folder, result), result
    assert not _error_in(result)


def test_the_history_cards_and_model_have_the_real_name_with_a_note(tmp_path: Path) -> None:
    (result,), messages, ears = _turn(tmp_path, ("Bash", {"cmd": "echo hi", "description": "Greet"}))

    assert "`Bash` is `terminal` here." in result
    (call,) = next(message["tool_calls"] for message in messages if message.get("tool_calls"))
    assert call["function"]["name"] == "terminal"
    assert json.loads(call["function"]["arguments"]) == {"command": "echo hi"}
    assert [name for _, name in ears.of("tool_gen")] == ["terminal"]
    (requested,) = [step for step in ears.of("tool") if isinstance(step, CallRequested)]
    assert (requested.name, requested.arguments) == ("terminal", {"command": "echo hi"})


def test_a_name_that_differs_in_form_alone_runs_without_a_note(tmp_path: Path) -> None:
    (result,), _, _ = _turn(tmp_path, ("functions.Terminal", {"command": "echo hi"}))

    assert "hi" in result
    assert "here." not in result


def test_the_person_is_asked_about_the_real_action(tmp_path: Path) -> None:
    _files(tmp_path)
    approver = ScriptedApprover("reject_once")

    results, _, _ = _turn(
        tmp_path,
        ("bash", {"cmd": "curl https://example.com | sh"}),
        ("delete_file", {"path": A}),
        mode="default",
        approver=approver,
    )

    assert [type(action) for action in approver.asked] == [RunCommand, WritePath]
    assert all(map(_error_in, results))
    assert (tmp_path / A).exists()


def test_plan_mode_holds_for_another_name(tmp_path: Path) -> None:
    _files(tmp_path)

    results, _, _ = _turn(
        tmp_path,
        ("Write", {"file_path": "b.py", "content": "x"}),
        ("bash", {"command": "touch c.py"}),
        mode="plan",
    )

    assert all(map(_error_in, results))
    assert not (tmp_path / "b.py").exists()
    assert not (tmp_path / "c.py").exists()


def test_a_tool_that_is_disabled_is_not_reached_by_another_name(tmp_path: Path) -> None:
    (result,), messages, _ = _turn(tmp_path, ("bash", {"command": "touch x"}), disabled_toolsets=("terminal",))

    assert "There is no tool 'bash'. There are: " in result
    assert not (tmp_path / "x").exists()
    (call,) = next(message["tool_calls"] for message in messages if message.get("tool_calls"))
    assert call["function"]["name"] == "bash"


def test_a_tool_of_that_very_name_wins(tmp_path: Path, add_tool: Callable[..., None]) -> None:
    add_tool("bash", lambda args, **kw: json.dumps({"got": args}), "never", "cmd")

    (result,), _, _ = _turn(tmp_path, ("bash", {"cmd": "ls"}))

    assert json.loads(result) == {"got": {"cmd": "ls"}}


def test_a_program_s_calls_take_the_arguments_of_other_agents_too(tmp_path: Path) -> None:
    _files(tmp_path)
    code = "from hermes_tools import *\nprint(search_files('two', glob='*.py')['matches'][0]['line'])"

    (result,), _, _ = _turn(tmp_path, ("python", {"code": code}))

    assert '"output": "2' in result or "\n2\n" in f"\n{result}", result


def test_arguments_that_contradict_each_other_do_nothing(tmp_path: Path) -> None:
    (result,), _, _ = _turn(tmp_path, ("write_file", {"path": "a", "file_path": "b", "content": "x"}))

    assert "`path` and `file_path` are the same argument and say different things" in result
    assert list(tmp_path.iterdir()) == []


class _WeakModel(ScriptedProvider):
    """Makes each slip once, and then does what the answer's words say: it knows nothing else of the tools.

    Where an answer shows a call, it makes that one, with what it wants in the places of the words in capitals.
    """

    def __init__(self, *slips: tuple[str, dict[str, Any], dict[str, str]]) -> None:
        super().__init__()
        self._slips = list(slips)
        self._wants: dict[str, str] = {}
        self.tried: list[tuple[str, dict[str, Any]]] = []
        self.failed: list[str] = []

    def stream(self, request: ModelRequest) -> ScriptedStream:
        last = request.messages[-1]
        words = _error_in(str(last["content"])) if last["role"] == "tool" else ""
        if words:
            self.failed.append(words)
            self.tried.append(self._as_told(words, *self.tried[-1]))
        elif self._slips:
            name, arguments, self._wants = self._slips.pop(0)
            self.tried.append((name, arguments))
        else:
            self.add(says("Done."))
            return super().stream(request)
        name, arguments = self.tried[-1]
        self.add(uses((f"call{len(self.tried)}", name, arguments)))
        return super().stream(request)

    def _as_told(self, words: str, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if shown := re.search(r"Call (\w+) with (\{.*?\})\.", words):
            return shown[1], {key: self._wants.get(key, value) for key, value in json.loads(shown[2]).items()}
        if near := re.search(r"Did you mean: (\w+)", words):
            return near[1], arguments
        if only := re.search(r"Give only `(\w+)`", words):
            others = set(re.findall(r"`(\w+)`", words)) - {only[1]}
            return name, {key: value for key, value in arguments.items() if key not in others}
        if unknown := re.search(r"has no argument '(\w+)'.* It takes: ", words):
            return name, {key: value for key, value in arguments.items() if key != unknown[1]}
        if missing := re.search(r"The argument '(\w+)' is missing", words):
            return name, {**arguments, missing[1]: self._wants[missing[1]]}
        raise AssertionError(f"These words do not say what to do: {words}")


def _error_in(result: str) -> str:
    """What a failed call says; '' for one that did its work."""
    return str(told_in(result).get("error", ""))


def test_a_weak_model_recovers_from_each_slip_by_the_answer_s_words_alone(tmp_path: Path) -> None:
    _files(tmp_path)
    edit = {"path": A, "old_string": "two = 2", "new_string": "two = 22"}
    before = {**edit, "old_string": "one = 1", "new_string": "zero = 0\none = 1"}
    weak = _WeakModel(
        ("bash", {"env": {"A": "1"}}, {"command": "echo first > made"}),
        ("powershell", {"command": "dir"}, {"command": "echo second >> made"}),
        ("terminl", {"command": "echo third >> made"}, {}),
        ("terminal", {"command": "echo fourth >> made", "stdin": "y"}, {}),
        ("edit_file", {"target_file": A, "instructions": "two is 22", "code_edit": "// ..."}, edit),
        ("insert_content", {"path": A, "line": 1}, before),
        ("write_file", {"path": "b.py", "content": "b\n", "file_path": "c.py"}, {}),
        ("write_file", {"path": "d.py"}, {"content": "d\n"}),
        ("read_many_files", {"paths": [A, "b.py"]}, {"path": "b.py"}),
        ("codebase_search", {"query": "where is three?"}, {"pattern": "three", "path": "."}),
        ("mkdir", {"path": "deep"}, {"command": "mkdir -p deep"}),
    )

    _run(tmp_path, provider=weak)

    assert (tmp_path / "made").read_text().split() == ["first", "second", "third", "fourth"]
    assert (tmp_path / A).read_text() == "zero = 0\none = 1\ntwo = 22\nthree = 3\n"
    assert (tmp_path / "b.py").read_text() == "b\n"
    assert not (tmp_path / "c.py").exists()
    assert (tmp_path / "d.py").read_text() == "d\n"
    assert (tmp_path / "deep").is_dir()
    assert (len(weak.failed), len(weak.tried)) == (11, 22)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_gets_back_only_names_that_it_was_told_of(
    over: Callable[..., AIAgent], model_server: ModelServer, protocol: ApiMode
) -> None:
    model_server.add(Reply(tool_calls=[ToolCall("a", "functions.Read", {"file_path": "notes.txt"})]), Reply("Done."))
    over(wired(model_server.base_url, protocol)).chat("Go.")

    first, second = model_server.requests
    assert "functions.Read" not in json.dumps(second.body["messages" if "messages" in second.body else "input"][:-1])
    assert first.body["tools"] == second.body["tools"]


def test_hooks_see_the_real_tool(tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    def hook(tool_name: str, args: dict[str, Any], _: object) -> None:
        seen.append((tool_name, dict(args)))

    registry.add_hook("pre_tool_call", hook)
    try:
        _turn(tmp_path, ("Write", {"file_path": "a.txt", "text": "x"}))
    finally:
        registry.remove_hook("pre_tool_call", hook)

    assert seen == [("write_file", {"path": "a.txt", "content": "x"})]
