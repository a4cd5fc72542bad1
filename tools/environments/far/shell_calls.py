"""Files of a machine without python3: each call is a short script of POSIX shell and the usual small programs.

What is resolved and what is touched are two steps here: a link that somebody puts between the two is followed. The
content that a change was made from is compared by its SHA-256.
"""

from __future__ import annotations

import hashlib
from typing import Any

from tools.environments.far.file_calls import Told
from tools.environments.far.link import Link
from tools.environments.far.wrapping import new_token, quoted
from tools.errors import CommandError, FileAccessError

_SECONDS = 120.0
_MOST_WORDS = 200
_COMMON = """
no() { echo "no $1"; exit 0; }
refuse() { echo "refused $1 $2"; exit 0; }
facts() { stat -c "$1" "$3" 2>/dev/null || stat -f "$2" "$3"; }
sum() { { sha256sum <"$1" || shasum -a 256 <"$1" || openssl dgst -sha256 -r <"$1"; } 2>/dev/null | cut -c 1-64; }
d=${p%/*}; d=${d:-/}
settled() {
  case $p in /*) ;; *) no EINVAL ;; esac
  [ -d "$d" ] || { [ -e "$d" ] && no ENOTDIR; no ENOENT; }
  [ "$(cd -P "$d" 2>/dev/null && pwd -P)" = "$d" ] || no ELOOP
}
plain() {
  [ -d "$p" ] && refuse kind directory
  [ -e "$p" ] || { [ -h "$p" ] && no ELOOP; no ENOENT; }
  [ -f "$p" ] || refuse kind other
}
same() { [ "$(sum "$p")" = "$expected" ] || refuse changed; }
t=$d/$temporary
whole() { [ "$(wc -c <"$t")" -eq "$size" ] || { rm -f "$t"; no EIO; }; }
"""
_SCRIPTS = {
    "stat": """
settled; [ -h "$p" ] && no ELOOP; [ -e "$p" ] || no ENOENT
k=other; [ -f "$p" ] && k=file; [ -d "$p" ] && k=directory
echo "ok $k $(facts '%s %Y %a' '%z %m %Lp' "$p")"
""",
    "read": """
settled; plain; [ -h "$p" ] && no ELOOP; [ -r "$p" ] || no EACCES
n=$(wc -c <"$p"); [ "$n" -gt "$most" ] && refuse size "$n"
echo ok; [ -z "$begin" ] || exec head -c "$begin" "$p"
exec cat "$p"
""",
    "create": """
[ -e "$p" ] || [ -h "$p" ] && refuse exists
mkdir -p "$d" 2>/dev/null || no EACCES
settled; cat >"$t" || { rm -f "$t"; no EACCES; }
whole
ln "$t" "$p" 2>/dev/null && { rm -f "$t"; echo ok; exit 0; }
[ -e "$p" ] || [ -h "$p" ] && { rm -f "$t"; refuse exists; }
mv "$t" "$p" && echo ok
""",
    "write": """
settled; plain; [ -h "$p" ] && no ELOOP
same
if (umask 077; cat >"$t"); then
  whole
  o=$(facts %u:%g %u:%g "$p")
  [ "$(facts %u:%g %u:%g "$t")" = "$o" ] || chown "$o" "$t" 2>/dev/null || kept=no
  chmod "$(facts %a %Lp "$p")" "$t"
  [ "$(sum "$p")" = "$expected" ] || { rm -f "$t"; refuse changed; }
  # Who may not give a file away leaves it whose it is.
  [ -z "$kept" ] || { cat "$t" >"$p" || kept=; rm -f "$t"; [ -n "$kept" ] && echo ok || no EACCES; exit 0; }
  mv -f "$t" "$p" && echo ok
else
  rm -f "$t"; no EACCES
fi
""",
    "list": """
settled; [ -h "$p" ] && no ELOOP; [ -e "$p" ] || no ENOENT; [ -d "$p" ] || no ENOTDIR; [ -r "$p" ] || no EACCES
echo ok; cd "$p" || exit 0
for f in * .[!.]* ..?*; do [ -e "$f" ] || [ -h "$f" ] || continue; printf '%s\\000' "$f"; done
""",
    "remove": 'settled; plain; same; rm -f "$p" && echo ok || no EACCES',
    "rename": """
settled; [ -e "$p" ] || [ -h "$p" ] || no ENOENT
t=${target%/*}; t=${t:-/}
if [ -h "$p" ] && [ "$d" != "$t" ]; then case $(readlink "$p") in /*) ;; *) refuse link ;; esac; fi
mkdir -p "$t" || no EACCES
[ "$(cd -P "$t" && pwd -P)" = "$t" ] || no ELOOP
[ -e "$target" ] || [ -h "$target" ] && refuse exists
[ -h "$p" ] || { ln "$p" "$target" 2>/dev/null && rm -f "$p" && { echo ok; exit 0; }; }
[ -e "$target" ] && refuse exists
mv "$p" "$target" && echo ok
""",
    "mode": 'settled; plain; [ -h "$p" ] && no ELOOP; chmod "$mode" "$p" && echo ok || no EPERM',
    "resolve": """
q=$p; rest=
while [ ! -e "$q" ] && [ ! -h "$q" ] && [ "$q" != / ]; do rest=/${q##*/}$rest; q=${q%/*}; q=${q:-/}; done
r=$(readlink -f "$q" 2>/dev/null) || r=$(realpath "$q" 2>/dev/null) || r=$(cd -P "$q" 2>/dev/null && pwd -P) || r=$q
[ "$r" = / ] && [ -n "$rest" ] && r=
echo ok; printf '%s%s' "$r" "$rest"
""",
    "leads": """
echo ok; IFS=; tr '\\000' '\\n' | while read -r w; do
  for f in $w; do [ -e "$f" ] && { readlink -f "$f" || realpath "$f"; } 2>/dev/null; done
done | sort -u | head -n 5000 | tr '\\n' '\\000'
""",
    "times": """
echo ok; tr '\\000' '\\n' | while IFS= read -r f; do facts %Y %m "$f" 2>/dev/null || echo 0; done
""",
}


class ShellCalls:
    """Implements `FileCalls`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        """One request."""
        values = {"p": path, "begin": "", "kept": "", "temporary": f".hermes-{new_token()}.tmp"}
        given = body
        if do == "write":
            given, expected = body[fields["expected"] :], body[: fields["expected"]]
            values["expected"] = hashlib.sha256(expected).hexdigest()
        elif do == "remove":
            given, values["expected"] = b"", hashlib.sha256(body).hexdigest()
        elif do in {"times", "leads"}:
            given = body + b"\0"
        # A connection that breaks off ends an input as well: what came then is not all of it.
        values["size"] = str(len(given))
        values |= {name: str(value) for name, value in fields.items() if name in {"most", "target", "begin"}}
        if "mode" in fields:
            values["mode"] = f"{fields['mode']:o}"
        setting = "".join(f"{name}={quoted(value)}\n" for name, value in values.items())
        self._link.footing()
        try:
            output = self._link.output_of(f"{setting}{_COMMON}{_SCRIPTS[do]}", given=given, seconds=_SECONDS)
        except CommandError as problem:
            raise FileAccessError(f"{path} could not be asked for ({do}): {problem}") from problem
        try:
            return _told(do, output)
        except (ValueError, IndexError) as problem:
            words = " ".join(output[:_MOST_WORDS].decode(errors="replace").split())
            raise FileAccessError(
                f"The shell of {self._link.machine.name} gave no answer that means anything when {path} was asked "
                f"for ({do}): {words!r}. It needs stat, wc, cat and the like, as most systems have them."
            ) from problem

    def close(self) -> None:
        """Nothing goes on between two calls."""


def _told(do: str, output: bytes) -> tuple[Told, bytes]:
    line, _, data = output.partition(b"\n")
    verdict, *words = line.decode(errors="replace").split() or ["no"]
    if verdict == "refused":
        return {"refused": words[0], "text": " ".join(words[1:])}, b""
    if verdict != "ok":
        return {"errno": words[0] if words else "EIO", "text": ""}, b""
    if do == "stat":
        kind, size, changed, mode = words
        return {"kind": kind, "size": int(size), "mtime": int(changed) * 10**9, "mode": int(mode, 8)}, b""
    if do == "times":
        return {"times": [int(each) * 10**9 for each in data.split()]}, b""
    if do == "list":
        names = sorted(data.split(b"\0")[:-1])
        return {}, b"\0".join(names)
    return {}, data
