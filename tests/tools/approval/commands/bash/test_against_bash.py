"""What bash gives to a program is what was read of its words."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.approval.commands.bash.interpreter import read_command

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash here")

# Each line calls `show`, alone or with others before it. Bash runs them all; nothing else is started but printers.
SCRIPTS = (
    r"""show a b 'c d' "e f" g\ h""",
    r"""show "a"'b'c\d "" '' x""",
    r"""show $'r\x6d' $'\162\155' $'tab\there' $'q\'q' $'\u00e9' $'a\\b' $'\cA' $'\e[0m'""",
    r"""show $"plain text" "do\"uble" "bs\\x" "keep\n" "dollar\$x" "tick\`"
""",
    "show a\\\nb \"c\\\nd\" 'e\\\nf'",
    "show a \\\n b",
    ": <<EOF\nfoo\\\nEOF\nshow a\nEOF\nshow b",
    ": <<'EOF'\nfoo\\\nEOF\nshow a",
    "show a$IFS'b' x${IFS}y",
    "show r''m r\"\"m r\\m",
    "x=rm; show $x \"$x\" '$x' ${x} \"${x}y\" $x'y'",
    "x='a  b'; show $x \"$x\" p${x}s",
    "x=' a b '; show $x \"$x\" -$x-",
    'x=; show $x "$x" a$x',
    'unset x; show "${x:-rm}" ${x-def} ${x:+no} x${x:+no}',
    "x=val; show ${x:-no} ${x:+yes} ${x+yes} ${#x}",
    "unset x; show ${x:=set} $x",
    "x=abcabc; show ${x/b/X} ${x//b/X} ${x//b} ${x/z/y}",
    "x=/usr/bin/rm; show ${x##*/} ${x#*/} ${x%/*} ${x%%/*} ${x%.*}",
    "x=abcdef; show ${x:2} ${x:1:3} ${x: -2} ${x:0:1}${x:3:1} ${x:1:-1}",
    "x=Rm; show ${x^^} ${x,,} ${x,} ${x^}",
    'y=x; x=deep; show ${!y} "${!y}"',
    'a=(rm -rf \'x y\'); show "${a[@]}" ${a[@]} ${a[0]} "${a[*]}" ${#a[@]} ${a[-1]} $a',
    'a=(x); a+=(y z); show ${a[@]} "${a[@]:1}" "${a[@]:0:2}"',
    'a=(a1 b1); show "${a[@]%1}" pre"${a[@]}"post',
    'x=a; x+=b; x+="c d"; show "$x"',
    'set -- p \'q r\' s; show $1 "$2" $3 "$@" "$*" $# "${2}" "${@:2}" ${*:1:1}',
    'set -- a b c; shift; show $@; shift 2; show "$@" end',
    "show {a,b}c x{1..3} {a..c} {1..10..4} {01..03} {c..a}",
    'show a{b,{c,d}e}f {x,y}{1,2} {single} {} {a,} "{q,r}" \\{s,t} ${HOME:+{u,v}}',
    "show {a,b c} '{x,y}' {'a b',c}",
    "show $(echo hi) \"$(echo a  b)\" `echo tick` $(echo a  b) x$(printf 'y\\n\\n')z",
    'show "$(echo "nested $(echo "deep er")")" `echo \\`echo two\\``',
    'x=$(echo rm); show $x; show "$(printf \'\\162\\155\')" "$(printf %s-%s a b)"',
    "show \"$(printf '%s,' a b c)\" \"$(printf '%d %x %o %05d' 10 255 8 42)\" \"$(printf '%b' 'a\\tb')\"",
    "show \"$(printf '%-4s|%4s|%.2s' ab cd efg)\" \"$(printf '%%')\" \"$(printf '%c' xyz)\"",
    'show "$(echo cm0gLXJm | base64 -d)" "$(base64 -d <<< cm0=)"',
    'show "$(echo -e \'a\\x41\\n\\0101b\')" "$(echo -n a)" "$(echo -E \'a\\tb\')" "$(echo -ne \'x\\ty\')"',
    'show "$(basename /a/b.c .c)" "$(dirname /a/b/c)" "$(basename /a/)" "$(dirname x)"',
    "show \"$(cat <<'X'\nraw $x `y`\nX\n)\"",
    'v=1; show "$(cat <<X\nval $v \\$v \\\\ "q"\nX\n)"',
    'show "$(cat <<-X\n\ttabs\n\tgone\n\tX\n)"',
    'f() { show "$1" $# "$@"; }; f \'a b\' c',
    'f() { local z=$1; show $z; }; f in; g() { show g "$@"; }; g',
    "for x in a 'b c'; do show \"$x\"; done",
    "for x in {1..3}; do show n$x; done",
    "set -- k l; for x; do show $x; done",
    "case abc in a*) show yes;; esac; if true; then show then; fi; { show group; }; ( show sub )",
    "eval show 'a b' \"'c d'\"; eval \"x=1; show \\$x\"",
    'x=show; $x direct; y="show two"; $y three; ${x} "${y#show }"',
    "show ~ ~/x ~+ a~b '~' \"~\" x=~/y",
    'x=~/here; show "$x"; p=a:~/b; show $p',
    'IFS=,; x=a,b; show $x "$x"',
    'read a b <<< \'one two three\'; show "$a" "$b"',
    "printf -v x '%s-%s' a b; show $x",
    "show a#b '#' \\# # comment",
    "show $((3)) x$((7))y",
    "show a;show b&&show c\nshow e",
    "show 1>&1 a 2>/dev/null b",
    "show a=b 'x'=y --opt=\"v w\" -o'p q'",
    "show \"a'b\" 'a\"b' \"a\"\\''b' 'it'\\''s'",
    'show $ a$ "$" "a $ b" $\'\' end',
    "show [a] a[1] '*' \"?\" \\*",
    'declare d=\'x y\'; export e=$d; readonly r=${e}z; show "$d" "$e" "$r"',
    "x=1; (x=2; show $x); show $x",
    "x=a; f() { x=b; }; f; show $x",
    'unset x; show "${x:-a b}" "${x:-"q r"}" "${x:-$(echo c d)}"',
    'x=rm; show "${x}""-"${x}$\'-\'x',
    "show <<< ignored a; show b < /dev/null",
    "while read -r l; do show \"$l\"; done <<< 'single line'",
    "x='$(echo no)'; show \"$x\" $x",
    "x='a*b'; show \"$x\" 'q?'",
)
_PRELUDE = "show() { printf '%s\\037' \"$@\"; printf '\\036'; }\n"


def _by_bash(script: str, folder: Path) -> list[list[str]]:
    environment = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    told = subprocess.run(
        [str(BASH), "--norc", "-c", _PRELUDE + script], capture_output=True, cwd=folder, env=environment, check=False
    )
    assert not told.stderr, told.stderr
    records = told.stdout.decode("utf-8", "replace").split("\036")[:-1]
    return [record.split("\037")[:-1] if record != "\037" else [""] for record in records]


@pytest.mark.parametrize("script", SCRIPTS)
def test_words_are_read_as_bash_expands_them(script: str, tmp_path: Path) -> None:
    reading = read_command(script, tmp_path)

    shown = [[word.text for word in found.arguments] for found in reading.invocations if found.program == "show"]

    real = _by_bash(script, tmp_path)
    assert [words or [""] for words in shown] == _without_repeats(real)
    assert not reading.doubts


def _without_repeats(records: list[list[str]]) -> list[list[str]]:
    return [record for place, record in enumerate(records) if record not in records[:place]]
