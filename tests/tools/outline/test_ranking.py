"""What matters most, on small made-up trees."""

from __future__ import annotations

from pathlib import PurePath

from tests.support.each import each
from tools.outline.parsing import Definition, Kind, Outline
from tools.outline.ranking import Ranked, rank


def file(
    *defines: str, uses: tuple[str, ...] = (), members: tuple[str, ...] = (), kind: Kind = "function"
) -> Outline:
    definitions = tuple(Definition(name, kind, line, -1, f"def {name}()") for line, name in enumerate(defines, 1))
    return Outline(definitions, dict.fromkeys(uses, 1), dict.fromkeys(members, 1))


def ranked(tree: dict[str, Outline], focus: tuple[str, ...] = (), seen: tuple[str, ...] = ()) -> list[Ranked]:
    return rank({PurePath(name): outline for name, outline in tree.items()}, focus, {PurePath(name) for name in seen})


def order(tree: dict[str, Outline], focus: tuple[str, ...] = (), seen: tuple[str, ...] = ()) -> list[str]:
    return [each.path.as_posix() for each in ranked(tree, focus, seen)]


def score(tree: dict[str, Outline], name: str, focus: tuple[str, ...] = ()) -> float:
    return next(
        value
        for each in ranked(tree, focus)
        for definition, value in zip(each.outline.definitions, each.scores, strict=True)
        if definition.name == name
    )


TREE = {
    "core.py": file("make_engine", "forgotten_thing"),
    "a.py": file("first_caller", uses=("make_engine",)),
    "b.py": file("second_caller", uses=("make_engine",)),
    "lonely.py": file("nobody_calls"),
}


def test_what_others_use_comes_first():
    assert order(TREE)[0] == "core.py"
    assert score(TREE, "make_engine") > score(TREE, "forgotten_thing")


def test_importance_flows_on_from_what_is_important():
    tree = TREE | {"core.py": file("make_engine", uses=("deep_part",)), "deep.py": file("deep_part")}
    assert set(order(tree)[:2]) == {"core.py", "deep.py"}


def test_a_name_that_many_files_define_counts_less_than_one_that_is_sure():
    tree = {
        "x.py": file("shared_name"),
        "y.py": file("shared_name"),
        "sure.py": file("single_name"),
        "user.py": file(uses=("shared_name", "single_name")),
    }
    assert order(tree)[0] == "sure.py"


def test_common_words_and_names_on_things_count_less_than_distinct_names():
    tree = {
        "words.py": file("join"),
        "distinct.py": file("join_parts"),
        "near.py": file("Store", "keep_it"),
        "far.py": file("keep_this"),
        "user.py": file(uses=("join", "join_parts", "Store"), members=("keep_it", "keep_this")),
    }
    assert score(tree, "join_parts") > score(tree, "join")
    assert score(tree, "keep_it") > score(tree, "keep_this")


def test_tests_say_what_is_used_but_are_not_what_matters():
    tree = {
        "tests/support/bench.py": file("make_bench"),
        **{f"tests/test_{number}.py": file(uses=("make_bench", "work_hard")) for number in range(5)},
        "work.py": file("work_hard"),
    }
    assert order(tree)[0] == "work.py"


@each("focus", ["lonely.py", "lonely", "nobody_calls", "NOBODY_CALLS", "./lonely.py"])
def test_what_is_in_focus_comes_first(focus: str):
    assert order(TREE, (focus,))[0] == "lonely.py"


def test_a_folder_can_be_in_focus_and_so_can_a_part_of_a_name():
    tree = TREE | {"sub/one.py": file("thing_one"), "sub/two.py": file("thing_two")}
    assert set(order(tree, ("sub/",))[:2]) == {"sub/one.py", "sub/two.py"}
    assert set(order(tree, ("thing",))[:2]) >= {"sub/one.py"}


def test_who_uses_what_is_in_focus_comes_nearer():
    tree = {f"other_{number}.py": file(f"other_{number}") for number in range(9)}
    tree |= {"zz_user.py": file("zz_user", uses=("focused_name",)), "focused.py": file("focused_name")}
    assert order(tree, ("focused_name",))[:2] == ["focused.py", "zz_user.py"]


def test_what_the_model_has_read_draws_its_surroundings_nearer():
    tree = {
        "a.py": file(uses=("left_part",)),
        "b.py": file(uses=("right_part",)),
        "left.py": file("left_part"),
        "right.py": file("right_part"),
    }
    found = order(tree, seen=("b.py",))
    assert found.index("right.py") < found.index("left.py")


def test_the_order_is_the_same_every_time_and_needs_nothing():
    assert order(TREE) == order(dict(reversed(TREE.items())))
    assert ranked({}) == []
    assert order({"empty.py": Outline()}, ("", " ", "x")) == ["empty.py"]
