from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from tests.support.each import each
from tools.light_dataclass import complete_all, dataclass


@dataclass(frozen=True, slots=True)
class Light:
    """What it says."""

    name: str
    size: int = 3
    secret: str = field(default="", repr=False)
    seen: float = field(default=0.0, compare=False)
    parts: list[str] = field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """What it says."""

    name: str
    size: int = 3
    secret: str = field(default="", repr=False)
    seen: float = field(default=0.0, compare=False)
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Counter:
    count: int = 0
    doubled: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.doubled = 2 * self.count


@dataclass(frozen=True, slots=True)
class Wider(Light):
    width: int = field(kw_only=True)


_CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    (("a",), {}),
    (("a", 4), {"parts": ["x"]}),
    ((), {"name": "a", "secret": "s", "seen": 2.5}),
)
_WRONG: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    (("a", 1, "", 0.0, [], 7), {}),
    (("a",), {"nothing": 1}),
    (("a",), {"name": "b"}),
)


@each("args, kwargs", _CALLS)
def test_it_holds_and_shows_what_the_standard_one_does(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    light, standard = Light(*args, **kwargs), Standard(*args, **kwargs)
    assert asdict(light) == asdict(standard)
    assert repr(light) == repr(standard).replace("Standard", "Light")
    assert light == Light(*args, **kwargs)
    assert replace(light, size=9) == replace(light, size=9, seen=1.0) != light


@each("args, kwargs", _WRONG)
def test_wrong_arguments_are_refused_in_the_same_words(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as standard:
        Standard(*args, **kwargs)
    for _ in range(2):  # the first instance and every later one
        with pytest.raises(TypeError) as light:
            Light(*args, **kwargs)
        assert str(light.value) == str(standard.value).replace("Standard", "Light")


def test_a_frozen_one_is_copied_and_pickled() -> None:
    made = Light("a", parts=["x"])
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))
    assert copy.deepcopy(made).parts is not made.parts


def test_a_frozen_one_is_a_key_by_what_it_compares() -> None:
    @dataclass(frozen=True, slots=True)
    class Key:
        name: str
        note: str = field(default="", compare=False)

    assert {Key("a", "one"): 1}[Key("a", "two")] == 1
    assert Key("a") != Key("b")
    assert Key("a") != Light("a")  # type: ignore[comparison-overlap]


def test_one_that_can_change_is_no_key_and_has_its_word_after_init() -> None:
    counter = Counter(2)
    counter.count = 3
    assert (counter.count, counter.doubled) == (3, 4)
    assert counter != Counter(2)
    with pytest.raises(TypeError):
        hash(counter)


def test_compared_by_identity_where_asked() -> None:
    @dataclass(slots=True, eq=False)
    class Alone:
        name: str

    one = Alone("a")
    assert one != Alone("a")
    assert {one: 1}[one] == 1


def test_a_class_keeps_the_methods_of_its_own() -> None:
    @dataclass(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - the decorator gives it `__hash__`
        name: str

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    assert repr(Own("a")) == "own"
    assert Own("a") == Own("b")
    assert hash(Own("a")) == hash(Own("a"))


def test_fields_are_inherited_and_patterns_match() -> None:
    wider = Wider("a", 5, width=7)
    assert [each.name for each in fields(wider)] == ["name", "size", "secret", "seen", "parts", "width"]
    match wider:
        case Light(name, size):
            assert (name, size) == ("a", 5)
    assert not hasattr(wider, "__dict__")


def test_many_threads_may_make_the_first_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class New:
        name: str

    made: list[New] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        made.append(New("a"))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [New("a")] * 8


def test_init_is_compiled_with_the_first_instance_only() -> None:
    @dataclass(frozen=True, slots=True)
    class Idle:
        name: str

    before = Idle.__init__
    Idle("a")
    assert Idle.__init__ is not before
    after = Idle.__init__
    Idle("b")
    assert Idle.__init__ is after
    assert after.__qualname__.endswith("Idle.__init__")


def _made_now() -> tuple[type[Any], type[Any], type[Any]]:
    """A frozen class, one that can change, one that has no fields."""

    @dataclass(frozen=True, slots=True)
    class Frozen:
        name: str
        parts: list[str] = field(default_factory=list)

    @dataclass(slots=True)
    class Changing:
        name: str = "x"

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return Frozen, Changing, Empty


def test_a_frozen_class_refuses_changes_and_is_copied_with_all_it_holds() -> None:
    frozen, _, _ = _made_now()
    made = frozen("a", ["x"])
    for name in ("name", "parts"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(made, name, "b")
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(made, name)
    with pytest.raises(FrozenInstanceError):
        made.other = 1
    with pytest.raises(FrozenInstanceError):
        del made.other
    copied = copy.deepcopy(made)
    assert (copied.name, copied.parts) == ("a", ["x"])
    assert copied == made
    with pytest.raises(ValueError, match="zip"):
        made.__setstate__(["too few"])


def test_what_is_made_shows_itself_and_has_only_its_fields() -> None:
    frozen, changing, empty = _made_now()
    assert repr(frozen("a", ["x"])).endswith(".Frozen(name='a', parts=['x'])")
    assert [hasattr(made, "__dict__") for made in (frozen("a"), changing(), empty())] == [False, False, False]


def test_a_class_without_words_of_its_own_is_told_by_its_name() -> None:
    @dataclass(slots=True)
    class Told:
        """What it says."""

    _, changing, _ = _made_now()
    assert (changing.__doc__, Told.__doc__) == ("Changing", "What it says.")


def test_a_field_that_is_no_argument_is_made_or_left_for_later() -> None:
    @dataclass(slots=True)
    class Later:
        left: str = field(init=False)
        made: list[str] = field(init=False, default_factory=list)
        known: int = field(init=False, default=3)
        given: str = "g"

    one = Later("h")
    assert (one.made, one.known, one.given) == ([], 3, "h")
    assert not hasattr(one, "left")
    assert one.made is not Later().made


def test_what_a_class_does_when_it_is_changed_it_does_with_its_first_values() -> None:
    @dataclass(slots=True)
    class Upper:
        name: str

        def __setattr__(self, name: str, value: str) -> None:
            object.__setattr__(self, name, value.upper())

    assert Upper("a").name == "A"


def test_a_class_keeps_its_own_word_on_which_are_the_same() -> None:
    @dataclass(frozen=True, slots=True)
    class Same:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Same)

        def __hash__(self) -> int:
            return 7

    assert {Same("a"): 1}[Same("b")] == 1
    assert hash(Same("a")) == 7


def test_what_a_frozen_class_is_widened_by_may_change_where_it_is_its_own() -> None:
    frozen, _, _ = _made_now()

    class Wide(frozen):  # type: ignore[misc, valid-type]
        pass

    wide = Wide("a")
    wide.note = "mine"
    assert wide.note == "mine"
    del wide.note
    assert not hasattr(wide, "note")
    for change in (lambda: setattr(wide, "name", "b"), lambda: delattr(wide, "name")):
        with pytest.raises(FrozenInstanceError):
            change()


def test_only_a_frozen_class_is_a_key_and_one_without_fields_is_like_any_other_of_it() -> None:
    frozen, changing, empty = _made_now()
    with pytest.raises(TypeError, match="unhashable"):
        hash(changing())
    assert changing("a") == changing("a") != changing("b")
    assert empty() == empty()
    assert hash(empty()) == hash(())
    assert hash(frozen("a", ())) == hash(("a", ()))
    assert hash(frozen("a", ())) != hash(frozen("b", ()))
    assert frozen("a") != ("a", [])


def test_classes_can_be_completed_before_anybody_waits_for_their_first_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class Waiting:
        name: str

    before = Waiting.__init__
    complete_all()
    after = Waiting.__init__
    assert after is not before
    assert Waiting("a").name == "a"
    assert Waiting.__init__ is after
