"""A stored session with one of everything, and long ones: for tests of whatever shows or exports them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    ModeChanged,
    PlanChanged,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidText,
    SessionEvent,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.messages import Message, assistant_message, injected_message, tool_call, tool_message, user_message
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.records import (
    Hidden,
    SessionRecord,
    StoredEvent,
    StoredMessage,
    Transcript,
    TurnRecord,
)
from tools.context import TodoItem
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult

BEGAN = 1_790_000_000.0
CWD = "/srv/sums"
HOSTILE = (
    "</script></style></pre></details><img src=x onerror=\"document.title='owned'\">"
    "<script>document.title='owned'</script>"
)
SESSION_ID = "3f9a1c77d0b94e6c8a52f1e0b7d64c11"

PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAgCAIAAAAt/+nTAAAATklEQVR42u3XoQ0AIAwEQDZiK+ZhTRwKzQJF1UC45OWLnvq0jLnC"
    "1NbD3NYvAAAAAAApwCuHnvoAAAAAADmAJQYAAADwD1hiAAAAgG8BG4260OKUPYeaAAAAAElFTkSuQmCC"
)
_BEFORE = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(20))
_AFTER = _BEFORE.replace("return 3\n", 'return "three" if <b>\n').replace("def f15():", "def fifteen(scale=1):")
_ANSWER = """\
The sum was **wrong**: `add` subtracted. I changed two places:

1. `sums.py`, where the sign was wrong
2. the test, which now covers *negative* numbers
   - also zero

| case | before | after |
|------|-------:|------:|
| 2, 2 | 0 | 4 |
| 2, -2 | 4 | 0 |

```python
def add(a, b):
    return a + b  # <- here
```

> See [the manual](https://docs.example.org/sums) or https://example.org/a_b.

Not to be followed: [this](javascript:alert(1)).
"""


def call(
    call_id: str, name: str, arguments: dict[str, Any], result: ToolResult | None, *more: SessionEvent
) -> tuple[SessionEvent, ...]:
    """The events of a tool call; without a result it never ended."""
    events: tuple[SessionEvent, ...] = (
        ToolRequested(call_id, name, arguments, CWD, announced=False),
        ToolRunning(call_id, name, arguments, CWD),
        *more,
    )
    return events if result is None else (*events, ToolFinished(call_id, name, arguments, CWD, result))


class TranscriptMaker:
    """Puts a transcript together, turn by turn; a clock goes on with everything that is added."""

    def __init__(self, session_id: str = SESSION_ID, title: str | None = None) -> None:
        self.session_id = session_id
        self.title = title
        self.now = BEGAN
        self.turns: list[TurnRecord] = []
        self.messages: list[StoredMessage] = []
        self.events: list[StoredEvent] = []

    def turn(
        self,
        events: Iterable[SessionEvent | tuple[SessionEvent, ...]] = (),
        messages: Iterable[Message] = (),
        *,
        outcome: str | None = "end_turn",
        note: str = "",
        seconds: float = 10.0,
        hidden: Hidden = "",
    ) -> None:
        """Add a turn. A tuple of events is one row, those of a tool call."""
        number, began = len(self.turns) + 1, self.now
        for event in events:
            row = event if isinstance(event, tuple) else (event,)
            self.events.append(
                StoredEvent(number, self._place(number), self.now, row, open=outcome is None and event is not None)
            )
            self.now += 0.25
        for message in messages:
            self.messages.append(StoredMessage(len(self.messages) + 1, number, message, self.now, hidden))
            self.now += 0.125
        self.now = max(self.now, began + seconds)
        ended = None if outcome is None else self.now
        self.turns.append(TurnRecord(number, f"t{number}", began, ended, outcome, note))
        self.now += 60

    def made(self, **changes: Any) -> Transcript:
        """The transcript; `changes` replace values of the session's record."""
        values: dict[str, Any] = {
            "id": self.session_id,
            "cwd": CWD,
            "roots": (),
            "source": "acp",
            "mode": "default",
            "model": "anthropic:claude-sonnet-5",
            "options": {},
            "title": self.title,
            "parent_id": None,
            "root_id": self.session_id,
            "created_at": BEGAN,
            "updated_at": self.now,
            "archived": False,
            "turns": len(self.turns),
            "spent": Spent(7, Usage(123_456, 4_200, 98_000, 1_000, 0), 0.4321),
            **changes,
        }
        return Transcript(SessionRecord(**values), tuple(self.turns), tuple(self.messages), tuple(self.events))

    def _place(self, number: int) -> int:
        return sum(event.turn == number for event in self.events)


def sample_transcript() -> Transcript:
    """Five turns: one with everything, one cancelled, one failed, one hostile, one that broke off."""
    maker = TranscriptMaker(title="Why the sum is wrong")
    _whole_turn(maker)
    maker.turn(
        [
            UserSaid("u2", (SaidText("Run it a hundred times."),)),
            call("c5", "terminal", {"command": "make soak"}, None, ToolOutput("c5", "1\n2\n", "1\n2\n")),
        ],
        [user_message("Run it a hundred times.")],
        outcome="cancelled",
        seconds=95,
    )
    maker.turn(
        [UserSaid("u3", (SaidText("And now?"),))],
        [user_message("And now?")],
        outcome="error",
        note="The model server answered 503. Try again later.",
        seconds=3,
        hidden="withdrawn",
    )
    _hostile_turn(maker)
    maker.turn(
        [UserSaid("u5", (SaidText("Thanks. Write the changelog."),)), AgentText("m5", "I will write")],
        [user_message("Thanks. Write the changelog.")],
        outcome=None,
        seconds=2,
    )
    return maker.made()


def long_transcript(turns: int, calls: int = 4) -> Transcript:
    """A session of so many turns, each with so many tool calls, so 2 + 2 * calls messages."""
    maker = TranscriptMaker(title="A long session")
    for number in range(turns):
        words = f"Please change number {number} in the module, and tell me what you did."
        events: list[SessionEvent | tuple[SessionEvent, ...]] = [UserSaid(f"u{number}", (SaidText(words),))]
        messages: list[Message] = [user_message(words)]
        for index in range(calls):
            call_id = f"c{number}-{index}"
            diff = ShownDiff(
                Path(CWD, "sums.py"), _BEFORE, _BEFORE.replace(f"return {index}\n", f"return {number}\n")
            )
            arguments = {"path": "sums.py", "old_string": f"return {index}", "new_string": f"return {number}"}
            events.append(call(call_id, "patch", arguments, ToolResult('{"success": true}', (diff,))))
            asked = tool_call(call_id, "patch", json.dumps(arguments))
            messages += [assistant_message("", [asked], "Let me see."), tool_message(asked, '{"success": true}')]
        events.append(AgentText(f"m{number}", _ANSWER))
        messages.append(assistant_message(_ANSWER))
        maker.turn(events, messages, seconds=5 + number % 17 * 3)
    return maker.made()


def _whole_turn(maker: TranscriptMaker) -> None:
    said = (
        SaidText("Why does test_add fail?\nPlease mend it, and look at @sums.py too."),
        SaidLink(f"file://{CWD}/sums.py", "sums.py"),
        SaidDocument(f"file://{CWD}/notes.txt", "Some notes.\n"),
        SaidImage("image/png", PICTURE, "screenshot.png"),
    )
    todo = (
        TodoItem("1", "Find the reason", "completed"),
        TodoItem("2", "Mend it", "in_progress"),
        TodoItem("3", "Wait", "cancelled"),
    )
    printed = (
        "\x1b[1mtests/test_sums.py\x1b[0m \x1b[32m.\x1b[31mF\x1b[0m\n"
        "\x1b[31mE   assert 0 == 4\x1b[0m\n10%\r50%\r100%\n\x1b[38;5;208morange\x1b[0m\n"
    )
    diff = ShownDiff(Path(CWD, "sums.py"), _BEFORE, _AFTER)
    new = ShownDiff(Path(CWD, "CHANGES.md"), None, "# Changes\n\n- `add` adds\n")
    read = call(
        "c1",
        "read_file",
        {"path": "sums.py", "offset": 3},
        ToolResult("{}", (ShownText("def add(a, b):\n    return a - b\n", "python"),)),
    )
    ran = call(
        "c2", "terminal", {"command": "pytest -q"}, ToolResult("{}", (ShownOutput(printed, 1),), {"exit_code": 1})
    )
    calls = [
        tool_call("c1", "read_file", '{"path": "sums.py", "offset": 3}'),
        tool_call("c2", "terminal", '{"command": "pytest -q"}'),
    ]
    edit = tool_call("c3", "patch", '{"path": "sums.py"}')
    maker.turn(
        [
            UserSaid("u1", said),
            AgentThought("th1", "The test fails.\nLet me **look** at the module."),
            read,
            ran,
            PlanChanged(todo),
            call("c3", "patch", {"path": "sums.py"}, ToolResult("{}", (diff,), {"path": f"{CWD}/sums.py"})),
            call("c4", "write_file", {"path": "CHANGES.md"}, ToolResult("{}", (new,))),
            call(
                "c6", "plugin_tool", {"city": "Oslo"}, ToolResult('{"error": "There is no such city."}', failed=True)
            ),
            ModeChanged("accept_edits"),
            AgentText("m1", _ANSWER),
            ContextUsed(12_000, 200_000, 0.0312),
        ],
        [
            user_message([{"type": "text", "text": "Why does test_add fail?"}]),
            assistant_message("", calls, "The test fails."),
            tool_message(calls[0], '{"content": "def add(a, b):"}'),
            tool_message(calls[1], '{"exit_code": 1, "output": "E   assert 0 == 4"}'),
            assistant_message("I mend it.", [edit]),
            tool_message(edit, "not JSON"),
            injected_message("Go on."),
            assistant_message(_ANSWER),
        ],
        seconds=42,
    )


def _hostile_turn(maker: TranscriptMaker) -> None:
    shown = (
        ShownText(HOSTILE, "html"),
        ShownDiff(Path(CWD, HOSTILE[:60]), HOSTILE, HOSTILE * 2),
        ShownOutput(HOSTILE, 0),
    )
    answer = (
        f'{HOSTILE}\n\n# {HOSTILE}\n\n[x](https://example.org/"onmouseover="alert(1)) `{HOSTILE}`\n\n```\n{HOSTILE}\n'
    )
    maker.turn(
        [
            UserSaid(
                "u4", (SaidText(HOSTILE), SaidLink('"><script>', HOSTILE), SaidImage("image/svg+xml", "PHN2Zz4="))
            ),
            AgentThought("th4", HOSTILE),
            call("c7", "terminal", {"command": f"echo '{HOSTILE}'"}, ToolResult("{}", shown)),
            PlanChanged((TodoItem("1", HOSTILE, "pending"),)),
            AgentText("m4", answer),
        ],
        [user_message(HOSTILE), assistant_message(answer)],
    )
