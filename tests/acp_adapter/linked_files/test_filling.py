"""Links become content: read through the gate, once each, bounded, and said in words where they are not read."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.content import Draft, Limits, text_part
from agent_core.callbacks import CallFinished, CallRequested
from agent_core.events import SaidLink, readable_error
from tests.support.link_bench import LinkBench
from tests.support.tool_context import ScriptedApprover
from tools.errors import ToolInterrupted
from tools.result import ShownText

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.fixture
def bench(tmp_path: Path) -> LinkBench:
    (tmp_path / "ws").mkdir()
    return LinkBench(tmp_path / "ws")


def _put(bench: LinkBench, name: str, content: str | bytes) -> str:
    path = bench.cwd / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path.as_uri()


class TestText:
    def test_a_file_stands_where_its_link_stood_with_its_lines_numbered(self, bench: LinkBench) -> None:
        uri = _put(bench, "a.py", "x = 1\ny = 2\n")
        draft = Draft((text_part("Look at"), SaidLink(uri, "a.py"), text_part("and mend it.")))
        assert bench.fill(draft) == (
            f'Look at\n\n<attached uri="{uri}">\n1|x = 1\n2|y = 2\n</attached>\n\nand mend it.'
        )

    @pytest.mark.parametrize("lines", ["#L2", "#L2-2", "#L2:2", "?symbol=f#L2:2"])
    def test_of_a_range_only_its_lines(self, bench: LinkBench, lines: str) -> None:
        uri = _put(bench, "a.py", "one\ntwo\nthree\n") + lines
        assert bench.read(uri, name="a.py") == f'<attached uri="{uri}" lines="2-2">\n2|two\n</attached>'

    def test_a_range_may_end_behind_the_file_and_not_begin_there(self, bench: LinkBench) -> None:
        uri = _put(bench, "a.py", "one\ntwo\n")
        assert 'lines="2-2">\n2|two\n</attached>' in bench.read(f"{uri}#L2-90")
        assert "not read: it has only 2 lines; line 7 does not exist." in bench.read(f"{uri}#L7-9")

    def test_a_symbol_is_named(self, bench: LinkBench) -> None:
        uri = _put(bench, "a.py", "def f(): ...\n") + "?symbol=f#L1:1"
        assert 'name="f" lines="1-1">' in bench.read(uri, name="f")

    def test_an_empty_file_is_said_to_be_empty(self, bench: LinkBench) -> None:
        assert "[The file is empty.]" in bench.read(_put(bench, "a.py", ""))

    @pytest.mark.parametrize(
        ("content", "shown", "note"),
        [
            ("\ufeffgrüße\n".encode(), "1|grüße\n", ""),
            ("grüße\n".encode("utf-16"), "1|grüße\n", "decoded as utf-16-le"),
            ("grüße\n".encode("latin-1"), "1|grüße\n", "decoded as latin-1"),
            (b"a\r\nb\r\n", "1|a\n2|b\n", ""),
        ],
    )
    def test_encodings_are_understood(self, bench: LinkBench, content: bytes, shown: str, note: str) -> None:
        text = bench.read(_put(bench, "a.txt", content))
        assert shown in text
        assert note in text

    def test_of_a_huge_file_the_head_is_read_and_how_to_go_on_is_said(self, bench: LinkBench) -> None:
        uri = _put(bench, "big.log", "".join(f"line {number}\n" for number in range(1, 50_001)))
        text = bench.read(uri)
        assert len(text) < 66_000
        shown = text.count("|line ")
        assert f"Shown are lines 1 to {shown} of 50,000 lines" in text
        assert f"offset={shown + 1})" in text

    def test_a_single_endless_line_is_cut(self, bench: LinkBench) -> None:
        text = bench.read(_put(bench, "a.min.js", "x" * 500_000))
        assert "line cut: it has 500,000 bytes" in text
        assert len(text) < 5_000

    def test_all_texts_together_are_bounded(self, bench: LinkBench) -> None:
        uris = [_put(bench, f"{number}.txt", "word\n" * 1000) for number in range(5)]
        text = bench.read(*uris, limits=Limits(text=2000, all_text=4500))
        assert text.count("<attached") == 2
        assert text.count("hold more text than fits. Read it with read_file(path=") == 3
        assert len(text) < 4500 + 3 * 400


class TestOtherContent:
    @pytest.mark.parametrize(
        ("head", "kind"),
        [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"GIF89a\x01\0", "image/gif"),
            (b"RIFF\x04\0\0\0WEBPVP8 ", "image/webp"),
        ],
    )
    def test_an_image_is_known_by_its_content_and_sent_as_one(self, bench: LinkBench, head: bytes, kind: str) -> None:
        data = base64.b64encode(head).decode()
        assert bench.read(_put(bench, "picture", head)) == [
            {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        ]

    def test_a_pdf_is_a_document_under_its_name(self, bench: LinkBench) -> None:
        (part,) = bench.read(_put(bench, "two words.pdf", b"%PDF-1.7\n\0"))
        assert part["file"]["filename"] == "two words.pdf"
        assert part["file"]["file_data"].startswith("data:application/pdf;base64,JVBERi0")

    def test_other_binaries_are_said_in_words_with_what_to_do(self, bench: LinkBench) -> None:
        text = bench.read(_put(bench, "a.zip", b"PK\x03\x04\0\0"))
        assert "it is a binary file, and no image or PDF. To look inside use the terminal" in text

    def test_attachments_are_bounded_each_and_together(self, bench: LinkBench) -> None:
        uris = [_put(bench, f"{number}.png", PNG + b"\0" * 1000) for number in range(3)]
        limits = Limits(attachment=1500, all_attachments=2500)
        parts = bench.read(*uris, limits=limits)
        assert [part["type"] for part in parts] == ["image_url", "image_url", "text"]
        assert "as image/png it is too large: the links of this prompt have left" in parts[2]["text"]
        assert "one may have 0.0 MiB" in bench.read(uris[0], limits=Limits(attachment=100))

    def test_a_directory_is_listed_in_order_with_its_directories_marked(self, bench: LinkBench) -> None:
        for name in ("b/x", "a.py", ".env", "é", "c/y"):
            _put(bench, f"d/{name}", "x")
        text = bench.read((bench.cwd / "d").as_uri() + "/")
        assert text.splitlines()[1:-1] == [".env", "a.py", "b/", "c/", "é"]
        assert 'kind="directory"' in text
        assert bench.asked == []

    def test_a_large_directory_is_listed_in_part(self, bench: LinkBench) -> None:
        for number in range(12):
            _put(bench, f"d/{number:02}", "")
        text = bench.read((bench.cwd / "d").as_uri(), limits=Limits(names=10))
        assert "Shown are 10 of 12 names; search_files" in text
        assert text.splitlines()[10] == "09"

    def test_names_in_a_listing_stay_on_their_line(self, bench: LinkBench) -> None:
        _put(bench, "d/two\nlines", "")
        assert "two lines" in bench.read((bench.cwd / "d").as_uri()).splitlines()

    def test_an_empty_directory_is_said_to_be_empty(self, bench: LinkBench) -> None:
        assert "[The directory is empty.]" in bench.read(bench.cwd.as_uri())

    def test_a_pipe_is_not_waited_for(self, bench: LinkBench) -> None:
        os.mkfifo(bench.cwd / "pipe")
        assert "a device, pipe or socket, not a regular file" in bench.read((bench.cwd / "pipe").as_uri())

    def test_what_is_not_there_is_said_with_what_to_do(self, bench: LinkBench) -> None:
        text = bench.read((bench.cwd / "gone.py").as_uri())
        assert f"not read: there is nothing at {bench.cwd}/gone.py." in text
        assert "search_files(target='files'), or ask the user.]" in text

    def test_its_card_says_it_to_the_person_in_words_without_the_models_tools(self, bench: LinkBench) -> None:
        bench.read((bench.cwd / "gone.py").as_uri(), _put(bench, "a.py", "one\n") + "#L7")
        missing, short = (event.result.text for event in bench.told if isinstance(event, CallFinished))
        assert readable_error(missing) == (
            f"There is nothing at {bench.cwd}/gone.py. It may have been moved or never saved. "
            "The model has its name only; link to it again once it is there."
        )
        assert readable_error(short).startswith("It has only 1 lines")

    @pytest.mark.parametrize("uri", ["https://docs.example/a", "zed:///agent/thread/1", "file:///C:/a.py"])
    def test_what_is_no_file_of_this_machine_is_named_without_a_card(self, bench: LinkBench, uri: str) -> None:
        assert bench.read(uri, name="the thing").startswith(f"[Linked: the thing, {uri}. It was not read: ")
        assert bench.told == []


class TestTheGate:
    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        path = tmp_path / "outside.txt"
        path.write_text("secret\nmore\n")
        return path

    def test_inside_nothing_is_asked_and_outside_it_is(self, bench: LinkBench, outside: Path) -> None:
        assert "1|x" in bench.read(_put(bench, "a.py", "x"))
        assert bench.asked == []
        assert "1|secret" in bench.read(outside.as_uri())
        assert bench.asked == [outside]

    def test_a_no_is_told_to_the_model_and_nothing_is_shown(self, bench: LinkBench, outside: Path) -> None:
        bench.approver.choice = "reject_once"
        text = bench.read(outside.as_uri())
        assert "secret" not in text
        assert "was not allowed (the user said no)" in text
        assert bench.story == [("turn-link-1", "requested"), ("turn-link-1", "failed")]

    @pytest.mark.parametrize("choice", ["allow_once", "reject_once"])
    def test_one_answer_holds_for_all_links_to_a_file(self, bench: LinkBench, outside: Path, choice: Any) -> None:
        bench.approver.choice = choice
        uri = outside.as_uri()
        text = bench.read(f"{uri}#L1", f"{uri}#L2", uri)
        assert bench.asked == [outside]
        assert text.count("secret") == (2 if choice == "allow_once" else 0)

    def test_sensitive_files_inside_are_asked_about(self, bench: LinkBench) -> None:
        bench.approver.choice = "reject_once"
        assert "KEY" not in bench.read(_put(bench, ".env", "KEY=1"))
        assert bench.asked == [bench.cwd / ".env"]

    def test_a_symbolic_link_is_asked_about_by_where_it_leads(self, bench: LinkBench, outside: Path) -> None:
        (bench.cwd / "a.txt").symlink_to(outside)
        bench.approver.choice = "reject_once"
        assert "secret" not in bench.read((bench.cwd / "a.txt").as_uri())
        assert bench.asked == [outside]

    def test_a_directory_outside_is_asked_about_once(self, bench: LinkBench, tmp_path: Path) -> None:
        (tmp_path / "other" / "sub").mkdir(parents=True)
        text = bench.read((tmp_path / "other").as_uri())
        assert "\nsub\n" in text
        assert "which names are directories is not told" in text
        assert bench.asked == [tmp_path / "other"]

    def test_a_cancel_ends_the_reading(self, bench: LinkBench, outside: Path) -> None:
        bench.approver.before_answer = bench.token.cancel
        with pytest.raises(ToolInterrupted):
            bench.read(outside.as_uri(), _put(bench, "a.py", "x"))
        assert bench.story == [("turn-link-1", "requested")]

    def test_a_file_that_vanishes_while_the_person_thinks_is_said_to_be_gone(
        self, bench: LinkBench, outside: Path
    ) -> None:
        bench.approver.before_answer = outside.unlink
        assert "there is nothing at" in bench.read(outside.as_uri())

    def test_a_file_that_becomes_a_link_elsewhere_meanwhile_is_not_followed(
        self, bench: LinkBench, outside: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "other.txt").write_text("other secret")

        def swap() -> None:
            outside.unlink()
            outside.symlink_to(tmp_path / "other.txt")

        bench.approver = ScriptedApprover(before_answer=swap)
        assert "other secret" not in bench.read(outside.as_uri())


class TestCards:
    def test_a_link_is_shown_as_a_call_with_its_place(self, bench: LinkBench) -> None:
        uri = _put(bench, "a.py", "one\ntwo\nthree\n")
        bench.read(f"{uri}#L2-3")
        requested, _, finished = bench.told
        assert bench.story == [("turn-link-1", step) for step in ("requested", "running", "completed")]
        assert isinstance(requested, CallRequested)
        assert isinstance(finished, CallFinished)
        path = str(bench.cwd / "a.py")
        assert requested.name == "read_file"
        assert requested.arguments == {"path": path, "linked": True, "offset": 2, "limit": 2}
        assert finished.result.facts == {"path": path, "line": 2}
        assert finished.result.shown == (ShownText("two\nthree", "py"),)

    def test_a_file_is_read_once_however_often_it_is_linked(self, bench: LinkBench) -> None:
        uri = _put(bench, "a.py", "x = 1\n")
        text = bench.read(uri, uri, uri.replace("/a.py", "/./a.py"))
        assert text.count("1|x = 1") == 1
        assert text.count("[Linked again: ") == 2
        assert len(bench.told) == 3

    def test_of_a_hundred_links_twenty_are_read_and_the_others_named(self, bench: LinkBench) -> None:
        uris = [_put(bench, f"{number}.txt", "x") for number in range(100)]
        text = bench.read(*uris)
        assert text.count("<attached") == 20
        assert text.count("a prompt's first 20 linked files are read") == 80
        assert all(f"/{number}.txt" in text for number in range(100))
        assert [step for _, step in bench.story].count("requested") == 20
