"""Random edits by tools, commands and foreign hands, then random undos and redos, held against what was there."""

from __future__ import annotations

import os
import random
import shlex

import pytest

from agent_core.errors import RequestError
from tests.support.file_bench import SESSION, FileBench

NAMES = ["a", "b", "c.sh", "d/e", "d/f g", "ü/ß", os.fsdecode(b"caf\xe9")]
TREES = ["t", "t/u", "t/u/v", "w"]


class Scene:
    """A bench, and who was the last to change which file."""

    def __init__(self, directory, seed):
        self.bench = FileBench(directory)
        self.random = random.Random(seed)
        self.foreign: dict[str, bytes] = {}
        for name in self.random.sample(NAMES, 4):
            self._put(name, self._content())

    def change(self):
        """One change by a tool or a command."""
        self.random.choice([self._write, self._write, self._remove, self._rename, self._command])()

    def disturb(self):
        """One change by somebody else."""
        name = self.random.choice(NAMES)
        content = b"foreign " + self._content()
        self._put(name, content)
        self.foreign[name] = content

    def kept_what_is_foreign(self):
        return all(self.bench.path(name).read_bytes() == content for name, content in self.foreign.items())

    def _write(self):
        name = self.random.choice(NAMES)
        self._ours(name)
        self.bench.write(name, self._content())

    def _remove(self):
        if name := self._existing():
            self._ours(name)
            self.bench.remove(name)

    def _rename(self):
        name, target = self._existing(), self.random.choice(NAMES)
        if name and not self.bench.path(target).exists():
            self._ours(name)
            self.bench.rename(name, target)

    def _command(self):
        name, other = (self.random.choice(NAMES) for _ in range(2))
        self._ours(name)
        self._ours(other)
        first, second = (b"./" + os.fsencode(shlex.quote(one)) for one in (name, other))
        tree = os.fsencode(self.random.choice(TREES))
        commands = [
            b"echo %d > %s" % (self.random.randrange(100), first),
            b"rm -f %s" % first,
            b"mv -f %s %s" % (first, second),
            b"cp %s %s" % (first, second),
            b"chmod %o %s" % (self.random.choice([0o755, 0o600, 0o644]), first),
            b"ln -sf target%d %s" % (self.random.randrange(9), b"link"),
            b"rm -rf %s; mkdir -p $(dirname %s); echo %d > %s" % (tree, tree, self.random.randrange(9), tree),
            b"rm -rf t; mkdir -p t/u/v; echo deep > t/u/v/w",
            b'python3 -c \'open("unforeseen", "a").write("x")\'',
        ]
        self.bench.run(os.fsdecode(self.random.choice(commands)))

    def _existing(self):
        names = [name for name in NAMES if self.bench.path(name).exists()]
        return self.random.choice(names) if names else None

    def _ours(self, name):
        self.foreign.pop(name, None)

    def _content(self):
        return self.random.choice([b"", b"\0\1", b"line\n"]) * self.random.randrange(50) + self.random.randbytes(3)

    def _put(self, name, content):
        path = self.bench.path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def some_of(seeds, most):
    """The first `most` of them always, the others in the long runs."""
    return [pytest.param(seed, marks=[pytest.mark.long] if at >= most else []) for at, seed in enumerate(seeds)]


@pytest.mark.parametrize("seed", some_of(range(20), 7))
def test_every_undo_and_redo_leads_to_the_state_that_was(tmp_path, seed):
    scene = Scene(tmp_path, seed)
    bench, states = scene.bench, [scene.bench.snapshot()]
    for _ in range(12):
        if len(states) < 3 or scene.random.random() < 0.5:
            bench.begin()
            for _ in range(scene.random.randrange(6)):
                scene.change()
            states = [*states[: bench_turns(bench)], bench.snapshot()]
            continue
        for back in [scene.random.randrange(1, 3) for _ in range(scene.random.randrange(1, 4))]:
            rewind(bench, states, lambda back=back: bench.undo(back))
        for _ in range(scene.random.randrange(3)):
            rewind(bench, states, bench.redo)
    bench.database.close()


def bench_turns(bench):
    return len(bench.rows("SELECT 1 FROM turns WHERE undone = 0"))


def rewind(bench, states, action):
    try:
        report = action()
    except RequestError:
        return
    assert (report.failed, report.kept, report.trouble) == ((), (), "")
    assert bench.snapshot() == states[bench_turns(bench)]


@pytest.mark.parametrize("seed", some_of(range(100, 115), 5))
def test_what_someone_else_wrote_last_is_never_lost(tmp_path, seed):
    scene = Scene(tmp_path, seed)
    bench = scene.bench
    for _ in range(10):
        bench.begin()
        for _ in range(scene.random.randrange(5)):
            scene.random.choice([scene.change, scene.change, scene.disturb])()
        if scene.random.random() < 0.5:
            scene.disturb()
        for _ in range(scene.random.randrange(3)):
            action = scene.random.choice(
                [lambda: bench.undo(1, lambda step: False), lambda: bench.redo(lambda step: False)]
            )
            try:
                assert action().trouble == ""
            except RequestError:
                continue
            assert scene.kept_what_is_foreign()
    assert bench.rows("SELECT count(*) FROM file_versions WHERE session_id = ?", SESSION) > [(0,)]
    bench.database.close()
