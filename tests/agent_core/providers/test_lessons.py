"""Lessons: what a refusal taught about a model's server is kept for a week, for each server and model."""

from __future__ import annotations

import json

import pytest

from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.lessons import FILE_NAME, LASTING, Lessons, adapted, answer_limit
from tests.support.choices import choice_for
from tests.support.each import each

NOW = 1_000_000.0
CHOICE = choice_for("http://h/v1", dialect=Dialect(audio=True, files=True, cache_key=True, effort="reasoning_effort"))


def names(lessons, choice=CHOICE):
    return [lesson.name for lesson in lessons.of(choice)]


def test_a_lesson_holds_for_its_server_and_model_alone(tmp_path):
    lessons = Lessons(tmp_path / FILE_NAME, lambda: NOW)
    lessons.keep(CHOICE, ["images"])
    assert names(lessons) == ["images"]
    assert names(lessons, choice_for("http://h/v1", model="another")) == []
    assert names(lessons, choice_for("http://other/v1")) == []


def test_a_lesson_is_known_to_other_processes_and_forgotten_after_a_week(tmp_path):
    Lessons(tmp_path / FILE_NAME, lambda: NOW).keep(CHOICE, ["images", "stream_options"])
    assert names(Lessons(tmp_path / FILE_NAME, lambda: NOW + LASTING - 1)) == ["images", "stream_options"]
    later = Lessons(tmp_path / FILE_NAME, lambda: NOW + LASTING + 1)
    assert names(later) == []
    later.keep(choice_for("http://other/v1"), ["temperature"])
    assert len(json.loads((tmp_path / FILE_NAME).read_text())["servers"]) == 1


def test_lessons_that_the_person_wants_forgotten_are_forgotten(tmp_path):
    lessons = Lessons(tmp_path / FILE_NAME, lambda: NOW)
    lessons.keep(CHOICE, ["images"])
    assert [lesson.name for lesson in lessons.forget(CHOICE)] == ["images"]
    assert names(lessons) == names(Lessons(tmp_path / FILE_NAME, lambda: NOW)) == []
    assert lessons.forget(CHOICE) == []


@pytest.mark.parametrize("content", ["", "[]", '{"servers": []}', '{"servers": {"%s": 5}}', "\udcff"])
def test_a_file_of_lessons_that_is_damaged_teaches_nothing_and_the_next_lesson_is_kept(tmp_path, content):
    path = tmp_path / FILE_NAME
    path.write_text(content, errors="surrogateescape")
    lessons = Lessons(path, lambda: NOW)
    assert names(lessons) == []
    lessons.keep(CHOICE, ["images"])
    assert names(Lessons(path, lambda: NOW)) == ["images"]


def test_a_lesson_that_cannot_be_written_holds_for_this_process(tmp_path):
    (tmp_path / "file").touch()
    lessons = Lessons(tmp_path / "file" / FILE_NAME, lambda: NOW)
    lessons.keep(CHOICE, ["images"])
    assert names(lessons) == ["images"]
    lessons.forget(CHOICE)
    assert names(lessons) == []


def test_the_file_of_lessons_holds_no_key_and_no_password(tmp_path):
    choice = choice_for("http://user:secret@h/v1?key=secret", api_key="sk-secret")
    Lessons(tmp_path / FILE_NAME, lambda: NOW).keep(choice, ["images"])
    assert "secret" not in (tmp_path / FILE_NAME).read_text()


@each(
    ("name", "changed"),
    [
        ("stream_options", {"stream_usage": False}),
        ("prompt_cache_key", {"cache_key": False}),
        ("max_tokens", {"max_tokens_field": "max_completion_tokens"}),
        ("documents", {"files": False}),
        ("recordings", {"audio": False}),
        ("optional fields", {"stream_usage": False, "cache_key": False, "effort": "none", "temperature": False}),
        ("what a later version knows", {}),
    ],
)
def test_a_lesson_changes_what_the_server_is_sent_and_nothing_else(name, changed):
    dialect = adapted(CHOICE, [name]).dialect
    assert {key: getattr(dialect, key) for key in changed} == changed
    assert adapted(adapted(CHOICE, [name]), [name]) == adapted(CHOICE, [name])


def test_a_model_that_takes_no_images_counts_as_blind_whatever_is_known_of_it():
    sees = choice_for("http://h/v1", facts=ModelFacts(vision=True))
    assert adapted(sees, ["images"]).facts.vision is False


@pytest.mark.parametrize("entry", ['"max_tokens <= 8k": 1000001', '"images": 1' + "0" * 400, '"images": "soon"'])
def test_an_entry_of_the_file_of_lessons_that_makes_no_sense_changes_nothing(tmp_path, entry):
    lessons = Lessons(tmp_path / FILE_NAME, lambda: NOW)
    lessons.keep(CHOICE, ["x"])
    path = tmp_path / FILE_NAME
    key = next(iter(json.loads(path.read_text())["servers"]))
    path.write_text(f'{{"version": 1, "servers": {{{json.dumps(key)}: {{{entry}}}}}}}')
    assert Lessons(path, lambda: NOW).adapted(CHOICE) == CHOICE


def test_a_limit_of_the_answer_is_never_raised():
    choice = choice_for("http://h/v1", max_tokens=100, facts=ModelFacts(max_output=5000))
    assert adapted(choice, [answer_limit(800)]).max_tokens == 100
    assert adapted(choice, [answer_limit(800)]).facts.max_output == 800
    assert adapted(choice, [answer_limit(50)]).max_tokens == 50
