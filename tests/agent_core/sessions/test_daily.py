"""What is done once a day."""

from agent_core.sessions.housekeeping import DAY, Daily


def test_it_is_done_at_first_and_again_when_a_day_has_gone() -> None:
    done: list[int] = []
    times = [1_000.0, 1_001.0, 999.0 + DAY, 1_000.0 + DAY, 1_001.0 + DAY, 5_000.0 + 9 * DAY]
    now = iter(times)
    job = Daily(lambda: done.append(1), lambda: next(now))
    counts = []
    for _ in times:
        assert job() is False
        counts.append(len(done))
    assert counts == [1, 1, 1, 2, 2, 3]
