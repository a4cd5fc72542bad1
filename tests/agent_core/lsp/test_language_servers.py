"""What a session is told by a language server, and what it does with servers that misbehave."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.lsp.server import LspLimits
from tests.agent_core.lsp.conftest import OpenBench
from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted

BAD = "BAD is wrong"
_SHORT = LspLimits(wait=0.3, pauses=(0.01, 0.01, 0.01), silences=2)


class TestNewErrors:
    @pytest.mark.parametrize(
        "mode", ["push", "pull", "unnumbered", "stale", pytest.param("flood", marks=pytest.mark.slow)]
    )
    def test_only_new_errors_are_told(self, bench: OpenBench, mode: str) -> None:
        session = bench(mode)
        (session.root / "a.txt").write_text("BAD old\n")
        assert session.found("fine\nBAD old\nBAD new\n") == [(3, BAD)]
        assert session.found("fine\nfine\nBAD old\nBAD new\n") == []

    def test_warnings_are_left_out(self, bench: OpenBench) -> None:
        assert bench().found("ODD\n") == []

    def test_all_errors_of_a_new_file_are_new(self, bench: OpenBench) -> None:
        assert bench().found("BAD\n") == [(1, BAD)]

    def test_columns_count_characters(self, bench: OpenBench) -> None:
        (problem,) = bench().edit("\N{GRINNING FACE}é BAD\n")
        assert (problem.line, problem.column, problem.source) == (1, 4, "fake")

    def test_names_that_a_uri_escapes_are_understood(self, bench: OpenBench) -> None:
        assert bench().found("BAD\n", "a é %20#.txt") == [(1, BAD)]

    def test_what_others_wrote_meanwhile_is_not_new(self, bench: OpenBench) -> None:
        session = bench()
        session.edit("fine\n")
        (session.root / "a.txt").write_text("BAD by others\n")
        assert session.found("BAD by others\nfine\n") == []

    def test_documents_that_others_changed_are_closed(self, bench: OpenBench) -> None:
        session = bench()
        session.edit("fine\n", "a.txt")
        (session.root / "a.txt").write_text("changed by others\n")
        session.edit("fine\n", "b.txt")
        wait_until(lambda: session.heard("didClose") == 1)

    def test_few_documents_stay_open(self, bench: OpenBench) -> None:
        session = bench()
        for number in range(12):
            session.edit("fine\n", f"{number}.txt")
        wait_until(lambda: session.heard("didClose") >= 3)

    def test_edits_at_the_same_time_get_their_own_answers(self, bench: OpenBench) -> None:
        session = bench()
        session.edit("fine\n")
        texts = {f"{number}.txt": "\n" * number + "BAD\n" for number in range(8)}
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda name: session.found(texts[name], name), texts))
        assert found == [[(number + 1, BAD)] for number in range(8)]


class TestWhatIsNotAsked:
    def test_files_outside_the_session_are_not(self, bench: OpenBench) -> None:
        session = bench()
        outside = session.root.parent / "outside.txt"
        (session.root / "link.txt").symlink_to(outside)
        assert session.found("BAD\n", "../outside.txt") == []
        assert session.found("BAD again\n", "link.txt") == []
        assert session.heard("start") == 0

    def test_files_of_other_languages_are_not(self, bench: OpenBench) -> None:
        session = bench()
        assert session.found("BAD\n", "a.other") == []
        assert session.heard("start") == 0

    def test_a_server_that_is_not_installed_costs_nothing(self, bench: OpenBench) -> None:
        session = bench(command=["no-such-language-server"])
        assert session.found("x = y\n", "a.py") == []
        assert session.notes == []

    def test_a_closed_session_does_not_ask(self, bench: OpenBench) -> None:
        session = bench()
        session.servers.close()
        assert session.found("BAD\n") == []
        assert session.heard("start") == 0

    def test_keys_are_not_in_its_environment(self, bench: OpenBench) -> None:
        session = bench()
        session.edit("fine\n")
        assert "key unseen" in session.log.read_text()


class TestTroublesomeServers:
    def test_one_that_never_answers_holds_up_the_first_edit_only(self, bench: OpenBench) -> None:
        session = bench("unstartable", limits=_SHORT)
        assert session.found("BAD\n") == []
        for number in range(400):  # if each of them waited, the test's time would be over
            assert session.found(f"BAD {number}\n") == []

    def test_a_silent_one_is_given_up_with_one_note(self, bench: OpenBench) -> None:
        session = bench("silent", limits=_SHORT)
        session.found("BAD\n")
        wait_until(lambda: session.heard("initialized") == 1, 20)
        for number in range(6):
            assert session.found(f"BAD {number}\n") == []
        assert len(session.notes) == 1
        assert "2 edits in a row got no answer" in session.notes[0]
        wait_until(lambda: all(has_ended(pid) for pid in session.pids()))

    def test_what_comes_too_late_is_told_with_the_next_edit(self, bench: OpenBench) -> None:
        session = bench("late", limits=LspLimits(wait=1.0, silences=99, quiet=0.03))
        while not session.heard("didOpen"):
            assert session.found("fine\nBAD early\n") == []
            (session.root / "a.txt").unlink()
        (session.root / "a.txt").write_text("fine\nBAD early\n")
        Path(f"{session.log}.go").touch()
        assert session.found("fine\nBAD early\nfine\n") == [(2, BAD)]
        assert session.found("fine\nBAD early\nfine\nfine\n") == []

    def test_one_that_crashes_is_started_again(self, bench: OpenBench) -> None:
        session = bench("crash-once")
        assert session.found("fine\n") == []
        wait_until(lambda: session.heard("initialized") == 2)
        wait_until(lambda: session.found(f"BAD {time.monotonic_ns()}\n") == [(1, BAD)])
        assert session.notes == []

    def test_one_that_always_crashes_is_given_up_with_one_note(self, bench: OpenBench) -> None:
        session = bench("crash")

        def given_up() -> bool:
            assert session.found(f"BAD {time.monotonic_ns()}\n") == []
            return bool(session.notes)

        wait_until(given_up, 20)
        session.edit("BAD at last\n")
        assert session.heard("start") == 4
        assert len(session.notes) == 1
        assert "exited with status 3" in session.notes[0]
        assert "BAD things happened" in session.notes[0]
        assert "lsp.servers" in session.notes[0]

    def test_one_that_is_no_server_is_given_up(self, bench: OpenBench) -> None:
        session = bench("rubbish", limits=LspLimits(wait=20, pauses=()))
        assert session.found("BAD\n") == []
        wait_until(lambda: bool(session.notes))
        assert "something else than messages" in session.notes[0]

    def test_a_cancel_is_heard_at_once(self, bench: OpenBench) -> None:
        session = bench("silent", limits=LspLimits(wait=60))
        session.token = CancelToken()

        def cancel_when_asked() -> None:
            wait_until(lambda: session.heard("didOpen") == 1, 20)
            session.token.cancel()

        canceller = threading.Thread(target=cancel_when_asked)
        canceller.start()
        with pytest.raises(ToolInterrupted):
            session.edit("BAD\n")
        canceller.join()


class TestTheEnd:
    def test_a_server_is_asked_to_go(self, bench: OpenBench, guardian: Guardian) -> None:
        session = bench()
        session.edit("fine\n")
        session.servers.close()
        assert session.heard("shutdown") == session.heard("exit") == 1
        assert all(has_ended(pid) for pid in session.pids())
        assert not guardian.groups()

    @pytest.mark.parametrize(
        "mode",
        [pytest.param("deaf", marks=pytest.mark.slow), "unstartable", pytest.param("flood", marks=pytest.mark.slow)],
    )
    def test_one_that_does_not_go_is_ended(self, bench: OpenBench, guardian: Guardian, mode: str) -> None:
        session = bench(mode, limits=LspLimits(wait=0.5))
        session.edit("fine\n")
        wait_until(lambda: session.heard("start") == 1)
        session.servers.close()
        assert all(has_ended(pid) for pid in session.pids())
        assert not guardian.groups()

    def test_the_guardian_knows_it_while_it_runs(self, bench: OpenBench, guardian: Guardian) -> None:
        session = bench()
        session.edit("fine\n")
        assert guardian.groups() == frozenset(session.pids())
