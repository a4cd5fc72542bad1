"""`/mcp`, `/tools`, `/cost` and `/context` on what they may meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acp_adapter.commands.command import Told
from acp_adapter.commands.run import typed_command
from agent_core.activity import Activity
from agent_core.compaction.tokens import TokenMeter, text_tokens
from agent_core.errors import AuthRequired
from agent_core.events import ContextUsed, SaidText
from agent_core.mcp.specs import ServerStatus
from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.model_request.history_filter import Omissions, SeenHabits
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice, ModelFacts, ServedWindow
from agent_core.providers.lessons import Lessons, tool_lesson
from agent_core.providers.pricing import Spent
from agent_core.sessions.records import RESET, StoredEvent, TurnRecord
from tests.support.each import each
from tools.registry import ToolEntry

_FACTS = ModelFacts(context_length=200_000, input_price=3.0, output_price=15.0)


def _entry(name: str, toolset: str, description: str) -> ToolEntry:
    return ToolEntry(name, toolset, {"type": "object"}, lambda: None, description)


@dataclass
class _Desk:
    """The part of a desk that looking needs."""

    entries: tuple[ToolEntry, ...] = (_entry("read_file", "files", "Read a file. More of it."),)
    states: tuple[ServerStatus, ...] = ()
    choice: ModelChoice | None = field(
        default_factory=lambda: ModelChoice(
            "north", "opus", "offline", "", "given", facts=_FACTS, context_length=200_000
        )
    )
    served: ServedWindow | None = None
    told: list[dict[str, object]] | None = None
    messages: list[Message] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    meter: TokenMeter = field(default_factory=TokenMeter)
    lessons: Lessons = field(default_factory=Lessons)
    story: Any = field(default_factory=lambda: SimpleNamespace(turns=(), events=()))

    def tools(self) -> tuple[ToolEntry, ...]:
        return self.entries

    def servers(self) -> tuple[ServerStatus, ...]:
        return self.states

    def model(self) -> ModelChoice:
        if self.choice is None:
            raise AuthRequired("No model is configured.")
        return self.choice

    def served_window(self) -> ServedWindow | None:
        return self.served

    @property
    def session(self) -> Any:
        services = SimpleNamespace(
            habits=SeenHabits(),
            system="one word " * 44 + "last",
            omissions=Omissions(),
            meter=self.meter,
            tools=self.told,
            activity=Activity(),
            spent=self.spent,
            prompt_layers=(("identity", 180), ("heading", 4), ("a|b/AGENTS.md", 200)),
            prompt_notes=("CLAUDE.md is left out of what the model is told: it is no text.",),
        )
        return SimpleNamespace(id="ses_1", services=services, mode="default", model_used="")

    @property
    def factory(self) -> Any:
        store = SimpleNamespace(messages=lambda _: self.messages, compaction=lambda _: None)
        archive = SimpleNamespace(transcript=lambda _: self.story)
        return SimpleNamespace(sessions=SimpleNamespace(store=store, archive=archive), lessons=self.lessons)


def _typed(text: str, desk: _Desk) -> str:
    typed = typed_command((SaidText(text),))
    assert typed is not None
    outcome = typed.command.run(typed, desk)  # type: ignore[arg-type]
    assert isinstance(outcome, Told)
    return outcome.text


def _row(told: str, name: str) -> str:
    """What stands behind a name in the table."""
    return next(line for line in told.splitlines() if line.startswith(f"| {name} |")).removeprefix(f"| {name} | ")


def test_status_tells_what_was_learned_of_the_models_server_and_forgets_it() -> None:
    desk = _Desk()
    assert "Learned" not in _typed("/status", desk)
    assert "nothing to forget" in _typed("/status forget", desk)
    desk.lessons.keep(desk.model(), ["images", "stream_options"])
    told = _typed("/status", desk)
    assert "Learned of `north:opus` from what its server refused: it takes no images; " in told
    assert "stream_options" in told.replace("\\", "")
    assert "`/status forget` forgets it" in told
    assert "Forgotten of `north:opus`: it takes no images" in _typed("/status forget", desk)
    assert "Learned" not in _typed("/status", desk)
    assert "nothing to forget" in _typed("/status forget", _Desk(choice=None))


def test_servers_are_shown_with_what_went_wrong():
    states = (
        ServerStatus("files", "ready", tools=("mcp__files__read", "mcp__files__write")),
        ServerStatus("a|b`\n", "failed", error="It ended at once | code 1"),
        ServerStatus("half", "ready", tools=("mcp__half__x",), left_out=("odd: its schema is no object",)),
    )
    rows = _typed("/mcp", _Desk(states=states)).splitlines()
    assert len(rows) == 5
    assert rows[2] == "| files | ready | 2 tools |  |"
    assert rows[3] == "| a\\|b\\` | failed |  | It ended at once \\| code 1 |"
    assert "odd: its schema" in rows[4]


def test_a_tool_of_an_mcp_server_that_the_models_server_refuses_is_named_with_its_server():
    files = ServerStatus("files", "ready", tools=("mcp__files__read", "mcp__files__write"))
    desk = _Desk(states=(files, ServerStatus("wiki", "ready", tools=("mcp__wiki__read",))))
    tool = {"function": {"name": "mcp__files__read", "parameters": {"type": "object"}}}
    desk.lessons.keep(desk.model(), [tool_lesson(tool), "images"])
    rows = _typed("/mcp", desk).splitlines()
    refused = "mcp\\_\\_files\\_\\_read: the model's server refuses its schema"
    assert rows[2].replace("\\_", "_") == f"| files | ready | 2 tools | not used: {refused} |".replace("\\_", "_")
    assert rows[3] == "| wiki | ready | 1 tool |  |"
    status = _typed("/status", desk).replace("\\", "")
    assert "it refuses the schema of the tool mcp__files__read, which is left out" in status
    _typed("/status forget", desk)
    assert _typed("/mcp", desk).splitlines()[2] == "| files | ready | 2 tools |  |"


@each(
    ("window", "served", "told"),
    [
        (200_000, None, "Window: 200,000 tokens."),
        (4_096, ServedWindow("ollama", 4_096, 131_072), "as its server says; the model can take 131,072."),
        (8_192, ServedWindow("vllm", 8_192), "Window: 8,192 tokens, as its server says."),
        (32_768, ServedWindow("ollama", 4_096, 131_072), "Window: 32,768 tokens."),
        (None, None, "the meter takes it for 128,000 tokens, which is a guess."),
    ],
)
def test_status_tells_the_window_and_who_says_so(window, served, told):
    choice = ModelChoice("north", "opus", "chat_completions", "", "given", context_length=window)
    assert told in _typed("/status", _Desk(choice=choice, served=served))


def test_tools_are_shown_by_toolset_those_of_servers_last():
    entries = (
        _entry("mcp__a__x", "mcp-a", "From a server\nover <b>lines</b>. Second."),
        _entry("read_file", "files", "Read a file. More of it."),
    )
    told = _typed("/tools", _Desk(entries))
    assert told.index("**files**") < told.index("**MCP server a**")
    assert "- `read_file`: Read a file.\n" in told
    assert told.endswith("From a server over \\<b\\>lines\\</b\\>.")


def test_words_between_backticks_stay_code_and_other_signs_are_only_signs():
    told = _typed("/tools", _Desk((_entry("x", "files", "Give `a_b` to *it*"), _entry("y", "files", "An ` alone"))))
    assert "- `x`: Give `a_b` to \\*it\\*\n" in told
    assert told.endswith("An \\` alone")


def test_rules_of_sub_folders_have_a_row_of_their_own():
    rules = "[Rules of app/AGENTS.md, for work in app/]\n" + "of the app " * 500 + "\n[End of app/AGENTS.md]"
    told = _typed("/context", _Desk(messages=[tool_message(tool_call("1", "read_file", "{}"), f"short\n\n{rules}")]))
    assert _row(told, "Rules of sub-folders").startswith(f"≈ {text_tokens(rules) / 1000:.1f}k |")
    assert int(_row(told, "Tool results").split()[1]) < 50


def test_without_tools_it_says_so():
    assert "no tools" in _typed("/tools", _Desk(()))


def test_the_cost_is_told_with_what_it_is_made_of():
    spent = Spent(3, Usage(12_000, 340, 8_000, None, 0), 0.0421)
    told = _typed("/cost", _Desk(spent=spent))
    assert "**$0.04**, 3 requests" in told
    assert "| read by the model (all prompts) | 12k |" in told
    assert "| of these reasoning | not told |" in told
    assert "`north:opus`" in told
    assert "$3 read, $15 written" in told


@pytest.mark.parametrize(("cost", "choice"), [(None, None), (None, ModelChoice("x", "y", "offline", "", "given"))])
def test_an_unknown_cost_is_no_number(cost: float | None, choice: ModelChoice | None):
    told = _typed("/cost", _Desk(spent=Spent(1, Usage(), cost), choice=choice))
    assert "not known, 1 request." in told
    assert "$" not in told


_PICTURE: Message = user_message([{"type": "image_url", "image_url": {"url": "data:"}}])


def test_the_window_is_shown_by_kind_with_bars():
    text = "some words of this and that, " * 1_000
    asked = user_message([{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "data:"}}])
    told = _typed("/context", _Desk(messages=[asked, assistant_message("yes " * 100)]))
    assert "of 200k that `north:opus` can take: 4 %" in told
    assert _row(told, "Your messages").startswith(f"≈ {text_tokens(text) / 1000:.1f}k | `█░")
    pictures = TokenMeter().measure("north:opus")([_PICTURE])
    assert _row(told, "Images and documents").startswith(f"≈ {pictures / 1000:.1f}k |")
    assert _row(told, "System prompt").startswith("≈ ")
    assert "Tool results" not in told


def test_tokens_are_told_as_the_model_counts_them():
    text = "some words of this and that, " * 1_000
    desk = _Desk(messages=[user_message(text)])
    request = ModelRequest("opus", tuple(desk.messages))
    desk.meter.learn("north:opus", request, Usage(2 * desk.meter.tokens("north:opus", request)))
    told = _typed("/context", desk)
    assert _row(told, "Your messages").startswith(f"≈ {2 * text_tokens(text) / 1000:.1f}k |")
    assert "learn from what the model's server counts" in told


def test_the_system_prompt_is_shown_by_its_parts_with_what_was_left_out():
    told = _typed("/context", _Desk())
    whole, identity, rules = (
        int(_row(told, name).split()[1]) for name in ("System prompt", "· identity", "· a\\|b/AGENTS.md")
    )
    assert (identity, rules) == (round(whole * 180 / 400), round(whole * 200 / 400))
    assert "heading" not in told
    assert "- CLAUDE.md is left out of what the model is told: it is no text." in told


def test_what_a_server_counted_is_told_unless_the_model_began_anew_since():
    counted = StoredEvent(1, 0, 0.0, (ContextUsed(34_000, 200_000),))
    story = SimpleNamespace(turns=(TurnRecord(1, "one", 0.0),), events=(counted,))
    assert "counted 34k of 200k" in _typed("/context", _Desk(story=story))
    story.turns = (*story.turns, TurnRecord(2, "two", 0.0, outcome=RESET))
    assert "counted" not in _typed("/context", _Desk(story=story))


@pytest.mark.parametrize(("choice", "shown"), [(_Desk().choice, "`north:opus`"), (None, "none")])
def test_before_the_first_turn_the_status_names_the_model_that_will_be_asked(choice: ModelChoice | None, shown: str):
    assert _typed("/status", _Desk(choice=choice)).endswith(f"Mode: `default`. Model: {shown}.")


def test_without_a_model_the_window_is_not_known():
    assert "can take" not in _typed("/context", _Desk(choice=None))


def test_pathological_text_never_leaves_its_line(tmp_path: Path):
    entry = _entry("x", "files", "```\n# Heading\n| a | b |\x1b[31m\u202e")
    (line,) = [line for line in _typed("/tools", _Desk((entry,))).splitlines() if line.startswith("- ")]
    assert "\u202e" not in line
    assert "\x1b" not in line
    assert "\\# Heading \\| a \\| b \\|" in line
