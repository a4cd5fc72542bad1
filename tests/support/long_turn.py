"""A turn of many tool calls with the real program but for the editor: settings, prompt, tools, store, wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.services import SessionServices
from agent_core.settings.options import SessionChoices
from tests.support.model_replies import Scripted
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.settings_files import use_model
from tools.approval.policy import Mode


@dataclass(frozen=True, slots=True)
class Wire:
    """A way of asking a model: what the settings say of it, and whether its servers keep only what is marked."""

    name: str
    settings: Mapping[str, Any]
    by_marks: bool


WIRES = (
    Wire("chat_completions", {"api_mode": "chat_completions"}, by_marks=False),
    Wire("chat_completions, marked", {"provider": "openrouter", "default": "anthropic/claude-sonnet-4.5"}, True),
    Wire("anthropic_messages", {"api_mode": "anthropic_messages"}, by_marks=True),
    Wire("codex_responses", {"api_mode": "codex_responses"}, by_marks=False),
)
FILES = 10
_ROUND: tuple[tuple[tuple[str, Mapping[str, Any]], ...], ...] = (
    (("search_files", {"pattern": "def part{0}"}),),
    (("read_file", {"path": "src/part{0}.py"}), ("read_file", {"path": "tests/test_part{0}.py"})),
    (("patch", {"path": "src/part{0}.py", "old_string": "return {0}", "new_string": "return {0} + 1"}),),
    (("todo", {"todos": [{"id": "{0}", "content": "mend part {0}", "status": "in_progress"}]}),),
)
"""What the model asks for in a round, answer by answer: five calls for each of ten files."""


def prepare(workspace: Path) -> None:
    """Files to work on, and rules for them, in a sub-folder too."""
    for folder in ("src", "tests"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "AGENTS.md").write_text("Mend what is wrong, and test it.\n" * 10, encoding="utf-8")
    (workspace / "src/AGENTS.md").write_text("Four spaces.\n", encoding="utf-8")
    for number in range(FILES):
        code = f"def part{number}():\n    return {number}\n" + f"# what part {number} is for\n" * 40
        (workspace / f"src/part{number}.py").write_text(code, encoding="utf-8")
        test = f"from part{number} import part{number}\n\n\ndef test_it():\n    assert part{number}() == 1\n"
        (workspace / f"tests/test_part{number}.py").write_text(test, encoding="utf-8")


def script() -> Iterator[Reply]:
    """The model's answers: 50 calls in 40 of them, with thoughts, and two last words."""
    for number in range(FILES):
        for step, calls in enumerate(_ROUND):
            made = [
                ToolCall(f"call_{number}_{step}_{place}", name, _filled(arguments, str(number)))
                for place, (name, arguments) in enumerate(calls)
            ]
            thought = f"Part {number} wants step {step}."
            yield Reply("Next.", reasoning=thought, sealed_reasoning=f"sealed-{number}-{step}", tool_calls=made)
    yield Reply("All parts are mended.")
    yield Reply("There is nothing here to run the tests with.")  # it is told that it has checked nothing


def bodies_of_a_turn(directory: Path, model: Mapping[str, Any], **settings: Any) -> Sequence[dict[str, Any]]:
    """Run the turn in a new workspace; the requests' bodies.

    Args:
        directory: gets the home and the workspace.
        model: what the settings say of the model, beside where it is.
    """
    prompt = "Mend all parts, and tell me when it is done."
    return bodies_of(directory, prepare, tuple(script()), prompt, model, mode="accept_edits", **settings)


def bodies_of(
    directory: Path,
    prepare: Callable[[Path], None],
    script: Sequence[Scripted],
    prompt: str,
    model: Mapping[str, Any],
    *,
    mode: Mode = "dont_ask",
    **settings: Any,
) -> Sequence[dict[str, Any]]:
    """Run a scripted turn in a new workspace that `prepare` fills; the requests' bodies."""
    home, workspace = directory / "home", directory / "workspace"
    home.mkdir(parents=True)
    prepare(workspace)
    with ModelServer(*script, default=script[-1]) as server:
        use_model(home, server, model=model, **settings)
        factory = AgentFactory(ConfigSource(Home(home)))
        try:
            choices = SessionChoices(mode=mode)
            factory.sessions.store.create("long", str(workspace))
            agent = factory.agent("long", factory.workspace(workspace, (), choices), SessionServices(), choices)
            agent.run_conversation(prompt)
            agent.close()
        finally:
            factory.close()
        return [request.body for request in server.requests]


def _filled(value: Any, number: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, number) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, number) for inner in value]
    return value.replace("{0}", number) if isinstance(value, str) else value
