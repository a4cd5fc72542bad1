"""One question to a model: what comes back."""

from acp_adapter.cli.model_trial import ask
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest
from tests.support.choices import choice_for
from tests.support.model_server import Disconnect, Reply, Status

REQUEST = ModelRequest("test-model", [user_message("Hello")])


def asked(server):
    return ask(choice_for(server.base_url), REQUEST, 30.0)


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
