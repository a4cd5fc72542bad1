"""How a connection begins: the handshake, the first session, signing in, and what is no message."""

from __future__ import annotations

from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario.whole
async def handshake(stage: Stage) -> None:
    """The greeting: one version, the capabilities that work, a way to sign in."""
    await stage.greet()


@scenario.whole
async def first_session(stage: Stage) -> None:
    """A new session's modes and options are in its answer; its commands follow."""
    await stage.begin()


@scenario
async def second_session(stage: Stage) -> None:
    """Another session in the same connection has an id of its own."""
    await stage.begin()
    await stage.open()
    await stage.prompt("say in the second")


@scenario
async def sign_in(stage: Stage) -> None:
    """Signing in succeeds where a model is configured; a method that was not offered is an error."""
    await stage.greet()
    methods = stage.agent.frames[1].message["result"]["authMethods"]
    await stage.agent.request("authenticate", {"methodId": methods[0]["id"]})
    await stage.refused("authenticate", {"methodId": "magic"})


@scenario
async def logout(stage: Stage) -> None:
    """After a logout no session is opened, and those that are open go on; signing in again opens them."""
    await stage.begin()
    await stage.agent.request("logout", {})
    await stage.refused("session/new", {"cwd": str(stage.workspace), "mcpServers": []})
    await stage.prompt("say still here")
    await stage.agent.request("authenticate", {"methodId": "hermes-configured"})
    await stage.open()


@scenario
async def no_model(stage: Stage) -> None:
    """Without a configured model the greeting works, and a session says what to do."""
    stage.settings(model={"provider": "openrouter", "default": "some/model"})
    stage.use_own_settings()
    await stage.greet()
    methods = stage.agent.frames[1].message["result"]["authMethods"]
    await stage.refused("session/new", {"cwd": str(stage.workspace), "mcpServers": []})
    await stage.refused("authenticate", {"methodId": methods[0]["id"]})


@scenario
async def unknown_version(stage: Stage) -> None:
    """A version that does not exist is answered with ours."""
    await stage.greet()
    await stage.agent.initialize({}, version=65535)


@scenario
async def bad_directories(stage: Stage) -> None:
    """A session's own directory must be there, and further ones must be absolute."""
    await stage.greet()
    for params in (
        {"cwd": ""},
        {"cwd": str(stage.workspace / "nowhere")},
        {"cwd": str(stage.workspace / "sums.py")},
        {"cwd": str(stage.workspace), "additionalDirectories": ["elsewhere"]},
    ):
        await stage.refused("session/new", {"mcpServers": [], **params})


@scenario
async def bad_params(stage: Stage) -> None:
    """Parameters that are not there, or of the wrong kind, are an error that names them."""
    await stage.begin()
    await stage.refused("session/prompt", {})
    await stage.refused("session/prompt", {"sessionId": stage.session, "prompt": "words"})
    await stage.refused("session/new", {"cwd": 7})
    await stage.prompt("say still here")


@scenario
async def unknown_methods(stage: Stage) -> None:
    """Methods that nobody knows are errors; notifications that nobody knows are nothing."""
    await stage.begin()
    stage.agent.notify("session/whatever", {"sessionId": stage.session})
    stage.agent.notify("_example.org/whatever")
    await stage.refused("session/set_model", {"sessionId": stage.session, "modelId": "x"})
    await stage.refused("_example.org/whatever", {})
    await stage.prompt("say still here")


@scenario
async def no_messages(stage: Stage) -> None:
    """Lines that are no messages are answered with errors that have no id."""
    await stage.begin()
    agent = stage.agent
    for number, line in enumerate(
        (b"this is no JSON", b"[]", b'"text"', b'{"jsonrpc":"2.0","id":{},"method":"x"}'), 1
    ):
        agent.send_raw(line + b"\n")

        def errors(number: int = number) -> bool:
            return sum("error" in frame.message and not frame.ours for frame in agent.frames) == number

        await agent.until(errors, what="an error")
    await stage.prompt("say still here")
