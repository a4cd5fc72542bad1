"""What runs of a Makefile, a justfile and the scripts of a package, where their text is known."""

import pytest

from tests.support.each import each
from tools.approval.commands.dangers.pipelines import just_recipes, package_scripts, recipes

MAKEFILE = """CC ?= clang
OUT := build/$(NAME)
NAME = app
.PHONY: all clean

all: app test  # everything
app: main.o
\t@$(CC) -o $@ $<
test: ; ./app --check
clean::
\t-$(RM) -r $(OUT)
\techo $$HOME
"""


@pytest.mark.parametrize(
    ("goals", "commands"),
    [
        ([], {"clang -o target target", "./app --check"}),
        (["test"], {"./app --check"}),
        (["clean"], {"rm -r build/app", "echo $HOME"}),
        (["nothing"], set()),
    ],
)
def test_only_what_the_goals_need_runs(goals, commands):
    assert set(recipes(MAKEFILE, goals).split("\n")) - {""} == commands


def test_where_no_goal_is_named_it_is_the_first_and_no_other():
    assert recipes(".PHONY: a\na:\n\techo a\nb:\n\techo b\n", []) == "echo a"


def test_rules_that_need_each_other_come_to_an_end():
    assert set(recipes("a: b\n\tone\nb: a\n\ttwo\n", []).split("\n")) == {"one", "two"}


def test_lines_go_on_behind_a_backslash_and_a_recipe_begins_behind_its_marks():
    assert set(recipes("one: \\\ntwo\n\t@-Xvfb :1\ntwo:\n\techo b\n", ["one"]).split("\n")) == {"Xvfb :1", "echo b"}


def test_recipes_of_just_may_be_indented_by_blanks():
    assert just_recipes("out := 'dist'\nwipe: stop\n  rm -rf {{out}}\nstop:\n  @pkill app\n", ["wipe"]).split(
        "\n"
    ) == [
        "rm -rf 'dist'",
        "pkill app",
    ]


def test_scripts_of_a_package_run_with_those_before_and_after_them():
    source = '{"scripts": {"prebuild": "one", "build": "two", "postbuild": "three", "wipe": "rm -rf src"}}'
    assert package_scripts(source, ["run", "build"]) == "one\ntwo\nthree"


@each("source", ["", "[]", "{", '{"scripts": []}', '{"scripts": {}}', "[" * 100_000])
def test_what_is_no_package_has_no_scripts(source):
    assert package_scripts(source, ["build"]) == ""
