"""The client against real agent processes."""

import json
import os
import signal
import sys
import threading

import pytest

from acp_adapter.cli.acp_client import (
    AcpClient,
    AgentDied,
    AgentRefused,
    ClientError,
    Earlier,
    Handler,
    open_session,
    send_prompt,
)
from tests.support.scripted import agent_command, permission_step, update_step


class Recorder(Handler):
    """Keeps what the agent sent; answers questions with `option`."""

    def __init__(self, option=None):
        self.option = option
        self.updates = []
        self.questions = []
        self.stray = []

    def on_update(self, update, t):
        self.updates.append(update)

    def on_permission(self, params, t):
        self.questions.append(params)
        return self.option

    def on_stray_line(self, line):
        self.stray.append(line)

    @property
    def text(self):
        return "".join(
            update["content"]["text"] for update in self.updates if update["sessionUpdate"] == "agent_message_chunk"
        )


def converse(tmp_path, *steps, handler=None, prompt="hello", trace=None):
    handler = handler or Recorder()
    with AcpClient(agent_command(*steps), handler, trace=trace) as client:
        opened = open_session(client, tmp_path, "test")
        return send_prompt(client, opened.session_id, prompt), handler


def test_a_turn_gives_its_updates_in_order_and_its_stop_reason(tmp_path):
    plan = update_step("plan", entries=[])
    stop_reason, handler = converse(tmp_path, "thought=hm", "text=a", plan, "text=b", "stop=max_tokens")
    assert stop_reason == "max_tokens"
    kinds = [update["sessionUpdate"] for update in handler.updates]
    assert kinds == ["agent_thought_chunk", "agent_message_chunk", "plan", "agent_message_chunk"]


def test_the_session_is_opened_in_the_given_directory(tmp_path):
    _, handler = converse(tmp_path, "notes")
    assert handler.text == f"cwd {tmp_path}\n"


def test_only_what_the_client_serves_is_advertised(tmp_path):
    _, handler = converse(tmp_path, "hello")
    capabilities = json.loads(handler.text)
    assert capabilities["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert capabilities["terminal"] is False
    assert capabilities["_meta"] == {"terminal_output": True}


def test_a_permission_question_reaches_the_handler_and_its_answer_the_agent(tmp_path):
    _, handler = converse(tmp_path, permission_step(title="Edit"), handler=Recorder("yes"))
    assert handler.questions[0]["toolCall"]["title"] == "Edit"
    assert handler.text == 'outcome {"outcome": "selected", "optionId": "yes"}\n'


def test_a_question_that_the_handler_does_not_answer_is_cancelled(tmp_path):
    _, handler = converse(tmp_path, permission_step(), handler=Recorder(None))
    assert handler.text == 'outcome {"outcome": "cancelled"}\n'


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "_vendor/anything"])
def test_a_request_that_was_not_advertised_is_answered_method_not_found(tmp_path, method):
    _, handler = converse(tmp_path, f"ask={method}")
    assert handler.text == "code -32601\n"


@pytest.mark.parametrize("line", ["Starting up!", "[1, 2]", '"text"', '{"id": 7}', "[" * 100_000, '{"jsonrpc"'])
def test_a_line_that_is_no_message_is_reported_and_passed_over(tmp_path, line):
    stop_reason, handler = converse(tmp_path, f"rubbish={line}", "text=still here")
    assert stop_reason == "end_turn"
    assert handler.stray == [line]
    assert handler.text == "still here"


def test_an_empty_line_is_nothing(tmp_path):
    _, handler = converse(tmp_path, "rubbish=", "text=x")
    assert handler.stray == []


def test_a_line_of_megabytes_arrives_whole(tmp_path):
    prompt = "x" * 3_000_000
    _, handler = converse(tmp_path, "echo", prompt=prompt)
    assert handler.text == prompt


def test_an_error_answer_is_raised_with_its_code_message_and_details(tmp_path):
    error = {"code": -32603, "message": "Internal error", "data": {"details": "The model said no."}}
    with pytest.raises(AgentRefused, match="Internal error") as caught:
        converse(tmp_path, f"error={json.dumps(error)}")
    assert (caught.value.method, caught.value.code) == ("session/prompt", -32603)
    assert caught.value.details == "The model said no."


@pytest.mark.parametrize("data", [None, "text", [1], {"details": 5}])
def test_error_data_of_any_shape_is_borne(tmp_path, data):
    error = {"code": 1, "message": "no", "data": data}
    with pytest.raises(AgentRefused) as caught:
        converse(tmp_path, f"error={json.dumps(error)}")
    assert caught.value.details == (data if isinstance(data, str) else "")


def test_an_agent_that_dies_is_told_with_its_exit_code_and_the_end_of_its_stderr(tmp_path):
    noise = [f"stderr=line {number}" for number in range(50)]
    with pytest.raises(AgentDied) as caught:
        converse(tmp_path, "text=so far", *noise, "stderr=out of memory", "die=3")
    message = str(caught.value)
    assert "exit code 3" in message
    assert "out of memory" in message
    assert "line 49" in message
    assert "line 5\n" not in message


def test_an_agent_killed_by_a_signal_is_told_by_the_signals_name(tmp_path):
    command = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    with AcpClient(command, Recorder()) as client, pytest.raises(AgentDied, match="SIGKILL"):
        client.request("initialize", {})


def test_an_agent_that_died_before_a_request_is_told_the_same(tmp_path):
    with AcpClient([sys.executable, "-c", "raise SystemExit(4)"], Recorder()) as client:
        with pytest.raises(AgentDied, match="exit code 4"):
            client.request("one", {})
        with pytest.raises(AgentDied, match="exit code 4"):
            client.request("two", {})


def test_a_child_that_keeps_the_pipes_open_does_not_hide_the_agents_death(tmp_path):
    child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)"
    script = f"{child}; import os; os._exit(5)"
    with (
        AcpClient([sys.executable, "-c", script], Recorder()) as client,
        pytest.raises(AgentDied, match="exit code 5"),
    ):
        client.request("initialize", {})


def test_an_agent_that_closes_its_output_but_lives_is_told_so(tmp_path):
    script = "import os, sys; os.close(1); sys.stdin.buffer.read(); os._exit(0)"
    with (
        AcpClient([sys.executable, "-c", script], Recorder()) as client,
        pytest.raises(AgentDied, match="closed its output"),
    ):
        client.request("initialize", {})


def test_a_command_that_does_not_exist_is_told_by_its_name():
    with pytest.raises(ClientError, match="/no/such/agent"):
        AcpClient(["/no/such/agent"], Recorder())


def test_a_request_that_is_not_answered_in_time_is_told_with_the_method(tmp_path):
    script = "import sys; sys.stdin.read()"
    with (
        AcpClient([sys.executable, "-c", script], Recorder()) as client,
        pytest.raises(ClientError, match=r"initialize within 0\.05 s"),
    ):
        client.request("initialize", {}, timeout=0.05)


def test_another_protocol_version_is_refused_in_words(tmp_path):
    with pytest.raises(ClientError, match="version 2"):
        converse(tmp_path, "version=2")


def test_an_action_from_another_thread_runs_while_a_request_waits(tmp_path):
    handler = Recorder()
    with AcpClient(agent_command("cancelled"), handler) as client:
        session = open_session(client, tmp_path, "test").session_id
        caller = []

        def cancel():
            caller.append(threading.current_thread())
            client.notify("session/cancel", {"sessionId": session})

        other = threading.Thread(target=client.call_soon, args=(cancel,))
        other.start()
        assert send_prompt(client, session, "work") == "cancelled"
        other.join()
    assert caller == [threading.main_thread()]


def test_every_frame_is_traced_in_both_directions_with_rising_times_for_each(tmp_path):
    frames = []
    converse(tmp_path, "text=a", permission_step(), handler=Recorder("no"), trace=lambda *item: frames.append(item))
    summary = [(direction, frame.get("method", "answer")) for direction, _, frame in frames]
    assert summary == [
        ("out", "initialize"),
        ("in", "answer"),
        ("out", "session/new"),
        ("in", "answer"),
        ("out", "session/prompt"),
        ("in", "session/update"),
        ("in", "session/request_permission"),
        ("out", "answer"),
        ("in", "session/update"),
        ("in", "answer"),
    ]
    for direction in ("in", "out"):
        times = [t for way, t, _ in frames if way == direction]
        assert times == sorted(times)


def test_a_cancellation_made_at_a_question_is_sent_before_the_answer(tmp_path):
    class Canceller(Recorder):
        def on_permission(self, params, t):
            client.call_soon(lambda: client.notify("session/cancel", {"sessionId": session}))

    sent = []
    trace = lambda way, _, frame: sent.append(frame.get("method", "answer")) if way == "out" else None  # noqa: E731
    with AcpClient(agent_command(permission_step()), Canceller(), trace=trace) as client:
        session = open_session(client, tmp_path, "test").session_id
        send_prompt(client, session, "work")
    assert sent[-2:] == ["session/cancel", "answer"]


def test_an_impatient_close_ends_an_agent_that_heeds_nothing_but_sigkill(tmp_path):
    handler, told = Recorder(), tmp_path / "pid"
    telling = ["sh", "-c", f"echo $$ > '{told}'; exec \"$@\"", "sh"]
    client = AcpClient([*telling, *agent_command("deaf")], handler)
    session = open_session(client, tmp_path, "test").session_id

    def insist(update, t):
        raise KeyboardInterrupt

    handler.on_update = insist
    with pytest.raises(KeyboardInterrupt), client:
        send_prompt(client, session, "work")
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_the_agent_does_not_share_the_terminals_signals(tmp_path):
    script = "import os, sys; print(os.getpgrp() == os.getpid(), file=sys.stderr); sys.exit(1)"
    with AcpClient([sys.executable, "-c", script], Recorder()) as client, pytest.raises(AgentDied, match="True"):
        client.request("initialize", {})


def test_signals_are_handled_as_before_after_a_conversation(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    converse(tmp_path, "text=x")
    assert signal.getsignal(signal.SIGINT) is before


def answering(tmp_path, *extra, result='{"stopReason": "end_turn"}', error=""):
    """A command that sends `extra` before it answers the prompt, and gives each request the same `result`."""
    program = tmp_path / "agent.py"
    program.write_text(
        f"""import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "method" not in asked:
        print(json.dumps({{"method": "session/update", "params": {{"update": {{"answered": asked}}}}}}))
    elif asked["method"] == "initialize":
        print(json.dumps({{"id": asked["id"], "result": {{"protocolVersion": 1}}}}))
    elif asked["method"] == "session/new":
        print(json.dumps({{"id": asked["id"], "result": {{"sessionId": "mine", "modes": {{"availableModes": 5}}}}}}))
    else:
        for each in {list(extra)!r}:
            print(json.dumps(each))
        print(json.dumps({{"id": asked["id"], "result": {result}{error}}}))
    sys.stdout.flush()
"""
    )
    return [sys.executable, str(program)]


def prompted(tmp_path, command):
    handler = Recorder("yes")
    with AcpClient(command, handler) as client:
        return send_prompt(client, open_session(client, tmp_path, "test").session_id, "work"), handler


def test_answers_with_ids_that_are_no_numbers_are_passed_over(tmp_path):
    strange = [{"id": number, "result": {}} for number in ([1], {"a": 1}, None, "x")]
    assert prompted(tmp_path, answering(tmp_path, *strange))[0] == "end_turn"


def test_an_error_that_is_null_is_none(tmp_path):
    assert prompted(tmp_path, answering(tmp_path, error=', "error": None'))[0] == "end_turn"


def test_of_other_sessions_nothing_is_shown_and_nothing_allowed(tmp_path):
    asks = {"method": "session/request_permission", "params": {"sessionId": "other"}, "id": [1]}
    tells = {"method": "session/update", "params": {"sessionId": "other", "update": {"sessionUpdate": "plan"}}}
    _, handler = prompted(tmp_path, answering(tmp_path, tells, asks))
    assert handler.questions == []
    assert all("answered" in update for update in handler.updates)


def test_an_agent_that_never_stops_talking_does_not_hold_up_who_listens_for_a_while(tmp_path):
    script = 'while True: print(\'{"method": "session/update", "params": {"update": {}}}\', flush=True)'
    with AcpClient([sys.executable, "-c", script], Recorder()) as client:
        assert not client.listen(lambda: False, 0.05)
        with pytest.raises(ClientError):
            client.request("initialize", {}, timeout=0.05)
        client.close(patient=False)


def listing(tmp_path, pages):
    program = tmp_path / "agent.py"
    program.write_text(
        f"""import json, sys
pages = {pages!r}
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked["params"]
    result = {{"protocolVersion": 1, "agentCapabilities": {{"sessionCapabilities": {{"list": {{}}}}}}}}
    if method == "session/list":
        result = pages[params.get("cursor", "")]
    print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""
    )
    return [sys.executable, str(program)]


def test_a_list_of_sessions_that_leads_in_a_circle_ends(tmp_path):
    pages = {"": {"nextCursor": "a"}, "a": {"nextCursor": "b"}, "b": {"nextCursor": "a"}}
    with (
        AcpClient(listing(tmp_path, pages), Recorder()) as client,
        pytest.raises(ClientError, match="no earlier session"),
    ):
        open_session(client, tmp_path, "test", Earlier())


def test_the_last_session_is_one_of_this_directory_also_where_the_agent_lists_all(tmp_path):
    sessions = [{"sessionId": "other", "cwd": "/"}, {"sessionId": "here", "cwd": f"{tmp_path}/."}]
    with AcpClient(listing(tmp_path, {"": {"sessions": sessions}}), Recorder()) as client:
        assert open_session(client, tmp_path, "test", Earlier()).session_id == "here"
