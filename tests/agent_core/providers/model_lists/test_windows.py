"""When servers are asked for their windows, and who is asked at all."""

import threading
import time

import pytest

from agent_core.providers.choice import ModelFacts, ServedWindow
from agent_core.providers.model_windows import Windows, ask_server, may_be_asked
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_server import ModelServer

KEY = "sk-test-0123456789"
HERE = choice_for("http://127.0.0.1:11434/v1")


class Asking:
    """A server that is asked: answers in turn, the last one again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.count = 0

    def __call__(self, choice):
        self.count += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def settled(windows, choice=HERE):
    """The window, once nobody asks any more."""
    for thread in threading.enumerate():
        if thread.name == "window":
            thread.join(30)
    return windows.fitted(choice).context_length


@each(
    ("options", "asked"),
    [
        ({}, True),
        ({"base_url": "http://192.168.1.9:8000/v1"}, True),
        ({"base_url": "https://models.example.com/v1"}, True),  # the person has set it
        ({"base_url": "https://models.example.com/v1", "provider": "work"}, True),
        ({"base_url": "https://api.openai.com/v1"}, False),
        ({"base_url": "https://api.openai.com/v1", "provider": "openai"}, False),
        ({"base_url": "https://proxy.example.com/v1", "provider": "openai"}, False),
        ({"provider": "openai"}, True),  # on this machine, whatever it is called
        ({"context_length": 9_000}, False),  # set, or known: nobody is asked
        ({"api_mode": "offline"}, False),
        ({"api_mode": "bedrock_converse"}, False),
    ],
)
def test_window_is_asked_of_the_persons_own_servers_only(options, asked):
    assert may_be_asked(choice_for(**{"base_url": HERE.base_url, **options})) is asked


def test_window_that_is_set_goes_before_what_the_server_says():
    windows = Windows(Asking(ServedWindow("vllm", 4_096, loaded=True)))
    assert settled(windows, choice_for(HERE.base_url, context_length=50_000)).__class__ is int
    assert settled(windows, choice_for(HERE.base_url, context_length=50_000)) == 50_000
    assert settled(windows) == 4_096


def test_window_is_asked_for_once_and_kept():
    asking = Asking(ServedWindow("vllm", 4_096, loaded=True))
    windows = Windows(asking)
    for _ in range(3):
        windows.begin(HERE)
        assert settled(windows) == 4_096
        windows.answered(HERE)
    assert asking.count == 1
    assert windows.of(HERE) == ServedWindow("vllm", 4_096, loaded=True)


def test_window_is_asked_for_again_once_the_model_is_loaded():
    asking = Asking(ServedWindow("ollama", None, 131_072), ServedWindow("ollama", 4_096, 131_072, loaded=True))
    windows = Windows(asking)
    windows.fitted(HERE)
    assert settled(windows) is None
    windows.answered(HERE)
    assert settled(windows) == 4_096
    windows.answered(HERE)
    assert (settled(windows), asking.count) == (4_096, 2)


def test_window_of_a_server_that_was_not_there_is_asked_for_again_once_it_answers():
    asking = Asking(None, ServedWindow("vllm", 4_096, loaded=True))
    windows = Windows(asking)
    windows.begin(HERE)
    assert settled(windows) is None
    windows.answered(HERE)
    assert settled(windows) == 4_096


def test_window_that_nobody_tells_is_asked_for_once():
    asking = Asking(ServedWindow(loaded=True))
    windows = Windows(asking)
    for _ in range(10):
        windows.answered(HERE)
        assert settled(windows) is None
    assert asking.count == 1


def test_window_is_asked_for_anew_in_a_later_turn_since_servers_are_started_again():
    now = [0.0]
    asking = Asking(ServedWindow("ollama", 4_096, loaded=True), ServedWindow("ollama", 32_768, loaded=True), None)
    windows = Windows(asking, clock=lambda: now[0])
    windows.begin(HERE)
    assert settled(windows) == 4_096
    now[0] = 1_000.0
    windows.begin(HERE)
    assert settled(windows) == 32_768
    now[0] = 2_000.0
    windows.begin(HERE)
    assert settled(windows) == 32_768, "a server that does not answer now has not changed"


def test_window_is_waited_for_once_while_a_server_is_silent():
    over = threading.Event()

    def silent(_):
        over.wait(30)
        return ServedWindow("vllm", 4_096, loaded=True)

    windows, began = Windows(silent, wait=1.0), time.monotonic()
    for _ in range(10):
        assert windows.fitted(HERE).context_length is None
    assert 1.0 <= time.monotonic() - began < 5.0
    over.set()
    assert settled(windows) == 4_096


def test_window_is_asked_with_the_key_at_the_servers_own_address():
    with ModelServer() as server:
        server.pages["/api/ps"] = {"models": [{"name": "m:latest", "context_length": 4096}]}
        choice = choice_for(
            server.base_url, provider="ollama", model="m", api_key=KEY, headers=(("X-Title", "ours"),)
        )
        assert ask_server(choice) == ServedWindow("ollama", 4096, loaded=True)
        assert [(method, path) for method, path, _ in server.asked_pages] == [
            ("GET", "/api/ps"),
            ("POST", "/api/show"),
        ]
        assert all(headers["authorization"] == f"Bearer {KEY}" for _, _, headers in server.asked_pages)
        assert all(headers["x-title"] == "ours" for _, _, headers in server.asked_pages)


def test_window_of_a_server_that_is_not_there_is_unknown():
    with ModelServer() as server:
        gone = choice_for(server.base_url)
    assert ask_server(gone) is None


@pytest.mark.parametrize("page", [["a", "list"], "x" * (5 << 20), None], ids=["list", "too long", "null"])
def test_window_in_an_answer_that_makes_no_sense_is_unknown(page):
    with ModelServer() as server:
        server.pages.update({"/props": page, "/api/ps": page})
        assert ask_server(choice_for(server.base_url, facts=ModelFacts())) == ServedWindow(loaded=True)
