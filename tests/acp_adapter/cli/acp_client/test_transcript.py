"""The handler for people bears what no agent should send."""

from __future__ import annotations

import io
import json
from pathlib import Path

from acp_adapter.cli.console import Style
from acp_adapter.cli.questions import Approver
from acp_adapter.cli.transcript import Transcript
from tests.support.each import each

ODD = (None, 5, -1.5, True, "x", [], [1], {}, {"a": 1}, [{}], "a\0b")
KINDS = ("agent_message_chunk", "tool_call_update", "plan", "usage_update", "available_commands_update")
FIELDS = (
    "sessionUpdate", "content", "title", "kind", "status", "locations", "rawInput", "rawOutput", "entries",
    "currentModeId", "availableCommands", "messageId", "_meta", "used", "size", "cost",
)  # fmt: skip


@each(("field", "value"), [(field, value) for field in FIELDS for value in ODD])
def test_a_field_of_any_shape_is_borne(field, value):
    out = io.StringIO()
    view = Transcript(
        out, Style(colour=True, live=True, columns=lambda: 30), Path("/srv"), Approver("edits", Path("/srv"))
    )
    view.awaits("Thinking", 0.0)
    for kind in KINDS:
        update = {"sessionUpdate": kind, "toolCallId": "c", "kind": "edit", "status": "in_progress", field: value}
        view.on_update(update, 1.0)
        view.on_permission({"toolCall": update, "options": value}, 1.0)
        view.on_quiet(2.0)
        assert view.usage() is not None, json.dumps(update)
