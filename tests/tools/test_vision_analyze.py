"""`vision_analyze`: the image itself for a model that sees, an answer for one that does not."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import tools.vision_analyze  # noqa: F401 - registers the tool
from tests.support.images import jpeg, png
from tests.support.tool_context import PlanInMemory, ScriptedApprover, call, error_of, make_context, payload
from tools.context import LatePorts, ToolContext
from tools.errors import ToolError
from tools.images import MAX_IMAGE_BYTES
from tools.ports import Interrupt, WebRequest, WebResponse
from tools.registry import registry
from tools.result import ResultImage, ToolResult

QUESTION = "What does it show?"


@dataclass
class Eyes(PlanInMemory):
    """A model that sees, beside one that does not."""

    answer: str = "a cat"
    shown: list[tuple[ResultImage, str]] = field(default_factory=list)

    def look(self, image: ResultImage, question: str, interrupt: Interrupt) -> str:
        self.shown.append((image, question))
        if not self.answer:
            raise ToolError("Nobody could look at it.")
        return self.answer


@dataclass
class Site:
    """The web, with one answer."""

    response: WebResponse
    asked: list[WebRequest] = field(default_factory=list)

    def fetch(self, request: WebRequest, interrupt: Interrupt) -> WebResponse:
        self.asked.append(request)
        return self.response


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "cat photo.png"
    path.write_bytes(png(30, 20))
    return path


def seeing(cwd: Path, **options: object) -> ToolContext:
    return replace(make_context(cwd), images=lambda: True, **options)


def look(ctx: ToolContext, source: str) -> ToolResult:
    return call(ctx, "vision_analyze", image_url=source, question=QUESTION)


@pytest.mark.parametrize("written", ["cat photo.png", "{path}", "file://{quoted}", "data:image/png;base64,{data}"])
def test_a_model_that_sees_is_given_the_image(tmp_path: Path, picture: Path, written: str):
    data = base64.b64encode(picture.read_bytes()).decode()
    source = written.format(path=picture, quoted=str(picture).replace(" ", "%20"), data=data)
    result = look(seeing(tmp_path), source)
    (image,) = result.images
    assert (image.data, image.mime_type) == (picture.read_bytes(), "image/png")
    assert payload(result)["format"] == "PNG, 30×20 pixels"


def test_the_bytes_say_what_an_image_is_and_not_its_name(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(jpeg(3, 2))
    (image,) = look(seeing(tmp_path), "a.png").images
    assert image.mime_type == "image/jpeg"


def test_for_a_model_that_does_not_see_another_answers(tmp_path: Path, picture: Path):
    eyes = Eyes()
    result = look(make_context(tmp_path, agent=eyes), picture.name)
    assert payload(result)["answer"] == "a cat"
    assert result.images == ()
    ((image, question),) = eyes.shown
    assert (image.data, image.name, question) == (picture.read_bytes(), picture.name, QUESTION)


def test_where_nobody_sees_the_reason_is_told(tmp_path: Path, picture: Path):
    assert "Nobody" in error_of(look(make_context(tmp_path, agent=Eyes(answer="")), picture.name))
    assert "no model" in error_of(look(make_context(tmp_path), picture.name))


def test_an_image_from_the_web_is_fetched_within_the_limit(tmp_path: Path):
    url = "https://host.example/a.png"
    site = Site(WebResponse(url, 200, {"content-type": "image/png"}, png(30, 20)))
    result = look(seeing(tmp_path, late=LatePorts(web=lambda: site)), url)
    assert result.images[0].data == png(30, 20)
    assert [(request.url, request.max_bytes) for request in site.asked] == [(url, MAX_IMAGE_BYTES)]


@pytest.mark.parametrize(
    ("status", "kind", "body", "told"),
    [
        (404, "image/png", b"", "status 404"),
        (200, "text/html; charset=utf-8", b"<html>", "no image but text/html"),
        (200, "image/tiff", b"II*\0", "is TIFF"),
    ],
)
def test_what_the_web_gives_instead_of_an_image_is_told(
    tmp_path: Path, status: int, kind: str, body: bytes, told: str
):
    url = "https://host.example/a.png"
    site = Site(WebResponse(url, status, {"content-type": kind}, body))
    assert told in error_of(look(seeing(tmp_path, late=LatePorts(web=lambda: site)), url))


def test_without_the_web_a_url_is_an_error(tmp_path: Path):
    assert "web cannot be reached" in error_of(look(seeing(tmp_path), "https://host.example/a.png"))


def test_a_file_that_is_too_large_is_read_no_further_than_the_limit(tmp_path: Path):
    big = tmp_path / "big.png"
    big.write_bytes(png(30, 20))
    with big.open("r+b") as stream:
        stream.truncate(1 << 30)  # sparse
    told = error_of(look(seeing(tmp_path), "big.png"))
    assert "1073.7 MB" in told
    assert "smaller" in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (png(9000, 10), "9000×10 pixels"),
        (b"just text", "no image"),
        (b"<svg></svg>", "is SVG"),
        (b"", "no image"),
    ],
)
def test_what_models_do_not_take_is_refused_with_what_to_do(tmp_path: Path, content: bytes, told: str):
    (tmp_path / "a").write_bytes(content)
    assert told in error_of(look(seeing(tmp_path), "a"))


@pytest.mark.parametrize("source", ["data:image/png;base64,&&&", "data:image/png,raw", "data:"])
def test_a_data_url_that_cannot_be_read_is_told(tmp_path: Path, source: str):
    assert "data URL" in error_of(look(seeing(tmp_path), source))


def test_a_file_outside_the_workspace_is_not_read_without_a_yes(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / ".ssh").mkdir()
    secret = tmp_path / ".ssh" / "id_rsa"
    secret.write_bytes(png())
    approver = ScriptedApprover(choice="reject_once")
    ctx = replace(make_context(tmp_path / "in", approver=approver), images=lambda: True)
    assert "no" in error_of(look(ctx, str(secret)))
    assert len(approver.asked) == 1


@pytest.mark.parametrize("arguments", [{"image_url": " ", "question": "x"}, {"image_url": "a.png", "question": " "}])
def test_an_empty_argument_is_named(tmp_path: Path, arguments: dict[str, str]):
    assert "image_url" in error_of(call(seeing(tmp_path), "vision_analyze", **arguments))


def test_only_files_are_places_that_a_look_works_on():
    paths = registry.get("vision_analyze").paths_fn
    assert [
        list(paths({"image_url": url})) for url in ("a.png", "file:///srv/a%20b.png", "http://h/a", "data:,")
    ] == [
        ["a.png"],
        ["/srv/a b.png"],
        [],
        [],
    ]


def test_the_definition_is_short():
    assert len(json.dumps(registry.get("vision_analyze").definition())) <= 300


@pytest.mark.parametrize("url", ["file://[x", "data:image/png;base64,\u00e9"])
def test_a_url_that_is_none_is_told(tmp_path: Path, url: str) -> None:
    assert "Give the path of a file" in error_of(
        call(make_context(tmp_path), "vision_analyze", image_url=url, question="?")
    )
