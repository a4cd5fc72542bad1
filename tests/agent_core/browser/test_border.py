"""What a page may reach: tabs are asked about, redirects too, and public pages get nothing of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agent_core.browser.network import Border
from tools.approval.actions import ReachHost
from tools.errors import Denied
from tools.ports import WebError

NAMES = {
    "docs.example.org": ["93.184.216.34"],
    "cdn.example.org": ["93.184.216.35"],
    "sly.example.org": ["93.184.216.34", "127.0.0.1"],
    "localhost": ["127.0.0.1"],
    "127.0.0.1": ["127.0.0.1"],
    "169.254.169.254": ["169.254.169.254"],
    "meta.example.org": ["169.254.169.254"],
}


def find(host: str, port: int) -> Sequence[str]:
    if host not in NAMES:
        raise OSError("no such name")
    return NAMES[host]


class Person:
    def __init__(self, *, says_no: bool = False) -> None:
        self.asked: list[tuple[str, str]] = []
        self.says_no = says_no

    def __call__(self, action: ReachHost) -> None:
        self.asked.append((action.place, action.inside))
        if self.says_no:
            raise Denied("The person said no.")


class Setting:
    def __init__(self, *, allow_private: bool = False) -> None:
        self.tops: list[str] = []
        self.find = find
        self.border = Border(lambda: self.tops, allow_private=allow_private, find=self.found)
        self.person = Person()

    def found(self, host: str, port: int) -> Sequence[str]:
        return self.find(host, port)


@pytest.fixture
async def setting() -> Setting:
    return Setting()


async def test_a_tab_is_asked_about_once_for_each_place(setting):
    with setting.border.working(setting.person):
        for path in ("a", "b"):
            await setting.border.enter(f"https://docs.example.org/{path}")
        await setting.border.enter("https://docs.example.org:8443/")

    assert setting.person.asked == [("docs.example.org", ""), ("docs.example.org:8443", "")]


async def test_a_name_that_leads_inside_is_asked_about_as_what_it_is(setting):
    with setting.border.working(setting.person):
        await setting.border.enter("https://sly.example.org/")
        await setting.border.enter("http://localhost:3000/")

    assert setting.person.asked == [
        ("sly.example.org", ""),
        ("sly.example.org", "this machine"),
        ("localhost:3000", "this machine"),
    ]


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://meta.example.org/"])
async def test_a_cloud_s_keys_are_for_nobody(setting, url):
    with setting.border.working(setting.person), pytest.raises(WebError, match="metadata"):
        await setting.border.enter(url)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "chrome://settings", "ftp://docs.example.org/", "javascript:1"]
)
async def test_only_the_web_is_opened(setting, url):
    with setting.border.working(setting.person), pytest.raises(WebError, match="http or https"):
        await setting.border.enter(url)

    assert setting.person.asked == []


async def test_a_page_goes_nowhere_new_while_no_tool_is_at_work(setting):
    with pytest.raises(WebError, match="while no tool"):
        await setting.border.enter("https://docs.example.org/")


async def test_a_no_is_not_asked_again_in_the_same_call(setting):
    setting.person.says_no = True
    with setting.border.working(setting.person):
        for _ in range(2):
            with pytest.raises(Denied):
                await setting.border.enter("https://docs.example.org/")

    assert len(setting.person.asked) == 1


async def test_what_a_public_page_loads_from_inside_is_refused(setting):
    await entered(setting, "https://docs.example.org/", "http://localhost:3000/")

    with pytest.raises(WebError, match="this machine: refused"):
        await setting.border.load("http://localhost:3000/secret", "https://docs.example.org/")
    await setting.border.load("http://localhost:3000/app.js", "http://localhost:3000/")
    await setting.border.load("https://cdn.example.org/x.js", "https://docs.example.org/")


async def test_a_connection_inside_is_refused_while_a_public_page_is_open(setting):
    await entered(setting, "https://docs.example.org/", "http://localhost:3000/")
    setting.tops = ["https://docs.example.org/"]
    with setting.border.working(setting.person), pytest.raises(WebError, match="refused"):
        await setting.border.reach("http://localhost:3000/")

    setting.tops = ["http://localhost:3000/"]
    assert await setting.border.reach("http://localhost:3000/") == ["127.0.0.1"]


async def test_a_page_of_this_machine_that_needs_another_server_of_it_is_asked_about(setting):
    await entered(setting, "http://localhost:3000/")
    setting.tops = ["http://localhost:3000/"]
    with setting.border.working(setting.person):
        await setting.border.reach("http://localhost:8000/")

    assert setting.person.asked[-1] == ("localhost:8000", "this machine")


async def test_where_a_tab_is_redirected_to_is_asked_about(setting):
    with setting.border.working(setting.person):
        await setting.border.enter("https://docs.example.org/")
        setting.border.begin("way", "https://docs.example.org/")
        await setting.border.reach("https://docs.example.org/")
        await setting.border.reach("https://cdn.example.org/")
        setting.border.end("way")

    assert setting.person.asked == [("docs.example.org", ""), ("cdn.example.org", "")]


async def test_what_a_page_loads_from_public_hosts_is_not_asked_about(setting):
    await entered(setting, "https://docs.example.org/")
    await setting.border.load("https://cdn.example.org/x.js", "https://docs.example.org/")
    with setting.border.working(setting.person):
        assert await setting.border.reach("https://cdn.example.org/") == ["93.184.216.35"]

    assert setting.person.asked == [("docs.example.org", "")]


async def test_a_name_that_changes_its_mind_is_refused(setting):
    await entered(setting, "https://docs.example.org/")
    setting.tops = ["https://docs.example.org/"]
    setting.find = lambda host, port: ["127.0.0.1"]

    with pytest.raises(WebError, match="this machine: refused"):
        await setting.border.reach("https://docs.example.org/")


async def test_private_places_can_be_like_any_other():
    setting = Setting(allow_private=True)
    await entered(setting, "http://localhost:3000/")

    assert setting.person.asked == [("localhost:3000", "")]


async def test_the_person_s_time_is_counted():
    setting = Setting()
    asked, answered = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(_action: ReachHost) -> None:
        loop.call_soon_threadsafe(asked.set)
        asyncio.run_coroutine_threadsafe(answered.wait(), loop).result()

    with setting.border.working(slow):
        entering = asyncio.ensure_future(setting.border.enter("https://docs.example.org/"))
        await asked.wait()
        assert setting.border.is_under_way
        before = setting.border.waited()
        answered.set()
        await entering

    assert not setting.border.is_under_way
    assert setting.border.waited() >= before > 0


async def entered(setting: Setting, *urls: str) -> None:
    with setting.border.working(setting.person):
        for url in urls:
            await setting.border.enter(url)


async def test_a_script_of_the_model_s_asks_for_new_places(setting):
    await entered(setting, "https://docs.example.org/")
    await setting.border.load("https://docs.example.org/x.js", "https://docs.example.org/", is_driven=True)
    with setting.border.working(setting.person):
        await setting.border.load("https://cdn.example.org/?data", "https://docs.example.org/", is_driven=True)
    with pytest.raises(WebError, match="no tool was at work"):
        await setting.border.load("https://other.example.org/?data", "https://docs.example.org/", is_driven=True)

    assert setting.person.asked == [("docs.example.org", ""), ("cdn.example.org", "")]
