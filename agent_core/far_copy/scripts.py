"""The scripts by which a copy is made, looked through and fetched; all that they need is what small systems have.

Each prints a token that nobody there knows beforehand, and behind it how it went: what it could not do whole counts
as not done. `{root}` is the copy's directory and `{id}` names the copy. Output may be a terminal's, to which
gzip writes nothing: so `cat` does.
"""

from __future__ import annotations

from agent_core.far_copy.facts import MARKER

BEGUN, WHOLE = "begun", "whole"
_IN_GIT = ".git/hermes-acp-copy"
"""The marker once more, where there is a repository: `git clean -x` takes the other one away."""
_MARKED = f"$(cat {MARKER} {_IN_GIT} 2>/dev/null)"
_OURS = f"""cd {{root}} 2>/dev/null && case "{_MARKED}" in
*"{{id}} {WHOLE}"*) [ -e {MARKER} ] || echo "{{id}} {WHOLE}" >{MARKER} || : ;;
*) false ;;
esac"""

_TAKE = """umask 022; LC_ALL=C; export LC_ALL
say() {{ printf '\\n%s %s\\n' {token} "$1"; exit 0; }}
d=$(mktemp -d "${{TMPDIR:-/tmp}}/hermes-acp-in.XXXXXX") || say 'no: there is no room in its temporary directory'
trap 'rm -rf "$d"' EXIT
cat >"$d/in" || say 'no: there is no room in its temporary directory'
[ "$(sha256sum <"$d/in" | cut -c 1-64)" = {digest} ] || say 'no: it did not come whole'
"""

FIRST = (
    _TAKE
    + f"""
mkdir -p {{root}} && cd {{root}} || say 'no: its directory cannot be made there'
case "{_MARKED}" in
*"{{id}} {BEGUN}"* | *"{{id}} {WHOLE}"*) find . -mindepth 1 -maxdepth 1 ! -name {MARKER} -exec rm -rf {{{{}}}} +
  echo "{{id}} {BEGUN}" >{MARKER} ;;
*) [ -z "$(ls -A .)" ] || say full; echo "{{id}} {BEGUN}" >{MARKER} || say 'no: its directory cannot be written' ;;
esac
gunzip -c <"$d/in" | tar -xof - || say 'no: it could not be unpacked'
{{git}}
[ ! -d .git ] || echo "{{id}} {WHOLE}" >{_IN_GIT}
echo "{{id}} {WHOLE}" >{MARKER} && say done
say 'no: its directory cannot be written'
"""
)
"""Unpacks what it reads into an empty directory, or into one that an attempt before it has begun."""

GIT = f"""
if command -v git >/dev/null 2>&1; then (
  GIT_CONFIG_GLOBAL=/dev/null; GIT_CONFIG_NOSYSTEM=1; export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM
  git() {{{{ command git -c core.looseCompression=0 -c core.fsync=none -c gc.auto=0 -c core.autocrlf=false "$@"; }}}}
  git init -q . && {{branch}} echo /{MARKER} >>.git/info/exclude &&
  git add -A -f -- . ':!{MARKER}' && git -c user.name=hermes-acp -c user.email=hermes-acp@localhost \\
    -c commit.gpgSign=false -c core.hooksPath=/dev/null commit -q --allow-empty -m 'What was copied here'
) </dev/null >/dev/null 2>&1; fi
"""
"""Makes what was unpacked the first commit of a repository, so that git tells there what was changed."""

CHECKED, GONE, WRITTEN = f"{MARKER}.checked", f"{MARKER}.gone", f"{MARKER}.written"
LATER = (
    _TAKE
    + f"""
{_OURS} || say gone
mkdir "$d/notes" && gunzip -c <"$d/in" | tar -xof - -C "$d/notes" ./{CHECKED} ./{GONE} ./{WRITTEN} ||
  say 'no: not unpacked'
[ ! -s "$d/notes/{CHECKED}" ] || sha256sum -c "$d/notes/{CHECKED}" >/dev/null 2>&1 || say moved
[ ! -s "$d/notes/{GONE}" ] || xargs -0 rm -f <"$d/notes/{GONE}"
[ ! -s "$d/notes/{WRITTEN}" ] || xargs -0 sh -c 'for f; do
  [ -d "$f" ] && [ ! -L "$f" ] || continue
  find "$f" -depth -type d -exec rmdir {{{{}}}} + 2>/dev/null
  [ ! -d "$f" ] || mv "$f" "$f.was-a-directory-$$"
done' _ <"$d/notes/{WRITTEN}"
gunzip -c <"$d/in" | tar -xof -; s=$?
rm -f {CHECKED} {GONE} {WRITTEN}
[ $s = 0 ] || say 'no: it could not be unpacked'
say done
"""
)
"""Unpacks what has changed here since, if the files that it replaces or removes are what they were.

A directory in the place of a file has only what is passed over in it, as caches: it is set aside.
"""

PASSED_OVER = (".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache")
LARGEST_HASHED = 256 * 1024 * 1024
LOOK = f"""LC_ALL=C; export LC_ALL
{_OURS} ||
  {{{{ echo {{token}} gone; exit 0; }}}}
n='
'
echo {{token}} found
{{{{
look() {{{{ find . \\( {{passed}} \\) -prune -o "$@"; }}}}
part() {{{{ printf '\\000%s\\000' {{token}}; }}}}
look -type f -print0; part
look -type f -perm -100 -print0; part
look ! -type f ! -type d -print0; part
look -type f -size +{LARGEST_HASHED}c -print0; part
look -type f ! -size +{LARGEST_HASHED}c ! -path "*$n*" -exec sha256sum {{{{}}}} + 2>/dev/null; part
look -type f ! -size +{LARGEST_HASHED}c -path "*$n*" -exec sh -c \\
  'for f; do printf "%s\\000" "$f"; sha256sum <"$f" | cut -c 1-64 | tr "\\n" "\\000"; done' _ {{{{}}}} + 2>/dev/null
part; printf end
}}}} | gzip -c | cat
"""
"""Tells all files of the copy; its parts are those of `far_copy.looking`."""

CHECK = f"""
{_OURS} ||
  {{{{ echo {{token}} gone; exit 0; }}}}
echo {{token}} found
"""
"""Tells whether the copy is there."""

FETCH = f"""LC_ALL=C; export LC_ALL
{_OURS} ||
  {{{{ echo {{token}} gone; exit 0; }}}}
echo {{token}} found
xargs -0 tar -cf - 2>/dev/null | gzip -c | cat
"""
"""Gives the files whose names it reads."""
