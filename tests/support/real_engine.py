"""A real container engine, where one runs here; its image is this machine's own programs, so nothing is fetched."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

IMAGE = "hermes-acp-test:1"
_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_FOLDERS = ("usr", "etc", "tmp", "proc", "sys", "dev", "root", "run", "var/tmp")
_INSTALL = "install one with: apt-get install podman runc uidmap, or docker.io"
# Where limits may not be raised and there is no cgroup v2, as in many sandboxes, these are what works.
_CONF = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{folder}/store"\nrunroot = "{folder}/run"\n'


@dataclass(frozen=True, slots=True)
class RealEngine:
    """`volumes` are what a container needs of this machine to have programs."""

    program: str
    volumes: tuple[str, ...]


@contextmanager
def real_engine(folder: Path) -> Iterator[RealEngine]:
    """The engine; skips the test where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "image.tar").write_bytes(_image())
    volumes = ("/usr:/usr:ro",)
    problems = []
    with pytest.MonkeyPatch.context() as patch:
        for program, runtime in (("docker", ""), ("podman", "crun"), ("podman", "runc")):
            if shutil.which(program) is None:
                continue
            if runtime:
                (folder / "containers.conf").write_text(_CONF.format(runtime=runtime))
                (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
                patch.setenv("CONTAINERS_CONF", str(folder / "containers.conf"))
                patch.setenv("CONTAINERS_STORAGE_CONF", str(folder / "storage.conf"))
            if problem := _try(program, folder, volumes):
                problems.append(f"{program} {runtime}: {problem}")
                continue
            try:
                yield RealEngine(program, volumes)
            finally:
                _run(program, "rmi", "-f", IMAGE)
            return
    pytest.skip(f"No container engine runs here ({'; '.join(problems) or 'none is installed'}); {_INSTALL}")


def _try(program: str, folder: Path, volumes: tuple[str, ...]) -> str:
    """Why it does not work; '' where it does."""
    for words in (
        ("import", str(folder / "image.tar"), IMAGE),
        (
            "run",
            "--rm",
            "--network=none",
            "--pids-limit=1024",
            *(f"--volume={each}" for each in volumes),
            IMAGE,
            "true",
        ),
    ):
        if problem := _run(program, *words):
            return problem
    return ""


def _run(program: str, *words: str) -> str:
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "it does not answer"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]


def _image() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as image:
        for name in _FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
            image.addfile(entry)
        for name, target in _LINKS.items():
            if Path("/", name).is_symlink():
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                image.addfile(entry)
        for name, text in {"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n"}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            image.addfile(entry, io.BytesIO(text.encode()))
    return held.getvalue()
