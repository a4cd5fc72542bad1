from __future__ import annotations

from collections.abc import Sequence

from agent_core.background_tasks import News
from agent_core.notifications import MOST_WAITING, NewsBox


def _news(source: str = "proc_1") -> News:
    return News(source, "ended", f"{source} ended", "exit code 0")


def test_what_was_put_waits_in_order() -> None:
    box = NewsBox()
    first, second = _news("a"), _news("b")
    box.put(first)
    box.put(second)

    assert box.waiting() == (first, second)


def test_news_that_are_looked_at_stay_until_they_are_delivered() -> None:
    box = NewsBox()
    first, second = _news("a"), _news("b")
    box.put(first)
    seen = box.waiting()
    box.put(second)

    box.delivered(seen)

    assert box.waiting() == (second,)


def test_news_are_stored_before_a_listener_hears_of_them() -> None:
    order: list[str] = []
    box = NewsBox(keep=lambda _: order.append("stored"))
    forget = box.on_put(lambda _: order.append("heard"))

    box.put(_news())
    forget()
    box.put(_news())

    assert order == ["stored", "heard", "stored"]


def test_the_task_has_ended_when_its_news_are_heard_of_also_where_they_are_none() -> None:
    order: list[str] = []
    box = NewsBox(keep=lambda _: order.append("stored"))
    box.on_put(lambda _: order.append("heard"))
    box.put(_news("a"), lambda: order.append("ended"))
    box.knows_end("b")
    box.put(_news("b"), lambda: order.append("ended"))

    assert order == ["stored", "ended", "heard", "ended"]


def test_an_end_that_the_model_has_seen_is_no_news_before_or_after_it_comes() -> None:
    dropped: list[News] = []
    box = NewsBox(drop=dropped.extend)
    early, line = _news("a"), News("a", "matched", "a line", "a line")
    box.put(early)
    box.put(line)
    box.knows_end("a")
    box.put(_news("a"))

    assert box.waiting() == (line,)
    assert dropped == [early]


def test_a_listener_that_fails_takes_nothing_from_the_others() -> None:
    box, heard = NewsBox(), list[News]()

    def fail(_: News) -> None:
        raise RuntimeError

    box.on_put(fail)
    box.on_put(heard.append)
    box.put(_news())

    assert len(heard) == 1
    assert len(box.waiting()) == 1


def test_what_an_earlier_process_did_not_deliver_comes_first() -> None:
    old, new = _news("old"), _news("new")
    box = NewsBox((old,))
    box.put(new)

    assert box.waiting() == (old, new)


def test_a_flood_keeps_the_newest() -> None:
    box = NewsBox()
    for number in range(MOST_WAITING + 5):
        box.put(_news(str(number)))

    assert [each.source for each in box.waiting()][:: MOST_WAITING - 1] == ["5", str(MOST_WAITING + 4)]


def test_what_is_held_is_stored_and_told_by_nobody_here() -> None:
    stored: list[News] = []
    box = NewsBox(keep=stored.append, drop=lambda gone: [stored.remove(each) for each in gone])
    forget = box.hold(_news())
    assert len(stored) == 1
    assert box.waiting() == ()
    forget()
    assert stored == []


class Stored:
    """What a store has, by order."""

    def __init__(self) -> None:
        self.news: dict[str, News] = {}

    def box(self) -> NewsBox:
        return NewsBox(keep=lambda news: self.news.update({news.id: news}), drop=self.drop)

    def drop(self, news: Sequence[News]) -> None:
        for each in news:
            self.news.pop(each.id, None)


def test_what_a_sub_agent_holds_or_is_told_is_stored_as_the_sessions() -> None:
    stored = Stored()
    box = stored.box().below().below()
    held, told = _news("a"), _news("b")

    forget = box.hold(held)
    assert list(stored.news) == [held.id]
    box.put(told, forget)

    assert list(stored.news) == [told.id]


def test_what_a_sub_agent_has_heard_of_is_not_stored_any_more() -> None:
    stored = Stored()
    above = stored.box()
    box = above.below()
    box.put(_news("a"))
    box.delivered(box.waiting())

    assert stored.news == {}
    assert above.waiting() == ()


def test_what_a_sub_agent_has_not_heard_of_is_news_of_who_it_worked_for_also_when_it_comes_late() -> None:
    stored, heard = Stored(), list[News]()
    above = stored.box()
    above.on_put(heard.append)
    box = above.below()
    early, late = _news("a"), _news("b")
    box.put(early)
    assert heard == []

    box.pass_to(above)
    box.put(late)

    assert heard == [early, late]
    assert above.waiting() == (early, late)
    assert box.waiting() == ()
    assert list(stored.news) == [early.id, late.id]
