"""What a load shows is what was shown when it happened, and all of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tests.support.editor_frames import merged_cards
from tests.support.merged_view import merged_view

if TYPE_CHECKING:
    from tests.model.lived import Lived, Turn

_FINAL = ("completed", "failed")
UNKNOWN = "What it did so far is unknown"
_NOTE = "*This turn was interrupted: "
"""How what a load says of a broken turn begins."""
OF_SERVERS = "MCP server"
"""Is in what the person is told of servers, and in nothing that the model says."""


def check_shown(session: Lived, updates: Sequence[dict[str, Any]], results: Collection[str]) -> None:
    """Hold a load's updates against what the editor was shown of each turn.

    Args:
        results: the ids of the calls whose results are stored.

    Raises:
        AssertionError: they differ.
    """
    pieces = _pieces(updates)
    said, wanted = [prompt for prompt, _ in pieces], [turn.prompt for turn in session.turns]
    assert said == wanted, (
        f"prompts of {session.id} (shown again, said): {[one[:30] for one in said]}, {[one[:30] for one in wanted]}"
    )
    for turn, (_, piece) in zip(session.turns, pieces, strict=True):
        open_cards = [card for card in merged_cards(piece).values() if card["status"] not in _FINAL]
        assert not open_cards, f"cards are still open after a load: {open_cards}"
        if turn.end == "killed" and not turn.is_settled:
            _check_broken(turn, piece, results)
            turn.updates, turn.is_settled = piece, True
        else:
            _check_same(turn, piece)
            turn.updates = piece


def in_editors_terminal(card: Mapping[str, Any]) -> bool:
    """Whether a card shows one of the editor's own terminals."""
    return any(str(block.get("terminalId", "")).startswith("term-") for block in card.get("content") or ())


def _pieces(updates: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Each prompt with what was shown to it."""
    found: list[tuple[str, list[dict[str, Any]]]] = []
    last = None
    for update in updates:
        if update["sessionUpdate"] != "user_message_chunk":
            if found:
                found[-1][1].append(update)
            continue
        text = update["content"].get("text", "")
        if update.get("messageId") == last:
            found[-1] = found[-1][0] + text, found[-1][1]
        else:
            found.append((text, []))
        last = update.get("messageId")
    return found


def _check_same(turn: Turn, piece: Sequence[dict[str, Any]]) -> None:
    was, now = merged_view(turn.updates).entries, merged_view(piece).entries
    for before, after in zip(was, now, strict=False):
        if in_editors_terminal(before):
            # That terminal is gone: what the command has printed stands in its place.
            before |= {name: after.get(name) for name in ("content", "terminal", "data") if name in after}
        if before != after:
            names = [name for name in before | after if before.get(name) != after.get(name)]
            wrong = "".join(f"\n{name}:\n  {before.get(name)!r}\n  {after.get(name)!r}" for name in names)
            raise AssertionError(f"{turn.name} ({turn.end}) is shown otherwise again: {wrong}")
    assert len(was) == len(now), f"{turn.name} ({turn.end}): shown {was[len(now) :]}, again {now[len(was) :]}"


def _check_broken(turn: Turn, piece: Sequence[dict[str, Any]], results: Collection[str]) -> None:
    """Of a turn that was killed everything is there that was shown, but for the last moment.

    That is a second of a text; of a call that was over just then, that it was not known to have failed.
    """
    again = merged_cards(piece)
    for call_id, card in merged_cards(turn.updates).items():
        now = again.get(call_id, {})
        is_there = now.get("status") == "completed" or (call_id not in results and UNKNOWN in str(now))
        assert card["status"] != "completed" or is_there, f"{call_id} was shown as done, and now: {now}"
        is_known = not card.get("rawInput") or "?" not in str(now.get("title"))
        assert is_known, f"{call_id} was {card}, and now: {now}"
    texts = [each for each in merged_view(piece).texts() if OF_SERVERS not in each]
    text = "".join(each.partition(_NOTE)[0].removesuffix("\n\n") for each in texts)
    assert turn.text.startswith(text) or not text, f"{turn.name} said {turn.text!r}, shown again: {text!r}"
