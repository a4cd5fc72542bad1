"""The text of a PowerPoint presentation (Office Open XML): each slide's paragraphs and notes."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET

from tools.documents.archive import local_name, opened, xml_part

_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def slide_lines(stream: BinaryIO) -> Iterator[str]:
    """A line that names each slide, its paragraphs, and its notes behind `Notes:`."""
    archive = opened(stream)
    slides = _slides(archive)
    for number, name in enumerate(slides, 1):
        yield f"--- slide {number} of {len(slides)} ---"
        yield from _paragraphs(xml_part(archive, name))
        notes = [target for kind, target in _links(archive, name).values() if kind == "notesSlide"]
        for text in (text for target in notes for text in _paragraphs(xml_part(archive, target), body_only=True)):
            yield f"Notes: {text}"


def _slides(archive: zipfile.ZipFile) -> list[str]:
    """The slides' files in the order in which they are shown."""
    main = "ppt/presentation.xml"
    links = _links(archive, main)
    ids = [element.get(_LINK, "") for element in xml_part(archive, main).iter() if local_name(element) == "sldId"]
    return [links[key][1] for key in ids if key in links]


def _links(archive: zipfile.ZipFile, name: str) -> dict[str, tuple[str, str]]:
    """What a part refers to: by id, the kind of the other part and its name."""
    folder, base = posixpath.split(name)
    relations = f"{folder}/_rels/{base}.rels"
    if relations not in archive.namelist():
        return {}
    return {
        element.get("Id", ""): (
            element.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join(folder, element.get("Target", ""))).lstrip("/"),
        )
        for element in xml_part(archive, relations)
        if element.get("TargetMode") != "External"
    }


def _paragraphs(root: ET.Element, *, body_only: bool = False) -> Iterator[str]:
    shapes = [element for element in root.iter() if local_name(element) in {"sp", "graphicFrame"}]
    for shape in shapes:
        if body_only and not any(local_name(part) == "ph" and part.get("type") == "body" for part in shape.iter()):
            continue
        for paragraph in (element for element in shape.iter() if local_name(element) == "p"):
            text = "".join(_text(element) for element in paragraph.iter()).strip()
            if text:
                yield text


def _text(element: ET.Element) -> str:
    match local_name(element):
        case "t":
            return element.text or ""
        case "br" | "tab":
            return " "
    return ""
