"""A small ACP agent that plays the scenario of its command line: `scripted_agent.py STEP …`, each STEP `verb=value`.

Played in order for each prompt:
    text=T            a piece of the agent's message        thought=T   a piece of its thoughts
    update={json}     any session update                    echo        the prompt's text, as text
    permission={json} asks (the params but sessionId) and tells the outcome as text
    ask=METHOD        asks the client anything and tells the error code of the answer as text
    withdrawn={json} asks what it has withdrawn        retracted={json} asks, and withdraws it
    twice={json}     asks two questions at once        form={json} asks elicitation/create and tells the answer
    rubbish=T         a line on stdout as it is             stderr=T    a line on stderr
    die=CODE          exit                                  stop=R      end the turn with stop reason R
    error={json}      answer the prompt with an error       cancelled   wait for session/cancel, then end so
    hello             tell the client's capabilities as text
    notes             tell what was asked before the prompt, as text
    deaf              ignore everything from here on, until killed; SIGTERM too

Answers to other methods, given before the prompt:
    new-error={json}  refuse session/new                    modes=a,b   offer modes; a set one is told as text
    version=N         answer initialize with that version
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

SESSION = "session-1"

Json = dict[str, Any]


class Agent:
    """Reads requests one after the other; a step that waits reads on by itself."""

    def __init__(self, steps: list[str]) -> None:
        self.steps = [(verb, value) for verb, _, value in (step.partition("=") for step in steps)]
        self.settings = dict(self.steps)
        self.capabilities: Any = None
        self.notes: list[str] = []
        self.prompt = ""
        self.was_cancelled = False

    def run(self) -> None:
        while message := self.read():
            if "id" in message and "method" in message:
                self.serve(message)

    def read(self) -> Json | None:
        line = sys.stdin.readline()
        if not line:
            return None
        message: Json = json.loads(line)
        self.was_cancelled |= message.get("method") == "session/cancel"
        return message

    def send(self, message: Json) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def serve(self, message: Json) -> None:
        params = message["params"]
        answer: Json
        match message["method"]:
            case "initialize":
                self.capabilities = params["clientCapabilities"]
                answer = {"result": {"protocolVersion": int(self.settings.get("version", 1)), "authMethods": []}}
            case "session/new" if "new-error" in self.settings:
                answer = {"error": json.loads(self.settings["new-error"])}
            case "session/new":
                modes = [{"id": mode, "name": mode} for mode in self.settings.get("modes", "").split(",") if mode]
                self.notes.append(f"cwd {params['cwd']}\n")
                answer = {"result": {"sessionId": SESSION, "modes": {"availableModes": modes}}}
            case "session/set_mode":
                self.notes.append(f"mode {params['modeId']}\n")
                answer = {"result": {}}
            case "session/prompt":
                answer = self.play(params["prompt"][0]["text"])
            case other:
                answer = {"error": {"code": -32601, "message": f"no {other}"}}
        self.send({"id": message["id"], **answer})

    def play(self, prompt: str) -> Json:
        self.prompt = prompt
        for verb, value in self.steps:
            perform = getattr(self, f"do_{verb}", None)
            if perform is not None and (ended := perform(value)) is not None:
                return ended
        return {"result": {"stopReason": "end_turn"}}

    def do_text(self, value: str) -> None:
        self.text(value)

    def do_thought(self, value: str) -> None:
        self.update({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": value}})

    def do_echo(self, _value: str) -> None:
        self.text(self.prompt)

    def do_notes(self, _value: str) -> None:
        self.text("".join(self.notes))

    def do_hello(self, _value: str) -> None:
        self.text(json.dumps(self.capabilities))

    def do_update(self, value: str) -> None:
        self.update(json.loads(value))

    def do_permission(self, value: str) -> None:
        self.tell_outcome(self.call("session/request_permission", {"sessionId": SESSION, **json.loads(value)}))

    def tell_outcome(self, answer: Json) -> None:
        self.text(f"outcome {json.dumps(answer['result']['outcome'])}\n")

    def do_withdrawn(self, value: str) -> None:
        question = {"id": "from-agent", "method": "session/request_permission", "params": json.loads(value)}
        withdrawal = {"method": "$/cancel_request", "params": {"requestId": "from-agent"}}
        self.send(withdrawal)  # ahead, as seen by a client that has not yet come to the question
        self.send(question)
        self.tell_outcome(self.answer())

    def do_retracted(self, value: str) -> None:
        self.send({"id": "from-agent", "method": "session/request_permission", "params": json.loads(value)})
        self.send({"method": "$/cancel_request", "params": {"requestId": "from-agent"}})
        self.tell_outcome(self.answer())

    def do_twice(self, value: str) -> None:
        for number in ("from-agent", "again"):
            self.send({"id": number, "method": "session/request_permission", "params": json.loads(value)})
        self.tell_outcome(self.answer())
        self.tell_outcome(self.answer("again"))

    def do_form(self, value: str) -> None:
        answer = self.call("elicitation/create", {"sessionId": SESSION, **json.loads(value)})
        self.text(f"answer {json.dumps(answer.get('result') or answer['error']['code'])}\n")

    def do_ask(self, value: str) -> None:
        self.text(f"code {self.call(value, {'sessionId': SESSION})['error']['code']}\n")

    def do_rubbish(self, value: str) -> None:
        sys.stdout.write(f"{value}\n")
        sys.stdout.flush()

    def do_stderr(self, value: str) -> None:
        sys.stderr.write(f"{value}\n")

    def do_die(self, value: str) -> None:
        sys.exit(int(value))

    def do_stop(self, value: str) -> Json:
        return {"result": {"stopReason": value}}

    def do_error(self, value: str) -> Json:
        return {"error": json.loads(value)}

    def do_cancelled(self, _value: str) -> Json:
        while not self.was_cancelled and self.read() is not None:
            pass
        return self.do_stop("cancelled")

    def do_deaf(self, _value: str) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.alarm(60)  # it must not outlive a failed test
        self.text("deaf now\n")
        while True:
            signal.pause()

    def text(self, text: str) -> None:
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def update(self, update: Json) -> None:
        self.send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})

    def call(self, method: str, params: Json) -> Json:
        self.send({"id": "from-agent", "method": method, "params": params})
        return self.answer()

    def answer(self, number: str = "from-agent") -> Json:
        while (message := self.read()) is not None:
            if message.get("id") == number:
                return message
        sys.exit(0)


if __name__ == "__main__":
    Agent(sys.argv[1:]).run()
