"""One question to a model: what comes back, and that it can be given up at any moment."""

from contextlib import contextmanager

from acp_adapter.cli.model_trial import ask
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest
from tests.support.choices import choice_for
from tests.support.model_server import Disconnect, Reply, Status

REQUEST = ModelRequest("test-model", [user_message("Hello")])


def asked(server, **more):
    return ask(choice_for(server.base_url), REQUEST, 30.0, **more)


def test_an_answer_is_whole_or_not(model_server):
    model_server.add(Reply("ready"), Disconnect(Reply("half an answer"), after=1))
    whole, half = asked(model_server), asked(model_server)
    assert (whole.ended, whole.error, whole.late) == (True, None, False)
    assert not half.ended
    assert half.error is not None


def test_a_failure_is_returned_and_not_repeated(model_server):
    model_server.add(Status(503, "Busy."))
    assert asked(model_server).error is not None
    assert len(model_server.requests) == 1


def test_one_that_is_given_up_before_it_begins_asks_nobody(model_server):
    @contextmanager
    def at_once(give_up):
        give_up()
        yield

    answer = asked(model_server, ended_by=at_once)
    assert (answer.ended, answer.error, answer.late) == (False, None, True)
    assert model_server.requests == []
