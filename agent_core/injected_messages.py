"""What the model is told beside the person's prompt: missed prompts, notes, and words in the middle of a turn."""

from __future__ import annotations

from agent_core.callbacks import Status
from agent_core.errors import HookRefused
from agent_core.hooks.session_hooks import TurnHooks
from agent_core.messages import Content, injected_message, text_of, user_message
from agent_core.model_request.response import Reply
from agent_core.services import SessionServices
from agent_core.stop_reasons import CLOSING_NOTE
from agent_core.turn import Turn
from agent_core.workspace import Workspace
from tools.approval.approvals import plan_note

# Prompts whose turns were killed or cancelled before the model was told of them. Hooks are asked about them now, as
# about any prompt, and what they refuse is left out.

_MOST_SHOWN = 60


def catch_up(turn: Turn, hooks: TurnHooks) -> None:
    """Tell the model what was said since it was told anything last, as far as hooks let it.

    Raises:
        TurnInterrupted: the turn was cancelled, or another has taken its place. What is still left stays so.
    """
    history = turn.history
    for left in history.store.prompts_left(history.session_id, history.turn_id):
        try:
            beside = hooks.judge(left.content, left.turn_id)
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
    known = {told.partition(" ")[0] for told in services.extra_tools}
    new = [entry.name for entry in workspace.tools.extra() if entry.name not in known]
    if not new:
        return ""
    more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
    return f"[Not from the user: you have new tools now: {', '.join(new[:_MOST_NAMED])}{more}.]"


# What the person is told so that nothing is dropped without a word.


def tell_unused(turn: Turn, content: Content) -> None:
    """What the model cannot be given is not dropped without a word to the person."""
    if isinstance(content, str) or turn.callbacks.status_callback is None:
        return
    from agent_core.providers.protocol import left_out  # noqa: PLC0415 - few prompts have more than text

    for text in left_out(content, turn.route.lessons.adapted(turn.route.choice)):
        turn.callbacks.status_callback(Status("unused", text))


def tell_undelivered(turn: Turn) -> None:
    """Nothing that the person said is lost without a word."""
    words = turn.steering.close()
    if words and turn.callbacks.status_callback is not None:
        text = f"The turn ended before the model was told this; send it again: {words}"
        turn.callbacks.status_callback(Status("undelivered", text))


# In the middle of a turn: the person's words, hooks willing, and ours.


def pass_on(turn: Turn, hooks: TurnHooks, words: str) -> bool:
    """Put what the person has said meanwhile before the model's next request.

    Returns:
        False where it is nothing, or hooks refuse it, which the person is told.

    Raises:
        TurnInterrupted: the turn was cancelled while hooks were asked.
    """
    beside = _judged(turn, hooks, words)
    if beside is None:
        return False
    notes = (beside, "" if turn.budget.left else CLOSING_NOTE)
    turn.history.remember(user_message(words, "\n\n".join(filter(None, notes))))
    return True


def inject(turn: Turn, hooks: TurnHooks, note: str, told: str) -> None:
    """Tell the model something in the person's place, and the person (`told`) that it goes on because of that.

    Raises:
        TurnInterrupted: as for `pass_on`.
    """
    if turn.callbacks.thinking_callback is not None:
        turn.callbacks.thinking_callback(told)
    words = turn.steering.take()
    beside = _judged(turn, hooks, words)
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


def _judged(turn: Turn, hooks: TurnHooks, words: str) -> str | None:
    """What the model is told beside the person's words; None where it is not told of them."""
    if not words:
        return None
    try:
        return hooks.words(words)
    except HookRefused as refused:
        if turn.callbacks.status_callback is not None:
            text = f"What you said meanwhile is left out: «{words}». {refused.public}"
            turn.callbacks.status_callback(Status("hook", text))
        return None
