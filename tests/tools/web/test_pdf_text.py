"""PDFs as text: made here byte by byte, so that nothing but the reader is needed."""

from __future__ import annotations

import importlib.util

import pytest

from agent_core.cancel import CancelToken
from tools.errors import ToolInterrupted
from tools.ports import WebError
from tools.web.reading import pdf_text

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pypdf") is None, reason="needs the library of: pip install 'hermes-editor-agent[web]'"
)


def make_pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
    ]
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents {4 + 2 * number} 0 R /Resources {font} >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    return out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


def test_each_page_has_its_number() -> None:
    assert pdf_text(make_pdf("Hello", "World"), CancelToken()) == "[page 1 of 2]\nHello\n\n[page 2 of 2]\nWorld"


def test_time_that_is_over_leaves_the_rest_unread() -> None:
    text = pdf_text(make_pdf("Hello", "World"), CancelToken(), max_seconds=-1)
    assert text == "[… 2 more pages were not read …]"


def test_a_cancel_ends_the_reading() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolInterrupted):
        pdf_text(make_pdf("Hello"), token)


@pytest.mark.parametrize(
    "body", [b"%PDF-1.7\nrubbish", make_pdf("Hello")[:200], b"%PDF-"], ids=["rubbish", "cut", "empty"]
)
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_told(body: bytes) -> None:
    with pytest.raises(WebError, match=r"cannot be read|no text"):
        pdf_text(body, CancelToken())


def test_a_file_of_images_is_told() -> None:
    with pytest.raises(WebError, match="no text"):
        pdf_text(make_pdf(""), CancelToken())


def test_a_filter_that_nobody_knows_is_told() -> None:
    body = make_pdf("Hello").replace(b"<< /Length", b"<< /Filter /Nothing /Length")
    with pytest.raises(WebError, match="cannot be read"):
        pdf_text(body, CancelToken())
