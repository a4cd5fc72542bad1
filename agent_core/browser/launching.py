"""Starts the driver and the browser, or connects to one that runs, and makes sure that ours ends."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_core.mcp.program_loop import programs_get
from tools.browser.port import BrowserError, find_chromium, missing
from tools.environments.child_env import child_environment
from tools.environments.guardian import Guardian, signal_group
from tools.environments.temp_directories import own_directory
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL, own_user
from tools.settings import BrowserSettings

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright, ProxySettings

log = logging.getLogger(__name__)

_START_SECONDS = 60.0
_END_SECONDS = 5.0
_MAX_REASON = 400
# What the driver does not switch off by itself: everything that would talk to others than the page's servers.
_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# It stays in front of the browser's name, whose process is the leader of its group.
_WRAPPER = '#!/bin/sh\necho "$$" > {note}\nexec {program} "$@"\n'


@dataclass(frozen=True, slots=True)
class Launched:
    """A browser in use. `group` is the process group of one that we started; None for somebody else's."""

    driver: Playwright
    browser: Browser
    context: BrowserContext
    group: int | None


def is_reached_through_us(settings: BrowserSettings) -> bool:
    """Whether the browser can use a proxy on this machine: one of another machine cannot."""
    if not settings.cdp_url:
        return True
    host = urlsplit(settings.cdp_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def launch(
    settings: BrowserSettings, proxy_port: int | None, guardian: Guardian, variables: Mapping[str, str]
) -> Launched:
    """A browser with an empty profile of its own; in a browser that runs already, a window of that kind.

    Args:
        variables: what its environment, and its driver's, is made from.

    Raises:
        BrowserError: it could not be started, or not be connected to.
    """
    try:
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 - only who browses pays for it
    except ImportError as problem:
        raise BrowserError(missing()) from problem
    with programs_get(child_environment(variables)):
        driver = await async_playwright().start()
    group: int | None = None
    try:
        if settings.cdp_url:
            browser = await driver.chromium.connect_over_cdp(settings.cdp_url, timeout=_START_SECONDS * 1000)
        else:
            browser, group = await _started(driver, settings, guardian, variables)
        # An address of loopback goes through the proxy too: nothing is to pass it by.
        proxy: ProxySettings | None = None
        if proxy_port is not None:
            proxy = {"server": f"http://127.0.0.1:{proxy_port}", "bypass": "<-loopback>"}
        context = await browser.new_context(
            proxy=proxy, accept_downloads=False, service_workers="block", viewport={"width": 1280, "height": 900}
        )
        return Launched(driver, browser, context, group)
    except BaseException as problem:
        _kill(group, guardian)
        with suppress(Exception):
            await asyncio.wait_for(driver.stop(), _END_SECONDS)
        if isinstance(problem, Error | OSError):
            what = f"connect to {settings.cdp_url}" if settings.cdp_url else "start the browser"
            raise BrowserError(f"Could not {what}: {_reason(str(problem))}") from problem
        raise


async def end(launched: Launched, guardian: Guardian) -> None:
    """Close what we opened: our window, and the browser if it is ours."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            await launched.context.close()
            await launched.browser.close()
    except Exception:  # one that hangs or is gone already ends below
        log.info("the browser did not close in order", exc_info=True)
    _kill(launched.group, guardian)
    try:
        await asyncio.wait_for(launched.driver.stop(), _END_SECONDS)
    except Exception:  # it ends with its input, at the latest when we do
        log.info("the browser's driver did not end in order", exc_info=True)


async def _started(
    driver: Playwright, settings: BrowserSettings, guardian: Guardian, variables: Mapping[str, str]
) -> tuple[Browser, int]:
    program = settings.executable or find_chromium()
    if program is None:
        raise BrowserError(missing())
    await asyncio.to_thread(guardian.ready)
    with own_directory("hermes-browser-") as folder:
        wrapper, note = folder / "browser", folder / "pid"
        await asyncio.to_thread(_write_wrapper, wrapper, note, program)
        environment: dict[str, str | float | bool] = dict(child_environment(variables))
        environment["BREAKPAD_DUMP_LOCATION"] = str(folder)  # else it makes a directory in the person's home
        browser = await driver.chromium.launch(
            executable_path=str(wrapper),
            args=list(_ARGUMENTS),
            env=environment,
            chromium_sandbox=own_user() != 0,
            # Signals are ours to answer.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=_START_SECONDS * 1000,
        )
        group = int(await asyncio.to_thread(note.read_text, encoding="ascii"))
    guardian.add(group)
    return browser, group


def _write_wrapper(wrapper: Path, note: Path, program: str) -> None:
    text = _WRAPPER.format(note=shlex.quote(str(note)), program=shlex.quote(program))
    wrapper.write_text(text, encoding="utf-8")
    wrapper.chmod(0o700)


def _kill(group: int | None, guardian: Guardian) -> None:
    if group is not None:
        signal_group(group, SIGKILL)
        guardian.discard(group)


def _reason(text: str) -> str:
    """The driver's words without the browser's own log, whose last line often tells more."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in reversed(lines) if "sandbox" in line.lower()), lines[0] if lines else "")
    return told[:_MAX_REASON]
