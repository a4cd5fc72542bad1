"""`FilesSeen`: what a session's model knows of files."""

from __future__ import annotations

import threading
from pathlib import Path

from tools.files.seen import DocumentText, FilesSeen, digest_of

ONE, TWO = digest_of(b"one"), digest_of(b"two")


def test_pages_of_the_same_content_come_together(tmp_path: Path):
    seen = FilesSeen()
    for page in ((1, 5), (11, 15), (6, 8)):
        seen.note(tmp_path / "a", ONE, pages=[page], total=15)
    known = seen.known(tmp_path / "a")
    assert known is not None
    assert known.pages == ((1, 8), (11, 15))
    assert [known.shows(*page) for page in ((2, 8), (8, 11), (11, 15), (15, 16))] == [True, False, True, False]
    assert not known.whole
    seen.note(tmp_path / "a", ONE, pages=[(9, 10)], total=15)
    assert (known := seen.known(tmp_path / "a")) is not None
    assert known.whole


def test_other_content_begins_anew(tmp_path: Path):
    seen = FilesSeen()
    seen.note(tmp_path / "a", ONE, pages=[(1, 5)], whole=True)
    seen.note(tmp_path / "a", TWO, pages=[(6, 7)])
    known = seen.known(tmp_path / "a")
    assert known is not None
    assert (known.digest, known.pages, known.whole) == (TWO, ((6, 7),), False)


def test_an_empty_file_is_known_whole(tmp_path: Path):
    seen = FilesSeen()
    seen.note(tmp_path / "a", ONE, pages=[(1, 0)], total=0)
    known = seen.known(tmp_path / "a")
    assert known is not None
    assert (known.pages, known.whole) == ((), True)


def test_an_edit_of_a_known_file_keeps_it_known_but_its_lines_have_moved(tmp_path: Path):
    seen = FilesSeen()
    seen.note(tmp_path / "a", ONE, pages=[(1, 3)], total=3)
    seen.edited(tmp_path / "a", ONE, TWO)
    known = seen.known(tmp_path / "a")
    assert known is not None
    assert (known.digest, known.pages, known.whole) == (TWO, (), True)


def test_an_edit_of_what_was_not_read_makes_nothing_known(tmp_path: Path):
    seen = FilesSeen()
    seen.edited(tmp_path / "a", ONE, TWO)
    assert seen.known(tmp_path / "a") is None
    seen.note(tmp_path / "b", ONE)
    seen.edited(tmp_path / "b", TWO, digest_of(b"three"))
    known = seen.known(tmp_path / "b")
    assert known is not None
    assert known.digest == ONE


def test_a_file_is_one_under_all_its_names(tmp_path: Path):
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "a").touch()
    (tmp_path / "link").symlink_to("dir")
    seen = FilesSeen()
    seen.note(tmp_path / "link" / "a", ONE)
    assert seen.known(tmp_path / "dir" / "a") is not None
    assert seen.paths() == (tmp_path / "dir" / "a",)


def test_the_latest_files_are_remembered(tmp_path: Path):
    seen = FilesSeen(max_files=2)
    for name in ("a", "b", "a", "c"):
        seen.note(tmp_path / name, ONE)
    assert seen.paths() == (tmp_path / "c", tmp_path / "a")


def test_everything_is_forgotten_at_once(tmp_path: Path):
    seen = FilesSeen()
    seen.note(tmp_path / "a", ONE, whole=True)
    seen.forget_all()
    assert seen.known(tmp_path / "a") is None


def test_few_documents_are_kept():
    seen = FilesSeen()
    for name in "abcdef":
        seen.keep_document(DocumentText((name,), "", name))
    assert [seen.document(name) is not None for name in "abcdef"] == [False, False, True, True, True, True]


def test_many_threads_may_note(tmp_path: Path):
    seen = FilesSeen()
    begin = threading.Barrier(8)

    def note(number: int) -> None:
        begin.wait()
        for line in range(50):
            seen.note(tmp_path / "a", ONE, pages=[(number * 50 + line + 1,) * 2], total=400)

    threads = [threading.Thread(target=note, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = seen.known(tmp_path / "a")
    assert known is not None
    assert known.pages == ((1, 400),)
