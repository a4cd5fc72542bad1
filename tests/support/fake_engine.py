"""A `docker` that runs what it is told on this machine and keeps books: for arguments, lifetimes and cleanups.

It is a shell script, since it is started for every word that is said to an engine. A container's book `NAME.box` has
whether it runs in its first line, then its labels; `NAME.pids` has the groups of what runs in it, which
`DockerMachine` starts as groups of their own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

_PROGRAM = r"""#!{bash}
BOOKS={books}
for word; do printf '%s\037' "$word"; done >>"$BOOKS/log"
printf '\036' >>"$BOOKS/log"
fail() {{ printf '%s\n' "$1" >&2; exit 1; }}
[ ! -e "$BOOKS/down" ] ||
  fail "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
book() {{ [ -e "$BOOKS/$1.box" ] || fail "Error response from daemon: No such container: $1"; }}
state() {{ read -r state <"$BOOKS/$1.box"; }}
up() {{
  set -m
  # A container is nobody's child, and knows no variables of who has begun it.
  env -i "PATH=$PATH" sleep 600 </dev/null >/dev/null 2>&1 &
  set +m
  echo $! >"$BOOKS/$1.pids"
}}
down() {{
  while read -r pid; do kill -KILL "-$pid"; done <"$BOOKS/$1.pids"
  : >"$BOOKS/$1.pids"
}} 2>/dev/null
verb=$1
last=${{!#}}
case $verb in
run)
  labels=
  while [ $# -gt 0 ]; do
    case $1 in
    missing:1) fail "Unable to find image: pull access denied for missing, repository does not exist" ;;
    --name) name=$2 ;;
    --label=*) labels=$labels${{1#--label=}}$'\n' ;;
    esac
    shift
  done
  [ -z {disk} ] || rm -rf {disk}
  up "$name"
  printf 'true\n%s' "$labels" >"$BOOKS/$name.box"
  ;;
container) book "$last"; state "$last"; echo "$state" ;;
start | stop)
  book "$last"
  if [ "$verb" = start ]; then up "$last"; state=true; else down "$last"; state=false; fi
  labels=$(while read -r line; do [ -z "$skipped" ] || printf '%s\n' "$line"; skipped=yes; done <"$BOOKS/$last.box")
  printf '%s\n%s\n' "$state" "$labels" >"$BOOKS/$last.box"
  ;;
rm)
  shift
  for name; do
    case $name in -*) continue ;; esac
    book "$name"
    down "$name"
    rm -f "$BOOKS/$name.box" "$BOOKS/$name.pids"
  done
  ;;
ps)
  for word; do case $word in --filter=label=*) wanted=${{word#--filter=label=}} ;; esac; done
  for path in "$BOOKS"/*.box; do
    [ -e "$path" ] || continue
    name=${{path##*/}}
    while read -r line; do
      case $line in "$wanted"*) echo "${{name%.box}}"; break ;; esac
    done <"$path"
  done
  ;;
exec)
  shift
  terminal=
  while case $1 in -*) true ;; *) false ;; esac; do [ "$1" != -t ] || terminal=yes; shift; done
  book "$1"
  state "$1"
  [ "$state" = true ] || fail "Error response from daemon: container is not running"
  echo $$ >>"$BOOKS/$1.pids"
  shift
  # Containers have a disk of their own, which goes with them.
  export TMPDIR=$BOOKS
  [ -n "$terminal" ] || exec "$@"
  take='import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.system("stty sane")'
  exec {python} -ISc "$take; os.execvp(sys.argv[1], sys.argv[1:])" "$@"
  ;;
*) echo "[]" ;;
esac
"""


class FakeEngine:
    """Attributes:
    program: the path of its program.
    """

    def __init__(self, folder: Path, disk: Path | None = None) -> None:
        """`disk`: the directory of this machine that is a container's own; a new one has it empty."""
        self._books = folder / "books"
        self._books.mkdir(parents=True)
        self.program = folder / "docker"
        words = {"python": sys.executable, "books": str(self._books), "disk": str(disk or "")}
        shell = {name: shlex.quote(word) for name, word in words.items()}
        self.program.write_text(_PROGRAM.format(bash=shutil.which("bash") or "/bin/bash", **shell))
        self.program.chmod(0o755)

    def boxes(self) -> dict[str, bool]:
        """The containers there are, and whether each runs."""
        return {path.stem: path.read_text().startswith("true\n") for path in self._books.glob("*.box")}

    def add(self, name: str, labels: tuple[str, ...]) -> None:
        """A container that somebody else has made."""
        (self._books / f"{name}.box").write_text("".join(f"{line}\n" for line in ("true", *labels)))
        (self._books / f"{name}.pids").touch()

    def told(self, verb: str) -> list[list[str]]:
        """What it was told, of one kind."""
        calls = (self._books / "log").read_text().split("\x1e")[:-1]
        return [words for words in (call.split("\x1f")[:-1] for call in calls) if words[0] == verb]

    def go_down(self) -> None:
        """From now on nobody answers."""
        (self._books / "down").touch()

    def end(self) -> None:
        """Remove all that is left."""
        (self._books / "down").unlink(missing_ok=True)
        for name in self.boxes():
            os.spawnl(os.P_WAIT, str(self.program), "docker", "rm", "-f", name)
