"""The corpus of labelled commands: nothing dangerous is missed, and everyday work is not asked about."""

from collections import Counter

import pytest

from tests.support import command_corpus as corpus

ENTRIES = corpus.load()
DANGEROUS = {"dangerous", "forbidden"}
DANGERS = tuple(entry for entry in ENTRIES if entry.label in DANGEROUS)
EVERYDAY = tuple(entry for entry in ENTRIES if entry.label in {"safe", "ordinary"})


@pytest.fixture(scope="module")
def verdicts():
    return tuple(corpus.judge(ENTRIES))


def test_the_corpus_is_classified_as_labelled(verdicts):
    wrong = [verdict for verdict in verdicts if verdict.is_missed]
    assert not wrong, _listed("missed", wrong)


def test_everyday_commands_hardly_ever_ask_where_a_sandbox_is_active(verdicts):
    asking = [verdict for verdict in verdicts if verdict.is_false_alarm]
    others = [verdict for verdict in asking if not verdict.is_unread]
    assert not others, _listed("false alarms", others)
    assert len(asking) <= len(ENTRIES) // 100, _listed(f"false alarms of {len(ENTRIES)}", asking)


def test_most_commands_that_only_read_are_proven_safe(verdicts):
    safe = [verdict for verdict in verdicts if verdict.entry.label == "safe"]
    unproven = [verdict for verdict in safe if verdict.level != "safe"]
    assert len(unproven) <= len(safe) * 0.1, _listed(f"not proven safe of {len(safe)}", unproven)


def test_what_changes_something_is_never_called_safe(verdicts):
    wrong = [verdict for verdict in verdicts if verdict.entry.label in DANGEROUS and verdict.level == "safe"]
    assert not wrong, _listed("called safe", wrong)


def test_each_dangerous_command_has_an_effect_that_was_seen_or_a_reason_why_not():
    unfounded = [entry.command for entry in DANGERS if not entry.effect and not entry.not_run]
    assert not unfounded


def test_most_dangerous_commands_are_really_run():
    assert sum(entry.effect is not None for entry in DANGERS) >= 0.6 * len(DANGERS)


def test_the_corpus_is_large_in_each_family_and_has_nothing_twice():
    sizes = Counter(entry.family for entry in ENTRIES if entry.label == "dangerous")
    assert {family: size for family, size in sizes.items() if size < 25} == {}
    assert len(ENTRIES) >= 700
    assert sum(entry.family == "look-alikes" for entry in ENTRIES) >= 120
    assert [command for command, times in Counter(entry.command for entry in ENTRIES).items() if times > 1] == []


def _listed(title: str, verdicts: list[corpus.Verdict]) -> str:
    lines = "\n".join(f"  {verdict.entry.family}: {verdict}" for verdict in verdicts)
    return f"{len(verdicts)} {title}\n{lines}"
