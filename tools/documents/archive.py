"""Documents that are zip archives of XML files, opened with care: small files can unpack to huge ones."""

from __future__ import annotations

import re
import zipfile
from typing import BinaryIO
from xml.etree import ElementTree as ET

from tools.documents.unreadable import Unreadable

_MAX_FILES = 20_000
_MAX_BYTES = 256 << 20
_MAX_PART_BYTES = 48 << 20
_DOCTYPE = re.compile(rb"<!DOCTYPE|<!ENTITY", re.IGNORECASE)


def opened(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive, after a look at what it says it will unpack to (Python unpacks no more than that).

    Raises:
        Unreadable: it is no zip archive, or too big.
    """
    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as problem:
        raise Unreadable(f"it is no whole zip archive ({problem})") from problem
    files = archive.infolist()
    size = sum(file.file_size for file in files)
    if len(files) > _MAX_FILES or size > _MAX_BYTES:
        raise Unreadable(f"it unpacks to {len(files):,} files with {size:,} bytes, which is too much")
    if any(file.flag_bits & 1 for file in files):
        raise Unreadable("it is protected by a password; ask the user for a copy without one")
    return archive


def xml_part(archive: zipfile.ZipFile, name: str) -> ET.Element:
    """The root element of an XML file of the archive.

    Raises:
        Unreadable: it is missing, too big, or no XML without a document type.
    """
    try:
        size = archive.getinfo(name).file_size
    except KeyError as problem:
        raise Unreadable(f"it has no part {name}") from problem
    if size > _MAX_PART_BYTES:
        raise Unreadable(f"its part {name} has {size:,} bytes, which is too much")
    data = archive.read(name)
    if _DOCTYPE.search(data):
        raise Unreadable(f"its part {name} defines entities, which no office program writes")
    try:
        return ET.fromstring(data)  # noqa: S314 - it has no entities, and this process has limits
    except ET.ParseError as problem:
        raise Unreadable(f"its part {name} is no XML ({problem})") from problem


def local_name(element: ET.Element) -> str:
    """The element's name without its namespace; '' for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
