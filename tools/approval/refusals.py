"""What is said when an action may not happen: to the model with what to do now, to the person without."""

from __future__ import annotations

from pathlib import Path

from tools.approval.actions import Action, ReadSecretFiles, describe
from tools.approval.policy import Decision
from tools.approval.questions import Answer
from tools.errors import Denied

_MOST_RULES = 3
_NO_OTHER_WAY = "Do not try it again or another way; ask the user or go on without it."
_NO_SAME_EFFECT = "Do not try it again, or to get the same effect another way; ask the user or go on without it."


def denied(action: Action, decision: Decision) -> Denied:
    """The policy says no."""
    what = describe(action)
    if decision.cause == "person":
        return Denied(
            f"Refused: the user has said no to «{what}» for the rest of this session. {_NO_OTHER_WAY}",
            f'Rejected: you said no to "{what}" for the rest of this session.',
        )
    told = f"Refused: «{what}» {decision.reason}. {_advice(decision)}"
    mode = " In plan mode nothing is changed." if decision.cause == "plan" else ""
    return Denied(told, f'Refused: "{what}" {decision.reason}.{mode}')


def _advice(decision: Decision) -> str:
    match decision.cause:
        case "plan":
            return (
                "In plan mode you read and think, and nothing is changed; do not try another way. When the plan is "
                "complete, call exit_plan_mode with it: the user then decides."
            )
        case "network":
            return (
                "In this mode nobody is asked, and nobody has allowed that host. For a server of the user's own use "
                "the terminal (curl), or ask the user to set web.allow_private."
            )
        case "rule":
            return f"No mode and no answer changes that. {_NO_SAME_EFFECT}"
        case "others":
            return (
                "The user has to see such a text first, and in this mode nobody is asked. Nothing was changed; tell "
                "the user what you would have remembered."
            )
        case "secrets":
            return (
                "The user has said no to that, and in this mode nobody is asked. Commands that are proved to only "
                "look still run; ask the user, or go on without it."
            )
        case "refused":
            return f"In this mode nobody is asked. {_NO_SAME_EFFECT}"
        case "rule-unclear" | "outside":
            return (
                "In this mode nobody is asked. Write it plainly, do it in another way that needs no more than the "
                "session's directories, or ask the user."
            )
    return "No mode allows it; do not try another way."


def said_no_before(action: Action, *, to_all: bool) -> Denied:
    """A program goes on asking for what the person has refused.

    Args:
        to_all: not to this alone, but to all that it has asked for lately.
    """
    why = "what this program wants was refused several times in a row" if to_all else "it was refused before"
    return Denied(
        f"Denied: «{describe(action)}» was not asked about again ({why}). Nothing was changed. {_NO_SAME_EFFECT}",
        f"Rejected without a question: {why}.",
    )


def said_no(action: Action, answer: Answer, reason: str = "") -> Denied:
    """The person says no, or nobody says yes.

    Args:
        reason: why they were asked, in words that follow "because it", where the model should know it.
    """
    cause = answer.note or "the user said no"
    if reason:
        cause = f"{cause}; it had to be asked about because it {reason}"
    lasting = " This holds for the rest of the session." if answer.scope == "session" else ""
    words = f" The user said: «{answer.words}»" if answer.words else ""
    advice = "do as the user said" if answer.words else "ask the user or go on without it"
    rule = _rule_for(action)
    if rule:
        advice += f" ({rule} in the user's settings allows it without a question)"
    return Denied(
        f"Denied: «{describe(action)}» was not allowed ({cause}).{lasting}{words} Nothing was changed. "
        f"Do not try it again, or to get the same effect another way; {advice}.",
        _to_the_person(answer, rule),
        f"({answer.note or 'the user said no'}).{words}",
    )


def kept_in(no: Denied | None, *, asks_nobody: bool) -> str:
    """What the model is told of a command that the sandbox kept from something and that must not run without it."""
    if asks_nobody:
        return (
            "In this mode nobody is asked to let it run without the sandbox: do it in a way that needs no more than "
            "the session's directories, or ask the user."
        )
    because = no.because if no is not None and no.because else "(the user said no)."
    return (
        f"To run it without the sandbox was not allowed {because} Do not call it again with unsandboxed=true, and do "
        "not try to get the same effect another way; ask the user or go on without it."
    )


def _to_the_person(answer: Answer, rule: str) -> str:
    if answer.note:
        return f"Rejected: {answer.note}.{f' {rule} in your settings allows it without a question.' if rule else ''}"
    words = f' You said: "{answer.words}"' if answer.words else ""
    return f"Rejected{' for the rest of the session' if answer.scope == 'session' else ''}.{words}"


def _rule_for(action: Action) -> str:
    """The setting that would allow it; '' where there is none to name."""
    if not isinstance(action, ReadSecretFiles):
        return ""
    rules = ", ".join(f"read: {_from(action.project, path)}" for path in action.paths[:_MOST_RULES])
    return f"approvals.allow: [{rules}]"


def _from(project: Path, path: Path) -> Path:
    return path.relative_to(project) if path.is_relative_to(project) else path
