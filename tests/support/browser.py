"""A real browser without a window, driven through its debugging pipe: for tests of pages."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 40.0
VARIABLE = "TEST_BROWSER"
MISSING = f"there is no Chromium on PATH: apt-get install --no-install-recommends chromium, or name one in {VARIABLE}"
# The browser reads its commands from descriptor 3 and answers on 4.
_START = """
import fcntl, os, sys
to_read, to_write = (fcntl.fcntl(int(number), fcntl.F_DUPFD_CLOEXEC, 10) for number in sys.argv[1:3])
os.dup2(to_read, 3)
os.dup2(to_write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_ARGUMENTS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)
CONTRASTS = """
(() => {
  const parse = (colour) => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return [...found.slice(0, 3), found[3] ?? 1];
  };
  const over = (top, under) => top.slice(0, 3).map((value, place) => value * top[3] + under[place] * (1 - top[3]));
  const light = (colour) => {
    const [red, green, blue] = colour
      .map((value) => value / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest('script, .readout')) continue;
    const line = [];
    for (let each = element; each; each = each.parentElement) line.unshift(each);
    let ground = [255, 255, 255];
    for (const each of line) ground = over(parse(getComputedStyle(each).backgroundColor), ground);
    const ink = over(parse(getComputedStyle(element).color), ground);
    const [high, low] = [light(ink), light(ground)].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) poor.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...poor];
})()
"""
"""Elements whose text has too little contrast to its ground (WCAG 2, 4.5 to 1); a page without is fine."""


def find_browser() -> str | None:
    """The browser's program; None where there is none."""
    named = os.environ.get(VARIABLE)
    return named or next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser process with one page; a context manager that ends it.

    Attributes:
        complaints: errors on the console, exceptions and refused loads since `open`.
    """

    def __init__(self, program: str, profile: Path) -> None:
        self.complaints: list[str] = []
        self._numbers = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._loaded: set[str] = set()
        self._rest = b""
        self._scripts = True
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        start = [sys.executable, "-c", _START, str(to_read), str(to_write)]
        command = [*start, program, *_ARGUMENTS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write),
        )
        os.close(to_read)
        os.close(to_write)
        self._session: str | None = None

    def __enter__(self) -> Self:
        try:
            self._attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _attach(self) -> None:
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self._call("Page.setLifecycleEventsEnabled", enabled=True)

    def __exit__(self, *_error: object) -> None:
        os.close(self._to)  # it ends when its pipe does
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)

    def open(self, page: Path, *, width: int = 1200, height: int = 900, scripts: bool = True, **media: str) -> None:
        """Show `page`.

        Args:
            scripts: whether its scripts run.
            media: `media` («print»), and features with underscores: prefers_color_scheme="dark".
        """
        kind = media.pop("media", "")
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self._call("Emulation.setEmulatedMedia", media=kind, features=features)
        self._scripts = scripts
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width, height)
        self._load("about:blank")
        self.complaints.clear()
        self._load(page.as_uri())

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def run(self, script: str) -> Any:
        """What `script`, an expression, yields once its promise, if it is one, is kept."""
        found = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{script}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def move_to(self, selector: str) -> tuple[float, float]:
        """Bring the mouse over the first element that `selector` finds; where that is."""
        x, y = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, selector: str) -> None:
        """Click on the first element that `selector` finds, with the mouse."""
        x, y = self.move_to(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def type(self, text: str) -> None:
        """Type `text` into what has the focus."""
        self._call("Input.insertText", text=text)
        self.settle()

    def press(self, key: str) -> None:
        """Press a key that writes `key`."""
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def wait_until(self, condition: str) -> None:
        """Wait until `condition`, an expression, holds."""
        self.run(
            f"new Promise((done) => {{ const look = () => {condition} ? done(true) : requestAnimationFrame(look);"
            " look(); })"
        )

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        if not self._scripts:  # nor do the page's own clocks run
            self._call("Page.captureScreenshot")
            return
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._numbers += 1
        message: dict[str, Any] = {"id": self._numbers, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _SECONDS
        while self._numbers not in self._answers:
            self._read(deadline)
        answer = self._answers.pop(self._numbers)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _load(self, address: str) -> None:
        loader = self._call("Page.navigate", url=address)["loaderId"]
        deadline = time.monotonic() + _SECONDS
        while loader not in self._loaded:
            self._read(deadline)

    def _read(self, deadline: float) -> None:
        ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(self._from, 1 << 20) if ready else b""
        if not data:
            raise AssertionError("the browser did not answer")
        *messages, self._rest = (self._rest + data).split(b"\0")
        for message in messages:
            self._take(json.loads(message))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        method, params = message["method"], message.get("params", {})
        if method == "Page.lifecycleEvent" and params["name"] == "load":
            self._loaded.add(params["loaderId"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning"}:
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(params["entry"]["text"])
