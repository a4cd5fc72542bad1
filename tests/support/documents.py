"""Small documents for tests, made from nothing but the standard library."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def pdf(pages: Sequence[str]) -> bytes:
    """A PDF with one line of ASCII text on each page; '' makes an empty page."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """A zip archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pptx(slides: Sequence[tuple[Sequence[str], str]]) -> bytes:
    """A presentation: each slide's paragraphs, and its notes ('' for none)."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n, _ in enumerate(slides, 1))
    links = "".join(_link(f"rId{n}", "slide", f"slides/slide{n}.xml") for n, _ in enumerate(slides, 1))
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_SLIDE}" xmlns:r="{_OFFICE}"><p:sldIdLst>{ids}'
        "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _links(links),
    }
    for number, (paragraphs, notes) in enumerate(slides, 1):
        parts[f"ppt/slides/slide{number}.xml"] = _shape("sld", "title", paragraphs)
        if notes:
            link = _link("rId1", "notesSlide", f"../notesSlides/notesSlide{number}.xml")
            parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = _links(link)
            parts[f"ppt/notesSlides/notesSlide{number}.xml"] = _shape("notes", "body", [notes])
    return zipped(parts)


def xlsx(sheets: dict[str, str]) -> bytes:
    """A workbook: each sheet's `<row>` elements by its name. Style 1 is a date."""
    names = list(enumerate(sheets, 1))
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in names)
    links = "".join(_link(f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n, _ in names)
    styles = '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    parts: dict[str, str | bytes] = {
        "_rels/.rels": _links(_link("rId1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _links(links),
        "xl/styles.xml": f'<styleSheet xmlns="{_SHEET}">{styles}</styleSheet>',
    }
    for n, name in names:
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{sheets[name]}</sheetData></worksheet>'
        )
    return zipped(parts)


def opendocument(body: str) -> bytes:
    """An OpenDocument file with this content of its `office:body`."""
    names = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"))
    )
    content = f"<office:body>{body}</office:body>"
    return zipped({"content.xml": f"<office:document-content{names}>{content}</office:document-content>"})


def _shape(root: str, place: str, paragraphs: Sequence[str]) -> str:
    texts = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    return (
        f'<p:{root} xmlns:p="{_SLIDE}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr>'
        f'<p:ph type="{place}"/></p:nvPr></p:nvSpPr><p:txBody>{texts}</p:txBody></p:sp></p:spTree></p:cSld>'
        f"</p:{root}>"
    )


def _link(name: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def _links(links: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}">{links}</Relationships>'
