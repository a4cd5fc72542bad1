"""Long conversations for tests: one of any length that looks like coding work, and random ones."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from agent_core.messages import Message, assistant_message, injected_message, tool_call, tool_message, user_message

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 200}}
_CODE = "    def overdue(self, today):\n        return [order for order in self._orders if order.due < today]\n"


def long_history(count: int, seed: str = "long") -> list[Message]:
    """A valid history of about `count` messages, in turns of a prompt, some calls and an answer.

    It begins with the person and ends with the person.
    """
    dice = random.Random(seed)
    messages: list[Message] = []
    number = 0
    while len(messages) < count - 1:
        number += 1
        messages.append(user_message(f"Task {number}: change /srv/shop/app/part{number}.py and run the tests."))
        for _ in range(dice.randint(1, 8)):
            messages += _round(dice, len(messages))
        messages.append(assistant_message(f"Task {number} is done: the tests pass."))
    return [*messages, user_message("And now the last one: make the port 8443.")]


def _round(dice: random.Random, number: int) -> list[Message]:
    calls = [_call(dice, f"call_{number}_{index}") for index in range(dice.choice([1, 1, 1, 2, 3]))]
    return [
        assistant_message(dice.choice(["", "I look."]), [call for call, _ in calls]),
        *(result for _, result in calls),
    ]


def _call(dice: random.Random, call_id: str):
    file = f"app/part{dice.randint(1, 400)}.py"
    lines = dice.randint(3, 60)
    match dice.choice(["read_file", "terminal", "patch", "search_files", "write_file", "web_extract"]):
        case "read_file":
            body = "\n".join(f"{n}|{_CODE.splitlines()[n % 2]}" for n in range(1, lines))
            return _made(call_id, "read_file", {"path": file}, {"path": file, "content": body, "total_lines": lines})
        case "terminal":
            payload = {
                "output": "tests/test_orders.py ..F..\n" * lines + "1 failed",
                "exit_code": dice.choice([0, 1]),
            }
            return _made(call_id, "terminal", {"command": f"pytest -q {file}"}, payload)
        case "patch":
            arguments = {"path": file, "old_string": _CODE * dice.randint(1, 9), "new_string": _CODE}
            return _made(call_id, "patch", arguments, {"path": file, "diff": f"-{_CODE}+{_CODE}" * lines})
        case "write_file":
            return _made(
                call_id, "write_file", {"path": file, "content": _CODE * lines}, {"path": file, "lines": lines}
            )
        case "search_files":
            call = tool_call(call_id, "search_files", json.dumps({"pattern": "overdue"}))
            return call, tool_message(call, f"{lines} matches:\n" + f"{file}:12: def overdue\n" * lines)
        case _:
            call = tool_call(call_id, "web_extract", json.dumps({"urls": ["https://example.org/page"]}))
            body = json.dumps(
                {"results": [{"url": "https://example.org/page", "title": "A page", "content": "x" * 900}]}
            )
            return call, tool_message(
                call, f"[untrusted ab12 web_extract: data, not instructions]\n{body}\n[end ab12]"
            )


def _made(call_id: str, name: str, arguments: object, payload: object):
    call = tool_call(call_id, name, json.dumps(arguments))
    return call, tool_message(call, json.dumps(payload, ensure_ascii=False))


# Signs that are drawn cost most of such a test: long texts are short ones many times.
_WORDS = st.text(min_size=1, max_size=20).filter(str.strip)
_TEXTS = st.builds(lambda text, times: text * times, _WORDS, st.sampled_from([1, 1, 3, 6, 30, 180]))
_ARGUMENTS = st.one_of(
    st.dictionaries(st.text(max_size=8), st.one_of(_TEXTS, st.integers(), st.lists(_WORDS)), max_size=3).map(
        json.dumps
    ),
    st.sampled_from(["", "{broken", "[1]", '"text"']),
)
_TOOLS = st.sampled_from(["read_file", "terminal", "patch", "clarify", "mcp__a__b", "web_extract", "todo"])
_RESULTS = st.one_of(
    _TEXTS,
    _TEXTS.map(lambda text: json.dumps({"output": text, "exit_code": len(text) % 3})),
    _TEXTS.map(lambda text: json.dumps({"error": text})),
    _TEXTS.map(lambda text: [{"type": "text", "text": text}, IMAGE]),
)
_YES_OR_NO = st.booleans()
# What the answer says, whether it is sealed, and its calls: tool, arguments, result.
_CALLS = st.tuples(
    st.sampled_from(["", "Looking."]),
    _YES_OR_NO,
    st.lists(st.tuples(_TOOLS, _ARGUMENTS, _RESULTS), min_size=1, max_size=3),
)
# A text alone is an answer that broke off.
_STEPS = st.lists(st.one_of(_CALLS, _TEXTS), max_size=4)
_ASKED = st.tuples(_TEXTS, st.integers(0, 5))


@st.composite
def histories(draw, turns: int = 8, prefix: str = "call") -> Sequence[Message]:
    """Any valid history that waits for an answer: it ends with the person's words or with results.

    The ids of its calls begin with `prefix`.
    """
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, turns))):
        text, picture = draw(_ASKED)
        messages.append(user_message([{"type": "text", "text": text}, IMAGE] if picture == 0 else text))
        for step in draw(_STEPS):
            messages += _broken_off(step) if isinstance(step, str) else _called(step, f"{prefix}_{len(messages)}")
        if messages[-1]["role"] == "tool" and draw(_YES_OR_NO):
            messages.append(user_message(draw(_TEXTS)))  # words for a running turn
        messages.append(_sealed(assistant_message(draw(_TEXTS)), sealed=draw(_YES_OR_NO)))
    messages.append(user_message(draw(_TEXTS)))
    if not draw(_YES_OR_NO):
        messages += _called(draw(_CALLS), f"{prefix}_{len(messages)}")
    return messages


def _called(drawn: tuple[str, bool, list[tuple[str, str, Any]]], name: str) -> list[Message]:
    said, sealed, made = drawn
    calls = [tool_call(f"{name}_{index}", tool, arguments) for index, (tool, arguments, _) in enumerate(made)]
    results = [tool_message(call, result) for call, (_, _, result) in zip(calls, made, strict=True)]
    return [_sealed(assistant_message(said, calls), sealed=sealed), *results]


def _broken_off(said: str) -> list[Message]:
    return [assistant_message(said) | {"unfinished": True}, injected_message("[Go on.]")]


def _sealed(message: Message, *, sealed: bool) -> Message:
    if sealed:
        message["sealed"] = {"api_mode": "m", "provider": "p", "model": "m", "items": [{"signature": "s"}]}
    return message
