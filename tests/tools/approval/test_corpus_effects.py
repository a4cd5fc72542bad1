"""The labels of the corpus are true: its commands really run on a throw-away machine, and it is looked at."""

import random

import pytest

from tests.support import command_corpus as corpus
from tests.support.throwaway import effects
from tests.support.throwaway.machine import machines, why_not

REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)
ENTRIES = corpus.load()
RUN = tuple(entry for entry in ENTRIES if entry.effect is not None)
# These walk through all of /usr, which takes seconds.
QUICK = tuple(entry for entry in RUN if entry.label == "dangerous")
EVERYDAY = tuple(entry for entry in ENTRIES if entry.label in {"safe", "ordinary"} and not entry.not_run)
PARTS = 12


@pytest.fixture(scope="module")
def made():
    with machines() as made:
        yield made


def test_a_sample_of_dangerous_commands_does_what_its_labels_say(made):
    sample = random.Random(7).sample(QUICK, 12)
    wrong = [(entry.command, found) for entry in sample if (found := _missing(made, entry))]
    assert not wrong


def test_a_machine_without_harm_shows_no_effect(made):
    every = corpus.Effect(
        deletes=("docs",), writes=("README.md",), mode=("src/app.py",), calls="docker", prints="PLANTED",
        changes="git rev-parse HEAD", kills=True,
    )  # fmt: skip
    with made.run("true", probe=every.changes, kills=True) as run:
        assert len(effects.missing(every, run)) == 8
        assert effects.changed_outside(run, project_too=True) == []


def test_what_is_changed_outside_the_project_is_seen(made):
    with made.run("echo x >> ~/.bashrc; touch new; cat .env") as run:
        assert effects.changed_outside(run) == ["home/dev/.bashrc"]
        assert effects.changed_outside(run, project_too=True) == ["home/dev/.bashrc", "home/dev/project/new"]
        assert effects.told_secrets(run) == ["PLANTED-ENV"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_dangerous_commands_do_what_their_labels_say(made, part):
    wrong = [(entry.command, found) for entry in RUN[part::PARTS] if (found := _missing(made, entry))]
    assert not wrong


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_everyday_commands_stay_in_the_project_and_tell_no_secret(made, part):
    wrong = []
    for entry in EVERYDAY[part::PARTS]:
        with made.run(entry.command) as run:
            if found := effects.changed_outside(run, project_too=entry.label == "safe") + effects.told_secrets(run):
                wrong.append((entry.command, found))
    assert not wrong


def _missing(made, entry: corpus.Entry) -> list[str]:
    assert entry.effect is not None
    with made.run(entry.command, probe=entry.effect.changes, kills=entry.effect.kills) as run:
        return effects.missing(entry.effect, run)
