"""What the model is told beside the person's prompt: missed prompts, notes, words in the middle of a turn, and what
hooks say to all that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_core.callbacks import Status
from agent_core.errors import HookRefused
from agent_core.messages import Content, injected_message, text_of, user_message
from agent_core.model_request.response import Reply
from agent_core.providers.protocol import left_out
from agent_core.services import SessionServices
from agent_core.settings.hooks import HookName
from agent_core.stop_reasons import CLOSING_NOTE
from agent_core.turn import Turn
from agent_core.workspace import Workspace
from tools.approval.approvals import plan_note

# The session's hooks at the seams of a turn; where there are none, nothing of it does anything.


def begin_hooks(turn: Turn) -> str:
    """The turn begins: hooks hear of the session, if it is its first turn. What they say of it to the model.

    Raises:
        TurnInterrupted: the turn was cancelled.
    """
    listener = turn.callbacks.status_callback
    turn.hooks.begin_turn(None if listener is None else lambda text: listener(Status("hook", text)))
    source = {**_facts(turn), "source": "resume" if turn.history.messages else "new"}
    return turn.hooks.begin_session(source, turn.token)


def hear_prompt_hooks(turn: Turn, content: Content, turn_id: str = "", *, strictly: bool = False) -> str:
    """What hooks say to the model about words of the person's; '' for nothing.

    Args:
        turn_id: of the turn that they began; '' for this one.
        strictly: a hook that fails refuses them.

    Raises:
        HookRefused: they must not reach the model. TurnInterrupted: the turn was cancelled.
    """
    hooks = turn.hooks
    if hooks.is_subagent or not hooks.has("prompt"):
        return ""
    first = not turn.history.messages
    facts = {"prompt": text_of(content), **_facts(turn), "turn_id": turn_id or turn.id, "is_first_turn": first}
    refused = "{source} refuses this prompt: {why}. Nothing was sent to the model."
    return hooks.allowed("prompt", facts, turn.token, refused, strictly=strictly)


def hooks_say(*said: str) -> str:
    """What hooks have said, as the model is told it; '' for nothing."""
    words = "\n\n".join(filter(None, said))
    return f"[Not from the user. Their hooks say:]\n{words}" if words else ""


def ask_hooked(turn: Turn, ask: Callable[[], Reply]) -> Reply:
    """Ask the turn's model, with hooks before and behind.

    Raises:
        HookRefused: the model must not be asked. TurnInterrupted: the turn was cancelled. Whatever `ask` raises.
    """
    hooks = turn.hooks
    if hooks.has("pre_model_call"):
        before = _model_facts(turn) | {"message_count": len(turn.history.messages)}
        refused = "{source} does not let the model be asked: {why}. The turn ended there."
        hooks.allowed("pre_model_call", before, turn.token, refused)
    reply = ask()
    if hooks.has("post_model_call"):
        after = _model_facts(turn) | {
            "finish_reason": reply.finish,
            "text": reply.text,
            "tool_calls": [call["function"]["name"] for call in reply.tool_calls],
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
        }
        hooks.asked("post_model_call", after, turn.token)
    return reply


def hooks_want(turn: Turn, reply: Reply) -> str:
    """What hooks want the model to do before the turn ends with `reply`; '' where it may end.

    Raises:
        TurnInterrupted: the turn was cancelled.
    """
    hooks = turn.hooks
    event: HookName = "subagent_stop" if hooks.is_subagent else "stop"
    if reply.finish not in {"stop", "unknown"} or not reply.text.strip() or not turn.budget.left:
        return ""
    if not hooks.has(event) or hooks.ends is not None:
        return ""
    asked = hooks.asked(event, {"answer": reply.text, "stop_hook_active": hooks.continued > 0}, turn.token)
    found = [(hook, verdict.refusal) for hook, verdict in asked if verdict.refusal]
    if not found or hooks.ends is not None:
        return ""
    if hooks.continued >= hooks.most_continues:
        hooks.tell(
            f"{found[0][0].source} wants the model to go on once more. It has done so {hooks.continued} times in "
            "this turn, which is as often as hooks.max_continues lets it."
        )
        return ""
    hooks.continued += 1
    return "\n\n".join(f"[Not from the user. {hook.source} says:]\n{words}" for hook, words in found)


def _facts(turn: Turn) -> dict[str, Any]:
    return {"model": turn.route.choice.name, "platform": turn.platform}


def _model_facts(turn: Turn) -> dict[str, Any]:
    choice = turn.route.choice
    return {
        "turn_id": turn.id,
        "model": choice.model,
        "provider": choice.provider,
        "iteration": turn.budget.used,
    }


# Prompts whose turns were killed or cancelled before the model was told of them. Hooks are asked about them now, as
# about any prompt, and what they refuse is left out.

_MOST_SHOWN = 60


def catch_up(turn: Turn) -> None:
    """Tell the model what was said since it was told anything last, as far as hooks let it.

    Raises:
        TurnInterrupted: the turn was cancelled, or another has taken its place. What is still left stays so.
    """
    history = turn.history
    for left in history.store.prompts_left(history.session_id, history.turn_id):
        try:
            beside = hooks_say(hear_prompt_hooks(turn, left.content, left.turn_id, strictly=True))
        except HookRefused as refused:
            history.store.leave_out(history.session_id, history.turn_id, left, refused.public)
            if turn.callbacks.status_callback is not None:
                beginning = _beginning(left.content)
                text = f"An earlier prompt, which was broken off, is left out: «{beginning}». {refused.public}"
                turn.callbacks.status_callback(Status("hook", text))
        else:
            history.catch_up(left, beside)


def _beginning(content: Content) -> str:
    text = " ".join(text_of(content).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


# The mode, and tools that came after the first request.

_MOST_NAMED = 30


def notes_beside(services: SessionServices, workspace: Workspace) -> str:
    """All that the model is told as a turn begins; '' for nothing."""
    copied = "" if workspace.copied is None else workspace.copied.take_words()
    return "\n\n".join(filter(None, (plan_note(workspace.approvals), copied, _new_tools(services, workspace))))


def _new_tools(services: SessionServices, workspace: Workspace) -> str:
    """Which tools are new; '' for none, or in its first turn."""
    if services.tools is None:
        return ""
    extra = workspace.tools.extra()
    known = {told.partition(" ")[0] for told in services.extra_tools} if extra else ()
    new = [entry.name for entry in extra if entry.name not in known]
    if not new:
        return ""
    more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
    return f"[Not from the user: you have new tools now: {', '.join(new[:_MOST_NAMED])}{more}.]"


# What the person is told so that nothing is dropped without a word.


def tell_unused(turn: Turn, content: Content) -> None:
    """What the model cannot be given is not dropped without a word to the person."""
    if isinstance(content, str) or turn.callbacks.status_callback is None:
        return

    for text in left_out(content, turn.route.lessons.adapted(turn.route.choice)):
        turn.callbacks.status_callback(Status("unused", text))


def tell_undelivered(turn: Turn) -> None:
    """Nothing that the person said is lost without a word."""
    words = turn.steering.close()
    if words and turn.callbacks.status_callback is not None:
        text = f"The turn ended before the model was told this; send it again: {words}"
        turn.callbacks.status_callback(Status("undelivered", text))


# In the middle of a turn: the person's words, hooks willing, and ours.


def pass_on(turn: Turn, words: str) -> bool:
    """Put what the person has said meanwhile before the model's next request.

    Returns:
        False where it is nothing, or hooks refuse it, which the person is told.

    Raises:
        TurnInterrupted: the turn was cancelled while hooks were asked.
    """
    beside = _judged(turn, words)
    if beside is None:
        return False
    notes = (beside, "" if turn.budget.left else CLOSING_NOTE)
    turn.history.remember(user_message(words, "\n\n".join(filter(None, notes))))
    return True


def inject(turn: Turn, note: str, told: str) -> None:
    """Tell the model something in the person's place, and the person (`told`) that it goes on because of that.

    Raises:
        TurnInterrupted: as for `pass_on`.
    """
    if turn.callbacks.thinking_callback is not None:
        turn.callbacks.thinking_callback(told)
    words = turn.steering.take()
    beside = _judged(turn, words)
    # What the person has said meanwhile goes before, as the words of the same message.
    notes = "\n\n".join(filter(None, (beside, note)))
    turn.history.remember(injected_message(note) if beside is None else user_message(words, notes))


def show_unread(turn: Turn, reply: Reply) -> None:
    """Show the person a tool call in the text that cannot be read and that the model will not be asked for again."""
    if turn.callbacks.stream_delta_callback is not None:
        turn.callbacks.stream_delta_callback(reply.unread)
    if turn.callbacks.status_callback is not None:
        text = (
            f"{turn.route.choice.name} has written a tool call into its text that cannot be read: "
            f"{_sentence(reply.unread_problem)} Nothing was run. Its server does not know the form of its tool "
            "calls: /status says what to start it with."
        )
        turn.callbacks.status_callback(Status("unread", text))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _judged(turn: Turn, words: str) -> str | None:
    """What the model is told beside the person's words; None where it is not told of them."""
    if not words:
        return None
    try:
        return hooks_say(hear_prompt_hooks(turn, words))
    except HookRefused as refused:
        if turn.callbacks.status_callback is not None:
            text = f"What you said meanwhile is left out: «{words}». {refused.public}"
            turn.callbacks.status_callback(Status("hook", text))
        return None
