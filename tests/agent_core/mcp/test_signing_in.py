"""Sign-ins at servers: made once, kept for their owner alone, renewed, and told of when they are over."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.oauth import ServerTokens
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.sign_in import look, sign_in
from agent_core.mcp.specs import McpFailure, McpLimits, ServerSpec
from agent_core.service_loop import ServiceLoop
from tests.support.app_server import serving
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian


@contextmanager
def wants_sign_in(seconds: int = 3600) -> Iterator[ServerSpec]:
    """A server whose tokens are good for so many seconds."""
    from tests.support.mcp_oauth_server import oauth_app  # noqa: PLC0415 - loads the SDK

    with serving(lambda origin: oauth_app(origin, seconds)) as origin:
        yield ServerSpec("api", "http", url=f"{origin}/mcp")


@contextmanager
def session(spec: ServerSpec, home: Path, *more: ServerSpec) -> Iterator[SessionServers]:
    loop, guardian, limits = ServiceLoop(), Guardian(), McpLimits(sign_in_seconds=0.05)
    servers = SessionServers(
        [spec, *more], home, loop=loop, guardian=guardian, tokens=ServerTokens(home), limits=limits
    )
    servers.start()
    servers.wait(30, CancelToken())
    try:
        yield servers
    finally:
        servers.close()
        loop.stop()
        guardian.kill_all()


def visit(url: str) -> None:
    """What a browser does, on a thread of its own."""
    threading.Thread(target=lambda: urllib.request.urlopen(url).read(), daemon=True).start()


def get(spec: ServerSpec, page: str) -> None:
    """Have the server do what a page of it stands for."""
    urllib.request.urlopen(spec.url.replace("/mcp", f"/{page}")).read()


def who(servers: SessionServers) -> str:
    return servers.call("api", "who", {}, CancelToken(), lambda _: None).text


def test_a_sign_in_is_kept_used_and_forgotten(tmp_path: Path) -> None:
    with wants_sign_in() as spec:
        tokens = ServerTokens(tmp_path)
        with session(spec, tmp_path) as servers:
            (status,) = servers.status()
            assert status.state == "failed"
            assert f"Run `hermes-acp mcp login {spec.url}`" in status.error
            assert not status.retry
        assert sign_in(spec, tmp_path, tokens, visit).tools == 1
        assert (tmp_path / "oauth_tokens.json").stat().st_mode & 0o777 == 0o600
        assert {secret.partition("-")[0] for secret in tokens.secrets()} >= {"access", "refresh"}
        assert look(spec, tmp_path, tokens, {}).tools == 1
        with session(spec, tmp_path) as servers:
            assert who(servers) == "renewed 0 times"
        assert tokens.forget(spec.url)
        assert not tokens.has(spec.url)


def test_a_session_that_runs_notices_a_sign_in_that_is_made_elsewhere(tmp_path: Path) -> None:
    with wants_sign_in() as spec, session(spec, tmp_path) as servers:
        assert servers.status()[0].state == "failed"
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        wait_until(lambda: servers.status()[0].state == "ready")
        assert who(servers) == "renewed 0 times"
        get(spec, "revoke")
        assert "needs a sign-in (HTTP 401). Run `hermes-acp mcp login" in who(servers)
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        wait_until(lambda: servers.status()[0].state == "ready")


def test_one_that_waits_for_a_sign_in_connects_when_it_is_asked_to_and_ends_with_its_session(tmp_path: Path) -> None:
    with wants_sign_in() as spec, session(spec, tmp_path) as servers:
        assert servers.reconnect("api")
        servers.wait(30, CancelToken())
        assert servers.status()[0].state == "failed"


def test_a_token_that_is_nearly_over_is_renewed_without_the_person(tmp_path: Path) -> None:
    with wants_sign_in(seconds=10) as spec:
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        with session(spec, tmp_path) as servers:
            assert "renewed 1 times" in who(servers)


def test_sessions_that_begin_together_renew_once(tmp_path: Path) -> None:
    with wants_sign_in() as spec:
        tokens = ServerTokens(tmp_path)
        sign_in(spec, tmp_path, tokens, visit)
        tokens.keep(spec.url, expires_at=1.0)
        with session(spec, tmp_path, replace(spec, name="again")) as servers:
            assert [status.state for status in servers.status()] == ["ready", "ready"]
            assert who(servers) == "renewed 1 times"


def test_a_token_that_is_over_early_is_renewed_before_it_is_given_up(tmp_path: Path) -> None:
    with wants_sign_in() as spec:
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        with session(spec, tmp_path) as servers:
            assert who(servers) == "renewed 0 times"
            get(spec, "forget")
            assert who(servers) == "renewed 1 times"


def test_what_another_process_has_renewed_is_used(tmp_path: Path) -> None:
    with wants_sign_in() as spec:
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        with session(spec, tmp_path) as one, session(spec, tmp_path) as two:
            get(spec, "forget")
            assert (who(one), who(two)) == ("renewed 1 times", "renewed 1 times")


def test_a_renewal_that_fails_for_now_is_no_end_of_the_sign_in(tmp_path: Path) -> None:
    with wants_sign_in(seconds=10) as spec:
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        get(spec, "break")
        with session(spec, tmp_path) as servers:
            (status,) = servers.status()
            assert status.retry, status.error
            servers.reconnect("api")
            servers.wait(30, CancelToken())
            assert who(servers) == "renewed 1 times"


def test_a_sign_in_that_was_taken_back_is_told_in_one_line(tmp_path: Path) -> None:
    with wants_sign_in() as spec:
        sign_in(spec, tmp_path, ServerTokens(tmp_path), visit)
        get(spec, "revoke")
        with session(spec, tmp_path) as servers:
            (status,) = servers.status()
            assert status.state == "failed"
            assert f"is over. Run `hermes-acp mcp login {spec.url}`" in status.error


def refusal(url: str) -> str:
    """The address that a browser is sent back to with a no."""
    query = parse_qs(urlsplit(url).query)
    return f"{query['redirect_uri'][0]}?error=access_denied&error_description=No%20way&state={query['state'][0]}"


def test_a_sign_in_that_is_refused_says_so(tmp_path: Path) -> None:
    with wants_sign_in() as spec, pytest.raises(McpFailure, match="The sign-in was refused: No way"):
        sign_in(spec, tmp_path, ServerTokens(tmp_path), lambda url: visit(refusal(url)))


def test_a_page_that_knows_nothing_of_the_sign_in_does_not_end_it(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def strangers_first(url: str) -> None:
        def go() -> None:
            back = refusal(url).partition("?")[0]
            queries = ("error=access_denied", "code=theirs&state=guessed", "code=theirs", "code=theirs&state=%C3%A4")
            seen.extend(urllib.request.urlopen(f"{back}?{query}").read() for query in queries)
            visit(url)

        threading.Thread(target=go, daemon=True).start()

    with wants_sign_in() as spec:
        assert sign_in(spec, tmp_path, ServerTokens(tmp_path), strangers_first).tools == 1
    assert [b"does not belong to the sign-in" in page for page in seen] == [True] * 4


def test_what_is_pasted_and_is_no_address_is_asked_for_again(tmp_path: Path) -> None:
    shown: list[str] = []
    pasted = iter(("http://[", "", lambda: refusal(shown[0])))

    async def paste() -> str:
        text = next(pasted)
        return text if isinstance(text, str) else text()

    with wants_sign_in() as spec, pytest.raises(McpFailure, match="The sign-in was refused: No way"):
        sign_in(spec, tmp_path, ServerTokens(tmp_path), shown.append, paste)


def test_connections_that_a_browser_does_not_use_hold_nothing_up(tmp_path: Path) -> None:
    idle: list[socket.socket] = []

    def preconnect(url: str) -> None:
        back = urlsplit(unquote(url.partition("redirect_uri=")[2].partition("&")[0]))
        idle.append(socket.create_connection((back.hostname, back.port), timeout=10))
        with socket.create_connection((back.hostname, back.port), timeout=10) as odd:
            odd.sendall(b"rubbish\r\n\r\n")
        visit(url)

    with wants_sign_in() as spec:
        assert sign_in(spec, tmp_path, ServerTokens(tmp_path), preconnect).tools == 1
        with idle[0], contextlib.suppress(ConnectionError):
            assert idle[0].recv(1) == b""
