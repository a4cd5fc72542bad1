"""The script that runs on the other machine as long as the connection lasts, and ends what was started there.

It reads lines from this process. When they end, however this process or the connection has ended, it kills what still
runs: nothing outlives its session unseen. Each command is known by a token; the file `TOKEN.group` in its directory
holds the number of its process group.
"""

from __future__ import annotations

from tools.environments.marked import VARIABLE

READY = b"hermes-ready "

KEEPER = f"""
PATH=$PATH:/usr/local/bin:/usr/bin:/bin; umask 077
d=$(mktemp -d "${{TMPDIR:-/tmp}}/hermes-acp.XXXXXX") || exit 97
trap '' TERM INT HUP QUIT PIPE TSTP TTIN TTOU
group() {{ g=; [ -f "$d/$1.group" ] && IFS= read -r g <"$d/$1.group"; [ -n "$g" ]; }}
sweep() {{
  n=0
  for f in "$d"/*.group; do
    [ -f "$f" ] || continue
    t=${{f##*/}}; t=${{t%.group}}
    if group "$t" && kill -0 "-$g" 2>/dev/null; then n=$((n + 1)); else rm -f "$f" "$d/$t.stop"; fi
  done
}}
# The grep of some small systems sees nothing behind a null character.
marked() {{
  if printf 'a\\000b' | grep -qsF b; then grep -lsF "$1" /proc/[0-9]*/environ; return; fi
  for e in /proc/[0-9]*/environ; do {{ tr '\\000' '\\n' <"$e" | grep -qF "$1" && echo "$e"; }} 2>/dev/null; done
}}
all() {{
  for f in "$d"/*.group; do
    [ -f "$f" ] || continue
    t=${{f##*/}}; group "${{t%.group}}" && kill -KILL "-$g" 2>/dev/null
  done
  for e in $(marked "{VARIABLE}=$1"); do
    p=${{e#/proc/}}; kill -KILL "${{p%/environ}}" 2>/dev/null
  done
}}
echo "{READY.decode()}$d"
mark=none
while IFS=' ' read -r verb one two; do
  case $verb in
    mark) mark=$one ;;
    signal) if group "$two"; then kill -"$one" "-$g" 2>/dev/null; else : >"$d/$two.stop"; fi ;;
    over) group "$one" && {{ kill -0 "-$g" 2>/dev/null || rm -f "$d/$one.group"; }}; rm -f "$d/$one.stop" ;;
    alive) sweep; echo "alive $n" ;;
    kill) all "$mark"; sweep; echo "killed $n" ;;
  esac
done
all "$mark"
rm -rf "$d"
"""
"""Lines it reads: `mark MARK`, `signal NAME TOKEN`, `over TOKEN`; `alive` and `kill` are answered by a line."""
