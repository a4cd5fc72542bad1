"""What the model is told when an action may not happen."""

from __future__ import annotations

from pathlib import Path

from tools.approval.actions import Action, ReadSecretFiles, describe
from tools.approval.policy import Decision
from tools.approval.questions import Answer

_MOST_RULES = 3


def denied(action: Action, decision: Decision) -> str:
    """The policy says no."""
    match decision.cause:
        case "plan":
            return (
                f"Refused: «{describe(action)}» {decision.reason}. In plan mode you read and think, and nothing is "
                "changed; do not try another way. When the plan is complete, call exit_plan_mode with it: the user "
                "then decides."
            )
        case "person":
            return (
                f"Refused: the user has said no to «{describe(action)}» for the rest of this session. Do not try it "
                "again or another way; ask the user or go on without it."
            )
        case "network":
            return (
                f"Refused: «{describe(action)}» {decision.reason}. In this mode nobody is asked, and nobody has "
                "allowed that host. For a server of the user's own use the terminal (curl), or ask the user to set "
                "web.allow_private."
            )
        case "rule":
            return (
                f"Refused: «{describe(action)}» {decision.reason}. No mode and no answer changes that. Do not try to "
                "get the same effect another way; ask the user or go on without it."
            )
        case "others":
            return (
                f'Refused: "{describe(action)}" {decision.reason}. The user has to see such a text first, and in '
                "this mode nobody is asked. Nothing was changed; tell the user what you would have remembered."
            )
        case "secrets":
            return (
                f'Refused: "{describe(action)}" {decision.reason}. The user has said no to that, and in this mode '
                "nobody is asked. Commands that are proved to only look still run; ask the user, or go on without it."
            )
        case "rule-unclear" | "outside":
            return (
                f"Refused: «{describe(action)}» {decision.reason}. In this mode nobody is asked. Write it plainly, "
                "do it in another way that needs no more than the session's directories, or ask the user."
            )
    return f"Refused: «{describe(action)}» {decision.reason}. No mode allows it; do not try another way."


def said_no_before(action: Action, *, to_all: bool) -> str:
    """A program goes on asking for what the person has refused.

    Args:
        to_all: not to this alone, but to all that it has asked for lately.
    """
    why = "what this program wants was refused several times in a row" if to_all else "it was refused before"
    return (
        f"Denied: «{describe(action)}» was not asked about again ({why}). Nothing was changed. Do not try to get the "
        "same effect another way; ask the user or go on without it."
    )


def said_no(action: Action, answer: Answer, reason: str = "") -> str:
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
    if isinstance(action, ReadSecretFiles):
        rules = ", ".join(f"read: {_from(action.project, path)}" for path in action.paths[:_MOST_RULES])
        advice += f" (approvals.allow: [{rules}] in the user's settings allows it without a question)"
    return (
        f"Denied: «{describe(action)}» was not allowed ({cause}).{lasting}{words} Nothing was changed. "
        f"Do not try to get the same effect another way; {advice}."
    )


def _from(project: Path, path: Path) -> Path:
    return path.relative_to(project) if path.is_relative_to(project) else path
