"""A hostile repository runs nothing: whoever opens it, whatever is done in it, with a sandbox and without one.

The corpus is `tests/support/hostile_repositories`. Each kind has a control, which does run its program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.hostile_repositories import KINDS, Kind, Site, make_site, make_template
from tests.support.hostile_repositories.control import run_plainly
from tests.support.hostile_repositories.git_settings import DIFF, LOG, STATUS
from tests.support.hostile_repositories.life import Opened, Watch, live, refuse, runs, say_hello
from tests.support.hostile_repositories.processes import Surroundings, why_nobody_else
from tests.support.hostile_repositories.site import SYSTEM_PATH
from tests.support.in_memory import OFFLINE, serving
from tests.support.settings_files import configure
from tests.support.throwaway.machine import why_not
from tools.environments.sandbox.probe import why_none

_SHORT_FORM = KINDS[::5]
_NAMES = (

    "core.fsmonitor", "filter behind four mebibytes", "partial clone through ext", "empty .git with a hostile parent",
    "commondir whose path ends in a blank", "git in an activated .venv", "submodule with a filter",
    "gpg.program of a signed commit",
)  # fmt: skip

_FEW = [kind for kind in KINDS if kind.name in _NAMES]
"""For what takes long: one of each sort."""

in_namespace = pytest.mark.skipif(bool(why_not()), reason=why_not())


def _each(kinds: Collection[Kind]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in kinds])


def _long_and_slow(*, short: Collection[Kind]) -> pytest.MarkDecorator:
    """The short form of a matrix in the long tests, the rest in the slow ones."""
    marks = {True: pytest.mark.long, False: pytest.mark.slow}
    parameters = [pytest.param(kind, id=kind.name, marks=marks[kind in short]) for kind in KINDS]
    return pytest.mark.parametrize("kind", parameters)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("hostile") / "template")


@pytest.fixture
def built(kind: Kind, template: Path, tmp_path: Path) -> Site:
    if kind.needs_root and os.geteuid() != 0:
        pytest.skip("only root can give a repository to somebody else")
    if missing := [name for name in kind.needs if shutil.which(name, path=SYSTEM_PATH) is None]:
        pytest.skip(f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})")
    return make_site(template, tmp_path / "site", kind)


@pytest.fixture
def site(kind: Kind, built: Site, home: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The kind; and this process is as an editor's would be that was started from a terminal in its folder."""
    for name, value in kind.environment(built).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", kind.search_path(built, os.environ["PATH"]))
    monkeypatch.chdir(kind.folder(built))
    configure(home, kind.settings)
    return built


@pytest.fixture(params=["sandbox", "no sandbox"])
def has_sandbox(request: pytest.FixtureRequest) -> bool:
    if request.param == "sandbox" and (reason := why_none()):
        pytest.skip(f"no sandbox works here: {reason}")
    return bool(request.param == "sandbox")


@pytest.fixture
def unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.environments.sandbox.probe.MECHANISMS", ())


@pytest.fixture
def opened(home: Path) -> Opened:
    @asynccontextmanager
    async def open_server() -> AsyncIterator[Editor]:
        async with serving(home, config=ConfigSource(Home(home), OFFLINE), front_door=True) as editor:
            yield editor

    return open_server


@_each(KINDS)
async def test_a_hostile_repository_that_is_opened_and_looked_at_runs_nothing(
    kind: Kind, site: Site, opened: Opened
) -> None:
    await say_hello(opened, kind, site)


@in_namespace
@pytest.mark.long
@_each(KINDS)
def test_the_control_of_a_hostile_repository_does_run_its_program(kind: Kind, built: Site) -> None:
    printed = run_plainly(built, kind)
    assert built.is_sprung, printed


@_long_and_slow(short=_SHORT_FORM)
async def test_a_hostile_repository_runs_nothing_whatever_a_session_does(
    kind: Kind, site: Site, opened: Opened, has_sandbox: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_sandbox:
        monkeypatch.setattr("tools.environments.sandbox.probe.MECHANISMS", ())
    await live(opened, kind, site)


@pytest.fixture(params=["this user", "another user"])
def as_somebody(request: pytest.FixtureRequest) -> bool:
    if request.param == "another user" and (reason := why_nobody_else()):
        pytest.skip(reason)
    return bool(request.param == "another user")


@in_namespace
@pytest.mark.timeout(300)
@_long_and_slow(short=_FEW)
async def test_a_hostile_repository_runs_nothing_in_a_process(
    kind: Kind, built: Site, has_sandbox: bool, as_somebody: bool
) -> None:
    around = Surroundings(built, kind, as_somebody, has_sandbox)
    around.prepare()

    @asynccontextmanager
    async def open_process() -> AsyncIterator[Editor]:
        async with await around.editor() as editor:
            yield editor

    await live(open_process, kind, built)
    watch = Watch(built)
    assert "git" in around.run("doctor")
    watch.look("doctor")
    agent = () if has_sandbox else ("--agent", around.agent())
    assert "hello" in around.run("prompt", *agent, *(() if agent else ("--offline",)), "say hello")
    watch.look("prompt")
    watch.report()


async def _try_commands(opened: Opened, folder: Path, commands: list[str], watch: Watch) -> list[str]:
    """Have the model run commands, with a person who refuses; which of them were asked about.

    Raises:
        Sprung: one of them ran a program of the repository's.
    """
    asked: list[str] = []

    async def refusing(params: dict[str, Any]) -> str:
        asked.append(params["toolCall"].get("rawInput", {}).get("command", ""))
        return await refuse(params)

    async with opened() as editor:
        editor.on_permission = refusing
        await editor.initialize()
        session = await editor.new_session(folder)
        for command in commands:
            await watch.prompt(editor, session, f"`{command}`", runs(command, timeout=2))
    watch.report()
    return asked


@pytest.mark.usefixtures("unconfined")
@_each(_FEW)
async def test_a_git_command_that_would_run_a_program_asks_where_no_sandbox_works(
    kind: Kind, site: Site, opened: Opened
) -> None:
    asked = await _try_commands(opened, kind.folder(site), [kind.control], Watch(site))
    assert asked == [kind.control]


@pytest.mark.long
@pytest.mark.usefixtures("unconfined")
@_each(KINDS)
async def test_no_command_of_the_model_runs_a_hostile_program_unasked_where_no_sandbox_works(
    kind: Kind, site: Site, opened: Opened
) -> None:
    await _try_commands(opened, kind.folder(site), [STATUS, LOG, DIFF, kind.control], Watch(site))


@pytest.mark.usefixtures("unconfined")
async def test_git_commands_that_only_look_ask_nobody_in_a_plain_repository(
    template: Path, tmp_path: Path, opened: Opened
) -> None:
    site = make_site(template, tmp_path / "site")
    commands = [STATUS, LOG, DIFF, "git log -3 --stat", "git show"]
    assert await _try_commands(opened, site.workspace, commands, Watch(site)) == []


def test_a_hostile_program_that_runs_is_noticed_also_where_it_can_write_nothing(
    template: Path, tmp_path: Path
) -> None:
    site = make_site(template, tmp_path / "site")
    assert not site.is_sprung
    assert not site.was_started
    subprocess.run([site.trap], check=False)
    assert site.is_sprung
    if os.statvfs(site.trap).f_flag & os.ST_NOATIME:
        pytest.skip("this disk does not note when a file was read")
    assert site.was_started
    site.arm()
    assert not site.is_sprung
    assert not site.was_started


def test_the_corpus_of_hostile_repositories_is_as_large_as_it_claims() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names)) >= 200
