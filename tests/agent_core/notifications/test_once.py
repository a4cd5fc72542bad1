"""Whatever happens in between, each of the news is in one stored message, and in one only."""

from __future__ import annotations

import random
from pathlib import Path

from agent_core.background_tasks import News
from agent_core.messages import Message, injected_message
from agent_core.notifications import Backgrounds
from tests.support.each import each
from tests.support.session_database import Desk

_STEPS = 40


def _telling(news: tuple[News, ...]) -> Message:
    message = injected_message("news")
    message["news"] = [one.id for one in news]
    return message


@each("seed", range(12))
def test_processes_that_die_at_any_moment_lose_no_news_and_repeat_none(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    desk = Desk(tmp_path / f"{seed}.db")
    desk.store.create("s", "/srv/project")
    kept, put = desk.store, list[str]()
    box = Backgrounds(kept).of("s").news
    for step in range(_STEPS):
        match chance.choice(["put", "put", "deliver", "die", "die while delivering", "withdraw"]):
            case "put":
                news = News("p", "told", "title", f"text {step}")
                put.append(news.id)
                box.put(news)
            case "die":
                box = Backgrounds(kept).of("s").news
            case how:
                waiting = box.waiting()
                desk.store.begin_turn("s", f"t{step}")
                if how == "withdraw":  # another turn has taken its place
                    desk.store.begin_turn("s", f"u{step}")
                if waiting and desk.store.append("s", f"t{step}", _telling(waiting)) and how == "deliver":
                    box.delivered(waiting)
                else:
                    box = Backgrounds(kept).of("s").news
                desk.store.end_turn("s", f"t{step}", "end_turn")
    desk.store.begin_turn("s", "last")
    desk.store.append("s", "last", _telling(Backgrounds(kept).of("s").news.waiting()))

    told = [one for message in desk.store.messages("s") for one in message.get("news", ())]
    assert told == put
    desk.close()
