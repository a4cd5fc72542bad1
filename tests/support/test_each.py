import pytest

from tests.support.each import each


def test_a_failure_names_every_case_that_failed_and_no_other() -> None:
    @each(("number", "word"), [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
    def holds(number: int, word: str) -> None:
        assert number % 2, "is even"

    with pytest.raises(AssertionError) as raised:
        holds()
    told = str(raised.value)
    assert "2 of 4 cases failed" in told
    assert "number=2, word='two'" in told
    assert "number=4, word='four'" in told
    assert told.count("is even") == 2
    assert "'one'" not in told
    assert raised.value.__cause__ is not None


@pytest.mark.parametrize("wrong", [ValueError("x"), OSError("x"), AssertionError("x"), pytest.fail.Exception("x")])
def test_whatever_a_case_raises_the_rest_is_looked_at(wrong: BaseException) -> None:
    seen = []

    @each("number", range(3))
    def holds(number: int) -> None:
        seen.append(number)
        raise wrong

    with pytest.raises(AssertionError, match="3 of 3"):
        holds()
    assert seen == [0, 1, 2]


def test_where_a_case_should_have_raised_and_did_not_it_is_named() -> None:
    @each("number", [0, 1])
    def raises(number: int) -> None:
        with pytest.raises(ZeroDivisionError):
            _ = 1 / number

    with pytest.raises(AssertionError, match=r"(?s)1 of 2 .*number=1"):
        raises()


def test_tables_cross_and_fixtures_stay() -> None:
    seen = []

    @each("left", "ab")
    @each("right", "cd")
    def crossed(left: str, right: str, kept: str) -> None:
        seen.append(left + right + kept)

    crossed(kept="!")
    assert seen == ["ac!", "ad!", "bc!", "bd!"]


def test_of_crossed_tables_every_case_that_failed_is_named() -> None:
    @each("left", range(30))
    @each("right", range(30))
    def crossed(left: int, right: int) -> None:
        assert left != right

    with pytest.raises(AssertionError) as raised:
        crossed()
    assert "30 of 900 cases failed" in str(raised.value)
    assert all(f"left={number}, right={number}\n" in str(raised.value) for number in range(30))


def test_cases_with_an_id_are_their_values_and_a_mark_is_a_mistake() -> None:
    seen = []

    @each("one", [pytest.param(1, id="first"), 2])
    def noted(one: int) -> None:
        seen.append(one)

    noted()
    assert seen == [1, 2]
    with pytest.raises(AssertionError, match="has marks"):
        each("one", [pytest.param(1, marks=pytest.mark.slow)])


def test_no_case_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no case"):
        each("number", [])


def test_a_test_whose_cases_are_all_skipped_is_skipped() -> None:
    @each("number", [1, 2])
    def skipped(number: int) -> None:
        pytest.skip("not here")

    with pytest.raises(pytest.skip.Exception, match="not here"):
        skipped()


@each("number", [1, 2])
def test_what_pytest_gives_and_what_the_table_gives_come_together(number: int, tmp_path) -> None:
    assert number in {1, 2}
    assert tmp_path.is_dir()
