"""Grants what a server wants while a call of it runs: on the call's own thread, where the person can be asked."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core.auxiliary.asking import Completion
from agent_core.errors import TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.mcp.elicitation import NoForm, form_of, page_of
from agent_core.mcp.inbound import Wish
from agent_core.mcp.results import told_blocks
from agent_core.mcp.specs import ServerSpec
from agent_core.messages import Message
from tools.agent_ports import Behalf
from tools.errors import Denied, ToolInterrupted

log = logging.getLogger(__name__)

Sampler = Callable[[Sequence[Message], int, float | None, CancelToken], Completion | None]
"""Asks a model: messages, tokens of the answer, temperature, the end of the wait. None without an answer."""

_MOST_TRIES = 3
_ACTIONS = {"declined": "decline"}


def grant(wish: Wish, spec: ServerSpec, behalf: Behalf | None, sampler: Sampler | None) -> None:
    """Answer a wish; blocks while the person or a model is asked. It raises nothing: a server must not end a call."""
    if wish.over.is_set():
        return
    if behalf is None:
        wish.refuse("Nobody can be asked here.")
        return
    try:
        if wish.kind == "ask":
            wish.answer(_asked(wish, spec, behalf))
        else:
            wish.answer(_sampled(wish, spec, behalf, sampler))
    except (NoForm, Denied) as problem:
        wish.refuse(str(problem))
    except (ToolInterrupted, TurnInterrupted):
        wish.refuse("The call is over.")
    except Exception:  # what a server sends may be anything
        log.exception("a wish of MCP server %s could not be granted", spec.name)
        wish.refuse("It cannot be answered.")


def _asked(wish: Wish, spec: ServerSpec, behalf: Behalf) -> Mapping[str, Any]:
    if wish.params.get("mode") == "url":
        try:
            outcome = behalf.ask(page_of(spec.name, wish.params), wish.over).outcome
        except ValueError as problem:  # no address that a person should open
            raise NoForm(str(problem)) from problem
        return {"action": "accept" if outcome == "answered" else _ACTIONS.get(outcome, "cancel")}
    form = form_of(spec.name, wish.params)
    question, wrong = form.question, ""
    for _ in range(_MOST_TRIES):
        answer = behalf.ask(replace(question, text=f"{question.text}{wrong}"), wish.over)
        if answer.outcome != "answered":
            return {"action": _ACTIONS.get(answer.outcome, "cancel")}
        unfit = form.unfit(answer.values)
        if not unfit:
            return {"action": "accept", "content": form.content(answer.values)}
        wrong = f"\n\nNot yet right: {unfit}."
    return {"action": "cancel"}


def _sampled(wish: Wish, spec: ServerSpec, behalf: Behalf, sampler: Sampler | None) -> Mapping[str, Any]:
    if sampler is None:
        raise Denied("There is no model that could be asked.")
    messages = _messages(wish.params)
    if spec.policy.sampling == "ask":
        shown = "\n\n".join(f"{message['role']}: {message['content']}" for message in messages)
        behalf.allow_model(spec.name, shown, wish.over)
    wanted, temperature = wish.params.get("maxTokens"), wish.params.get("temperature")
    limit = min(wanted, spec.policy.sampling_tokens) if isinstance(wanted, int) else spec.policy.sampling_tokens
    warmth = float(temperature) if isinstance(temperature, int | float) else None
    found = sampler(messages, max(1, limit), warmth, wish.over)
    if found is None:
        raise Denied("No model has answered.")
    return {
        "role": "assistant",
        "content": {"type": "text", "text": found.text},
        "model": found.model,
        "stopReason": "maxTokens" if found.truncated else "endTurn",
    }


def _messages(params: Mapping[str, Any]) -> list[Message]:
    """The messages that a server wants answered; what is no text in them is told in words."""
    messages: list[Message] = []
    system = params.get("systemPrompt")
    if isinstance(system, str) and system.strip():
        messages.append({"role": "system", "content": system})
    for entry in params.get("messages", ()):
        content = entry.get("content")
        blocks = content if isinstance(content, list) else [content]
        text = told_blocks([block for block in blocks if isinstance(block, Mapping)]) or json.dumps(content)
        messages.append({"role": "assistant", "content": text} if entry.get("role") == "assistant" else _user(text))
    if not any(message["role"] == "user" for message in messages):
        raise Denied("There is no message to answer.")
    return messages


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
