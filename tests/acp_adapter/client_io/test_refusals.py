"""Which errors of an editor mean that it cannot write, and which that nobody is to."""

from __future__ import annotations

from acp_adapter.client_io.calls import EditorRefused
from acp_adapter.client_io.files import in_its_words, means_no
from tests.support.each import each


@each(
    ("code", "text"),
    [
        (-32601, "Method not found"),
        (-32602, "Invalid params: path"),
        (-32603, "Internal error"),
        (-32603, "the formatter failed"),
        (-32603, "cannot write /srv/a: FileNotFoundError"),
        (-32002, "Resource not found: /srv/a"),
        (-32603, "Access denied: /srv/a is outside the workspace"),
        (-32603, "path is not in the project, writing it is not allowed"),
        (0, "its answer to fs/write_text_file is no object"),
    ],
)
def test_what_it_cannot_do(code: int, text: str) -> None:
    assert not means_no(EditorRefused(code, text))


@each(
    ("code", "text"),
    [
        (-32603, "The buffer is read-only."),
        (-32603, "readonly"),
        (-32603, "EACCES: permission denied, open '/srv/a'"),
        (-32603, "PermissionError"),
        (-32603, "The user rejected the edit"),
        (-32603, "Edit was declined"),
        (-32603, "Writing this file is not allowed"),
        (-32603, "file can't be modified"),
        (-32602, "refused"),
        (-32603, "the document has unsaved changes"),
        (-32603, "file is locked"),
        (-32800, "Request cancelled"),
        (-32000, "Authentication required"),
        (-31999, "no"),
        (1, ""),
    ],
)
def test_what_must_not_be_done(code: int, text: str) -> None:
    assert means_no(EditorRefused(code, text))


def test_its_words_are_bounded_and_on_one_line() -> None:
    assert in_its_words(EditorRefused(-32603, "a\nb")) == "«a b» (-32603)"
    assert len(in_its_words(EditorRefused(-32603, "x" * 9000))) < 400
