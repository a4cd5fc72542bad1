"""What `make lint` says of a lock that does not fit the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.lock_check import main

_HASH = f"--hash=sha256:{'a' * 64}"
_PROJECT = """
[project]
name = "my-project"
dependencies = ["one>=1.2,<2"]

[project.optional-dependencies]
far = ["two>=3"]
unused = ["nowhere>=1"]
dev = ["My_Project[far]", "three>=1"]
"""
_SOUND = {"one": f"one==1.5 \\\n    {_HASH} \\\n    {_HASH}\n", "two": f"Two==3.0 {_HASH}\n"}
_THREE = f"three==1.0 ; python_version < '3.12' {_HASH}\nthree==2.0 ; python_version >= '3.12' {_HASH}\n"


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def said(**changed: str) -> tuple[int, str]:
        lock, project = tmp_path / "a.lock", tmp_path / "a.toml"
        lock.write_text("# made\n" + "".join({**_SOUND, "three": _THREE, **changed}.values()))
        project.write_text(_PROJECT)
        return main(str(lock), str(project)), capsys.readouterr().err

    return said


def test_a_lock_that_fits_is_sound(said) -> None:
    assert said() == (0, "")


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"one": "one==1.5\n"}, "one 1.5 has no hashes"),
        ({"one": "one==1.5 --hash=md5:abc\n"}, "one 1.5 has no hashes, or others than sha256"),
        ({"one": f"one>=1.5 {_HASH}\n"}, "one is not pinned"),
        ({"one": f"one==1.* {_HASH}\n"}, "one is not pinned"),
        ({"one": f"one @ https://example.com/one.whl {_HASH}\n"}, "one is not pinned"),
        ({"one": f"one==1.1 {_HASH}\n"}, "one 1.1 is not <2,>=1.2"),
        ({"two": ""}, "two is missing"),
        ({"three": _THREE.replace("2.0", "0.9")}, "three 0.9 is not >=1"),
        ({"index": "--index-url https://example.com\n"}, "is no pinned package"),
    ],
)
def test_what_does_not_fit_is_named(said, changed: dict[str, str], wrong: str) -> None:
    code, text = said(**changed)
    assert code == 1
    assert wrong in text


def test_the_projects_own_lock_fits() -> None:
    root = Path(__file__).resolve().parents[2]
    assert main(str(root / "requirements.lock"), str(root / "pyproject.toml")) == 0
