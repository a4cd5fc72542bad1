"""Programs of awk and scripts of sed."""

import subprocess
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands.classification import judge_script

SAFE = [
    ("awk", "{print $2}"),
    ("awk", "NR==FNR {a[$1]=1; next} ($1 in a)"),
    ("awk", 'BEGIN {FS=","} $3 > 5 {s += $3} END {print s / NR}'),
    ("awk", 'length($0) > 80 {print FILENAME ":" FNR}'),
    ("awk", '{gsub(/\\/\\//, "/"); print (1 > 0)}'),
    ("awk", '!seen[$0]++ # system("rm")'),
    ("awk", '{print "system(1) | sh"; print /a|b>c/}'),
    ("sed", "1,20p"),
    ("sed", "s/a/b/"),
    ("sed", "s#/usr/local#/opt#g;/^#/d;$!N;P;D"),
    ("sed", "/x/,/y/{s/a/e/;p}"),
    ("sed", ":a;N;$!ba;s/\\n/ /g"),
    ("sed", "s/[,]/x/"),
    ("sed", "1i\\\nw e x"),
    ("sed", "y/we/ab/"),
]
NOT_SAFE = [
    ("awk", '{print > "out"}'),
    ("awk", '{print "x" >> $1}'),
    ("awk", '{print | "sort"}'),
    ("awk", '{ "date" | getline d; print d }'),
    ("awk", '{print > "/dev/stderr"}'),
    ("awk", '{getline x < "a.txt"; print x}'),
    # Where such an expression ends, each of them decides differently.
    ("awk", "/[/]/"),
    ("awk", '/[]/ {print "x"} #]/'),
    ("sed", "s/[/]/x/"),
    ("sed", "s/w/e/w /dev/stdout"),
    ("sed", "r a.txt"),
    ("sed", "R a.txt"),
    ("awk", 'BEGIN {ARGV[1] = "/etc/hosts"}'),
    ("sed", "w out"),
    ("sed", "s/a/b/gw out"),
    ("sed", "s/\ufffc/x/"),
]
DANGEROUS = [
    ("awk", 'BEGIN {system("rm -rf x")}'),
    ("awk", "{system($1)}"),
    ("awk", 'BEGIN {c = "rm a"; system(c)}'),
    ("awk", '{print | "sh"}'),
    ("awk", 'BEGIN {"rm a" | getline}'),
    ("awk", '{print > "/etc/passwd"}'),
    ("awk", "BEGIN {for (k in ENVIRON) print k}"),
    ("awk", 'BEGIN {f = "system"; @f("x")}'),
    ("gawk", 'BEGIN {print 1 |& "/inet/tcp/0/192.0.2.1/80"}'),
    ("awk", 'a / system("rm x") / 2'),
    ("awk", "\ufffc"),
    ("sed", "1e rm x"),
    ("sed", "s/a/b/e"),
    ("sed", "1!{s/a/b/e\n}"),
    ("sed", "s,x,y,;e"),
    ("sed", "s/[/]/x/e"),
    ("sed", "w /etc/passwd"),
    ("sed", "r .env"),
    ("sed", "a x\ne rm y"),
    ("sed", "\ufffc"),
]


@each(("language", "source"), SAFE)
def test_what_prints_its_input_is_proven(language: str, source: str):
    assert judge_script(language, source).level == "safe"


@each(("language", "source"), NOT_SAFE)
def test_what_writes_reads_or_runs_something_else_is_not_proven(language: str, source: str):
    assert judge_script(language, source).level == "ordinary"


@each(("language", "source"), DANGEROUS)
def test_dangerous_programs_are_found(language: str, source: str):
    assert judge_script(language, source).level == "dangerous"


@pytest.mark.parametrize(("language", "source"), SAFE)
def test_safe_programs_really_change_nothing(tmp_path: Path, language: str, source: str):
    (tmp_path / "a.txt").write_text("a,b,7\nx/y\n")
    done = subprocess.run(
        [language, source, "a.txt"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "a,b,7\nx/y\n"
