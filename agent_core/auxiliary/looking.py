"""A look at an image for a model that does not see: the side task «vision»."""

from __future__ import annotations

from agent_core.auxiliary.client import AuxiliaryClient
from agent_core.calls.result_images import image_part
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import user_message
from tools.errors import ToolError, ToolInterrupted
from tools.ports import Interrupt
from tools.result import ResultImage

_ROOM = 1500
_ASKED = (
    "Answer from the image alone. Say what you see that matters for the question: texts as they stand, numbers, "
    "where things are. Say so if the image does not show it.\n\nQuestion: {question}"
)


def look_at(client: AuxiliaryClient, image: ResultImage, question: str, interrupt: Interrupt) -> str:
    """What a model that sees answers.

    Raises:
        ToolError: none answered, or there is none. ToolInterrupted: the turn is over.
    """
    words = user_message(
        [{"type": "text", "text": _ASKED.format(question=question)}, image_part(image.data, image.mime_type)]
    )
    token = CancelToken()
    forget = interrupt.on_cancel(token.cancel)
    try:
        answer = client.complete("vision", [words], max_tokens=_ROOM, token=token)
    except TurnInterrupted as stop:
        raise ToolInterrupted from stop
    finally:
        forget()
    if answer is None:
        raise ToolError(
            f"Nobody could look at {image.name or 'the image'}: the model of this session does not see, and no other "
            "model answered (the log says why). The user can name one that sees in the settings, as "
            "auxiliary.vision.model."
        )
    return f"{answer.text} […]" if answer.truncated else answer.text
