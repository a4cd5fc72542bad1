"""The end of an endless output."""

from tools.environments.background_process import RollingOutput


def test_what_came_since_an_offset_is_told_with_where_it_ends():
    output = RollingOutput(100)
    output.add("one")
    output.add("two")

    assert output.since(0) == ("onetwo", 0, 6)
    assert output.since(3) == ("two", 0, 6)
    assert output.since(6) == ("", 0, 6)


def test_never_more_than_the_limit_is_given_and_what_is_missed_is_counted():
    output = RollingOutput(10)
    for number in range(100):
        output.add(f"{number % 10}")
        text, missed, end = output.since(0)
        assert end == number + 1
        assert len(text) == min(10, end)
        assert missed == end - len(text)
    assert output.since(0)[0] == "0123456789"


def test_the_file_has_all_of_it_as_soon_as_something_would_be_lost(tmp_path):
    output = RollingOutput(10, tmp_path / "log")
    output.add("x" * 15)
    assert output.log() is None
    output.add("y" * 15)
    output.add("z")
    output.close()

    assert output.log() == tmp_path / "log"
    assert (tmp_path / "log").read_text() == "x" * 15 + "y" * 15 + "z"


def test_a_little_more_than_the_limit_is_on_disk_in_the_end(tmp_path):
    output = RollingOutput(10, tmp_path / "log")
    output.add("x" * 15)
    output.close()

    assert (tmp_path / "log").read_text() == "x" * 15


def test_a_file_that_cannot_be_made_is_not_named(tmp_path):
    (tmp_path / "file").write_text("")
    output = RollingOutput(10, tmp_path / "file" / "log")
    output.add("x" * 50)
    output.close()

    assert output.log() is None
    assert output.since(0)[0] == "x" * 10
