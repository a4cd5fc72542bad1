"""Conversations as frames, and what the client for people makes of them in each kind of terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from acp_adapter.cli.console import Style
from acp_adapter.cli.questions import Approver, Option
from acp_adapter.cli.transcript import Transcript
from tests.support.scripted import OPTIONS, update

CWD = Path("/srv/shop")

MARKDOWN = """\
# The `basket` module

It computes **totals**, *rounded*, and it was ~~wrong~~ right before the change of 2 * 3 lines in a_file.py; see \
[the ticket](https://example.org/tickets/1_2) or <https://example.org>. A line ends
where the model ends it.


## What to do

1. Run the **tests**, all of them, and look at each of the failures before anything is changed in the code.
2. Then:
   - read `basket.py`
   - change it

> A *quotation* that is long enough to go on in the next line of a window of eighty columns or so.

```python
def total(prices: list[int]) -> int:
    return sum(prices)  # **not bold**
```

| File | What it holds | Lines |
|:-----|:--------------|------:|
| `basket.py` | The basket, with totals and with a discount that is only given on Sundays and on holidays | 120 |
| test_basket.py | **Tests** | 9 |

---

```diff
- old
+ new
```
日本語の文章には空白がないので、どこででも折り返すことができます。これはその例であり、窓の幅より長いものです。
A star * alone, **kwargs, and `a tick.
"""

Step = Callable[[Transcript, float], None]


def text(words: str, kind: str = "agent_message_chunk") -> Iterator[Step]:
    """A message; that its pieces make no difference another test holds."""
    yield told(update(kind, content={"type": "text", "text": words}))


def told(change: dict[str, Any]) -> Step:
    """A session update."""
    return lambda view, t: view.on_update(change, t)


def asked(**tool_call: Any) -> Step:
    """A permission question."""
    return lambda view, t: _ignored(view.on_permission({"toolCall": tool_call, "options": OPTIONS}, t))


def quiet(view: Transcript, t: float) -> None:
    """Nothing comes for a while."""
    view.on_quiet(t)


def _ignored(_answer: object) -> None:
    pass


def _turn() -> Iterator[Step]:
    plan = [{"content": "Find the bug", "status": "in_progress"}, {"content": "Fix it", "status": "pending"}]
    diff = [{"type": "diff", "path": "/srv/shop/basket.py", "oldText": "a = 1\nb = 2\n", "newText": "a = 1\nb = 3\n"}]
    yield lambda view, t: view.awaits("Thinking", t)
    yield quiet
    yield from text(
        "The **total** is wrong; I look at the place where it is computed, and then I run the tests.",
        "agent_thought_chunk",
    )
    yield told(update("plan", entries=plan))
    yield told(update("tool_call", toolCallId="r", title="Read basket.py", kind="read", status="in_progress"))
    yield told(update("tool_call_update", toolCallId="r", status="completed"))
    yield from text("Here is the **mistake**")
    yield told(update("tool_call", toolCallId="e", title="Edit basket.py", kind="edit", status="pending"))
    yield asked(toolCallId="e", content=diff)
    yield told(update("tool_call_update", toolCallId="e", status="completed"))
    yield told(
        update(
            "tool_call",
            toolCallId="x",
            title="python -m unittest discover --verbose --failfast --start-directory tests",
            kind="execute",
            status="in_progress",
        )
    )
    yield quiet
    yield quiet
    yield told(
        update("tool_call_update", toolCallId="x", _meta={"terminal_output": {"terminal_id": "t", "data": "OK\n"}})
    )
    yield told(
        update(
            "tool_call_update",
            toolCallId="x",
            status="failed",
            _meta={"terminal_exit": {"terminal_id": "t", "exit_code": 3}},
        )
    )
    yield told(update("plan", entries=[{**step, "status": "completed"} for step in plan]))
    yield told(update("current_mode_update", currentModeId="plan"))
    yield from text("Done.\n")
    yield lambda view, t: view.awaits("", t)
    yield lambda view, _: view.note("[end_turn, 2.50 s, 12.3k of 200k tokens, $0.03]")


def _questions() -> Iterator[Step]:
    form = {"message": "Which database?\nIt cannot be changed later.", "mode": "form"}
    yield lambda view, t: _ignored(
        view.on_form({"mode": "url", "message": "Sign in", "url": "https://example.org/in"}, t)
    )
    yield lambda view, t: _ignored(view.on_form(form, t))


CONVERSATIONS: dict[str, Callable[[], Iterator[Step]]] = {
    "markdown": lambda: text(MARKDOWN),
    "turn": _turn,
    "questions": _questions,
}

STYLES: dict[str, Style] = {
    "80 columns, colours": Style(colour=True, signs=True, live=True, columns=lambda: 80),
    "120 columns, colours": Style(colour=True, signs=True, live=True, columns=lambda: 120),
    "80 columns, no colours": Style(signs=True, live=True, columns=lambda: 80),
    "120 columns, no colours": Style(signs=True, live=True, columns=lambda: 120),
    "a pipe": Style(),
}


def shown(conversation: str, style: Style) -> str:
    """Everything that is written, in the order of writing."""
    out = io.StringIO()

    def choose(options: list[Option] | Any) -> Option:
        out.write("(a menu, which is taken away)\n")
        return options[0]

    view = Transcript(out, style, CWD, Approver("ask", CWD, choose))
    for number, step in enumerate(CONVERSATIONS[conversation]()):
        step(view, number / 4)
    view.end_line()
    return out.getvalue()


def readable(written: str) -> str:
    """Escape sequences as signs that can be read, and a line for each time that lines are drawn over."""
    return re.sub(r"\r\x1b\[(\d+)A\x1b\[J", r"«\1 up»\n", written).replace("\x1b[", "␛")
