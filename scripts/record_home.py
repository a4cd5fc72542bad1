"""`python -m scripts.record_home TREE OUT.tar.xz`: a home as the program in TREE leaves it when it is killed.

Run as root: the paths in the home are below /srv, where `home`, `project` and `nobody` must not be yet, and the
host's name and boot are made up, so that nothing in it tells where it was recorded.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.support.editor import PLAIN, Editor

HOME, PROJECT, NOBODY = Path("/srv/home"), Path("/srv/project"), Path("/srv/nobody")
PROGRAM = (sys.executable, "-P", "-m", "acp_adapter")
KEY = "sk-of-an-earlier-version-0123456789"
ELSEWHERE = """
import os
real = os.uname()
os.uname = lambda: os.uname_result((real.sysname, "somewhere", "6.1.0", "#1", real.machine))
"""
IN_A_NAMESPACE = """
hostname somewhere && echo 00000000-0000-4000-8000-000000000000 > "$1/boot" &&
mount --bind "$1/boot" /proc/sys/kernel/random/boot_id && shift && exec "$@"
"""
NOT_KEPT = ("logs", "hermes-acp.db-shm")
PROMPTS = (
    (
        "say The first turn.\nthink Somebody reads.\nread notes.txt\nwrite new.txt made by an earlier version\\n\n"
        "edit notes.txt two => three\nsay Two files were changed."
    ),
    "run echo counted > counted.txt\ntodo Read; Write; Check\nsay The command ran.",
    (
        'call memory {"action": "add", "target": "memory", "content": "The project is built with make."}\n'
        'call memory {"action": "add", "target": "user", "content": "Prefers short answers."}\nsay Remembered.'
    ),
)
LATER = ("/compact", "say After it.", "/title An earlier conversation")
BEHIND = 'call terminal {"command": "sleep 300", "background": true}\nsay It runs behind.'
CUT_OFF = "write half.txt half\\n\nsay This was shown before the end.\nsleep 100\nsay never"


async def converse(environ: dict[str, str]) -> None:
    """Have the conversations, and kill the agent in the last one."""
    editor = await Editor.spawn("--offline", env=environ, cwd=PROJECT, home=HOME, command=PROGRAM, check=False)
    editor.on_permission = _for_good
    await editor.initialize(PLAIN)
    session = await editor.new_session(PROJECT)
    for prompt in PROMPTS:
        await editor.prompt(session, prompt)
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
    for prompt in LATER:
        await editor.prompt(session, prompt)
    params = {"sessionId": session, "cwd": str(PROJECT), "mcpServers": []}
    await editor.prompt((await editor.request("session/fork", params))["sessionId"], "say In the fork.")
    await editor.prompt(await editor.new_session(PROJECT), BEHIND)
    last = await editor.new_session(PROJECT)
    turn = editor.begin_prompt(last, CUT_OFF)
    await editor.wait_for(lambda frame: frame.is_update(last, "agent_message_chunk") and "end" in str(frame.update))
    await asyncio.sleep(1.5)  # what is shown is stored each second
    if editor.process is not None:
        editor.process.send_signal(signal.SIGKILL)
        await editor.process.wait()
    turn.cancel()


async def _for_good(params: dict[str, Any]) -> str:
    offered = {option["optionId"] for option in params["options"]}
    return "allow_kept" if "allow_kept" in offered else "allow_once"


def record(tree: Path, out: Path, scratch: Path) -> None:
    """In the namespace: have all written, and pack it."""
    PROJECT.mkdir(parents=True)
    (PROJECT / "notes.txt").write_text("one\ntwo\n")
    (scratch / "sitecustomize.py").write_text(ELSEWHERE)
    environ = {"PATH": os.environ["PATH"], "HERMES_HOME": str(HOME), "HOME": str(NOBODY)}
    environ["PYTHONPATH"] = f"{tree}{os.pathsep}{scratch}"
    setup = ("setup", "--non-interactive", "--skip-test", "--provider", "openai", "--model", "gpt-5", "--key-stdin")
    subprocess.run([*PROGRAM, *setup], env=environ, input=KEY, text=True, check=True)
    asyncio.run(converse(environ))
    for path in [*(HOME / name for name in NOT_KEPT), *HOME.rglob("*.lock")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    with tarfile.open(out, "w:xz") as archive:
        for path in (HOME, PROJECT):
            archive.add(path, path.name, filter=_of_nobody)


def _of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def main() -> int:
    """Begin, or go on in the namespace."""
    tree, out, *namespace = (Path(word).resolve() for word in sys.argv[1:])
    if namespace:
        record(tree, out, namespace[0])
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        try:
            again = (sys.executable, "-m", "scripts.record_home", str(tree), str(out), scratch)
            words = ("unshare", "--mount", "--uts", "sh", "-c", IN_A_NAMESPACE, "sh", scratch, *again)
            return subprocess.run(words, check=False).returncode
        finally:
            for path in (HOME, PROJECT, NOBODY):
                shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
