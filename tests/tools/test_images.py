"""What an image is, told from its bytes alone."""

from __future__ import annotations

from tests.support.each import each
from tests.support.images import gif, jpeg, png, webp
from tools.images import MAX_IMAGE_BYTES, MAX_SIDE, ImageFacts, image_facts, other_format, refusal


@each(
    ("data", "kind"),
    [
        (png(300, 200), "png"),
        (gif(300, 200), "gif"),
        (jpeg(300, 200), "jpeg"),
        (jpeg(300, 200, before=b"\xff\xc0 a thumbnail in the camera's own words" * 500), "jpeg"),
        (webp(300, 200), "webp"),
        (webp(300, 200, b"VP8L"), "webp"),
        (webp(300, 200, b"VP8X"), "webp"),
    ],
)
def test_format_and_size_are_read_from_the_beginning(data: bytes, kind: str):
    assert image_facts(data) == ImageFacts(f"image/{kind}", 300, 200)


@each("whole", [png(300, 200), gif(300, 200), jpeg(300, 200), webp(300, 200), webp(9, 9, b"VP8X")])
def test_a_cut_off_image_is_no_error(whole: bytes):
    for length in range(len(whole)):
        facts = image_facts(whole[:length])
        assert facts is None or facts.mime_type == image_facts(whole).mime_type


def test_a_jpeg_whose_segments_lead_nowhere_has_no_size():
    assert image_facts(b"\xff\xd8\xff\xe0\x00\x00" + b"\xff" * 100) == ImageFacts("image/jpeg")


@each(
    ("data", "name"),
    [
        (b"BM6\0\0\0", "BMP"),
        (b"II*\0\x08\0", "TIFF"),
        (b"\0\0\0\x18ftypheic\0\0", "HEIC"),
        (b"\0\0\0\x18ftypmp42\0\0", ""),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<svg/>', "SVG"),
        (b"<html><body>", ""),
        (b"", ""),
    ],
)
def test_what_models_do_not_take_is_named(data: bytes, name: str):
    assert image_facts(data) is None
    assert other_format(data) == name


def test_the_largest_image_is_taken_and_the_next_larger_is_not():
    assert refusal(ImageFacts("image/png", MAX_SIDE, MAX_SIDE), MAX_IMAGE_BYTES) == ""
    assert "MB" in refusal(ImageFacts("image/png", 10, 10), MAX_IMAGE_BYTES + 1)
    assert "8001×10 pixels" in refusal(ImageFacts("image/png", MAX_SIDE + 1, 10), 99)
