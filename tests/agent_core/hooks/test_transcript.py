"""The conversation as a file for hooks: whole lines of all that is stored, whatever became of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_core.hooks.registry import Transcript
from agent_core.messages import Message, assistant_message, user_message


class Written:
    """A transcript and what it is made of."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "outputs" / "transcript.jsonl"
        self.messages: list[Message] = [user_message("one", "")]
        self.transcript = Transcript(self.path, "ses_1", lambda: self.messages)

    def texts(self) -> list[str]:
        assert self.transcript.current() == str(self.path)
        lines = [json.loads(line)["message"]["content"] for line in self.path.read_text().splitlines()]
        return [content if isinstance(content, str) else content[0]["text"] for content in lines]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_what_is_new_is_added(written: Written) -> None:
    assert written.texts() == ["one"]
    inode = written.path.stat().st_ino
    written.messages.append(assistant_message("two", (), ""))
    assert written.texts() == ["one", "two"]
    assert written.path.stat().st_ino == inode


@pytest.mark.parametrize("left", ["", '{"type": "user", "sess', '{"message": {"content": "of a hook"}}\n' * 9])
def test_a_file_that_was_cut_or_written_to_is_made_anew(written: Written, left: str) -> None:
    written.texts()
    written.path.write_text(left)
    written.messages.append(assistant_message("two", (), ""))
    assert written.texts() == ["one", "two"]


def test_what_was_taken_back_is_gone(written: Written) -> None:
    written.messages.append(assistant_message("two", (), ""))
    written.texts()
    written.messages[1:] = [assistant_message("three", (), "")]
    assert written.texts() == ["one", "three"]
