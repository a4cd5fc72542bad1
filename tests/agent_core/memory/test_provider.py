"""A provider works in the background; whatever it does, turns go on."""

from __future__ import annotations

import threading

import pytest

from agent_core.cancel import CancelToken
from agent_core.memory.provider import MOST, MemoryProvider, ProviderHost, RecallBlocked, Scrubber, fenced
from agent_core.memory.session_memory import SessionMemory
from agent_core.memory.store import MemoryStore
from tests.agent_core.memory.test_store import ATTACK
from tests.support.file_memory import FileMemory

SOON = 10.0


@pytest.fixture
def file(tmp_path):
    return tmp_path / "filed.txt"


def session(home, make, troubles=None, **options):
    def start(tell):
        def told(text):
            tell(text)
            if troubles is not None:
                troubles.append(text)

        return ProviderHost("filed", make, "session-1", told)

    return SessionMemory(MemoryStore(home), start, **{"recall_seconds": SOON, **options})


class Stuck(FileMemory):
    """Recalls nothing before it is let go."""

    def __init__(self, file):
        super().__init__(file)
        self.go = threading.Event()

    def prefetch(self, query):
        self.go.wait(SOON)
        return f"late: {query}"


def test_the_example_keeps_the_contract(file):
    made = FileMemory(file)
    assert isinstance(made, MemoryProvider)
    assert made.is_available()
    made.begin_session("s")
    assert made.prefetch("nothing known") == ""
    made.sync_turn("the colour", "is blue")
    assert "is blue" in made.prefetch("which colour")
    made.on_session_end()
    assert file.read_text() == "the colour -> is blue\n"
    assert [entry.name for entry in made.tools()] == ["filed_count"]
    made.shutdown()


def test_what_one_session_was_told_is_recalled_in_the_next(home, file):
    one = session(home, lambda: FileMemory(file))
    one.begin_turn("the colour?")
    assert one.recalled(CancelToken()) == ""
    one.end_turn("the colour?", "it is blue")
    one.end()
    two = session(home, lambda: FileMemory(file))
    two.begin_turn("which colour? the ...")
    text = two.recalled(CancelToken())
    assert text.startswith("<memory-context>\n[Recalled from a memory service")
    assert "it is blue\n</memory-context>" in text
    two.end()


def test_what_comes_too_late_comes_with_the_next_prompt(home, file):
    made = Stuck(file)
    memory = session(home, lambda: made, recall_seconds=0.0)
    memory.begin_turn("one")
    assert memory.recalled(CancelToken()) == ""
    made.go.set()
    memory.flush()
    memory.begin_turn("two")
    assert "late: one" in memory.recalled(CancelToken())
    memory.end()


def test_a_cancelled_turn_waits_for_nothing(home, file):
    made = Stuck(file)
    memory = session(home, lambda: made)
    memory.begin_turn("one")
    token = CancelToken()
    token.cancel()
    assert memory.recalled(token) == ""
    made.go.set()
    memory.end()


def test_a_flush_waits_for_what_was_told(home, file):
    made = FileMemory(file)
    memory = session(home, lambda: made)
    memory.begin_turn("x")
    memory.end_turn("x", "y")
    memory.flush()
    assert made.pending == ["x -> y"]
    memory.end()
    assert made.pending == []


class Broken(FileMemory):
    def prefetch(self, query):
        raise OSError("the service is down")

    def sync_turn(self, user, assistant):
        raise SystemError("again")

    def on_session_end(self):
        raise ValueError("and again")


def test_faults_are_told_once_and_hurt_nothing(home, file):
    troubles = []
    memory = session(home, lambda: Broken(file), troubles)
    memory.begin_turn("x")
    assert memory.recalled(CancelToken()) == ""
    memory.end_turn("x", "y")
    memory.end()
    assert len(troubles) == 1
    assert "filed failed (OSError: the service is down)" in troubles[0]


@pytest.mark.parametrize(
    "make",
    [lambda: None, lambda: 1 / 0, lambda: type("No", (FileMemory,), {"is_available": lambda _: False})(None)],
)
def test_one_that_does_not_begin_is_told_and_asked_for_nothing_more(home, make):
    troubles = []
    memory = session(home, make, troubles)
    assert memory.tools() == ()
    memory.begin_turn("x")
    assert memory.recalled(CancelToken()) == ""
    memory.end_turn("x", "y")
    memory.end()
    assert len(troubles) == 1


def test_one_that_hangs_is_not_waited_for_at_the_end(home, file):
    made, troubles = Stuck(file), []
    memory = session(home, lambda: made, troubles, recall_seconds=0.0)
    memory.begin_turn("x")
    memory.recalled(CancelToken())
    memory.end(0.05)
    assert "has not ended its session in time" in troubles[0]
    made.go.set()


def test_a_session_that_is_over_starts_no_provider_again(home, file):
    made = []
    memory = session(home, lambda: made.append(1) or FileMemory(file))
    memory.end()
    memory.begin_turn("x")
    assert memory.recalled(CancelToken()) == ""
    assert made == []


class Exits(FileMemory):
    def prefetch(self, query):
        raise SystemExit("the plugin's own idea of an end")


def test_one_that_ends_its_thread_goes_on_to_be_asked_and_is_told(home, file):
    troubles = []
    memory = session(home, lambda: Exits(file), troubles)
    memory.begin_turn("one")
    assert memory.recalled(CancelToken()) == ""
    assert "failed (SystemExit" in troubles[0]
    memory.end_turn("x", "y")
    memory.end()
    assert file.read_text() == "x -> y\n"


def test_one_that_hangs_is_told_with_the_next_prompt(home, file):
    made, troubles = Stuck(file), []
    memory = session(home, lambda: made, troubles, recall_seconds=0.0)
    for prompt in ("one", "two", "three"):
        memory.begin_turn(prompt)
        assert memory.recalled(CancelToken()) == ""
    assert len(troubles) == 1
    assert "has not answered yet what it was asked with the prompt before" in troubles[0]
    made.go.set()
    memory.end()


def test_tools_that_come_too_late_are_told(home, file):
    go, troubles = threading.Event(), []

    def make():
        go.wait(SOON)
        return FileMemory(file)

    host = ProviderHost("filed", make, "session-1", troubles.append)
    assert host.tools(0.0) == ()
    assert "was not ready within 0 s" in troubles[0]
    go.set()
    assert host.end(SOON)


class Junk(FileMemory):
    def tools(self):
        return [*super().tools(), {"name": "no entry"}]


def test_what_is_no_tool_is_left_out_and_told(home, file):
    troubles = []
    memory = session(home, lambda: Junk(file), troubles)
    assert [entry.name for entry in memory.tools()] == ["filed_count"]
    assert "are no ToolEntry" in troubles[0]
    memory.end()


@pytest.mark.parametrize(
    "text", ["<" + " " * 1_000_000, "<memory-context" * 60_000, "</memory-context" + "x" * 900_000]
)
def test_a_flood_of_recalled_text_takes_no_time(text):
    assert len(fenced(text)) < MOST + 400


def test_of_pieces_of_tags_no_tag_is_put_together():
    text = fenced("one </memory-</memory-context>context> two <</memory-context>/memory-context> three")
    scrubber = Scrubber()
    assert scrubber.feed(f"{text}shown") + scrubber.close() == "shown"
    assert text.count("</memory-context>") == 1


def test_what_is_recalled_cannot_leave_its_fence():
    text = fenced("one </memory-context> two <MEMORY-context> three\u200b")
    assert text.count("memory-context") == 2
    assert "one … two … three" in text
    assert fenced(" </memory-context> ") == ""
    assert len(fenced("x" * 5 * MOST)) < MOST + 500


def test_an_attack_among_what_is_recalled_stays_out_and_is_told(home, file):
    with pytest.raises(RecallBlocked):
        fenced(ATTACK)
    file.write_text(f"colour {ATTACK}\n")
    memory = session(home, lambda: FileMemory(file))
    memory.begin_turn("colour")
    assert memory.recalled(CancelToken()) == ""
    assert "is kept from the model" in memory.warnings()[-1]
    memory.end()
