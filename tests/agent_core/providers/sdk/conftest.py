"""Every way in which a model server is asked over HTTP: our own, the SDKs with a key, the SDKs with a sign-in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.base import ModelRequest
from agent_core.providers.http_provider import joined
from agent_core.providers.lessons import Lessons
from tests.support.choices import choice_for
from tests.support.fake_sign_ins import SESSION, TOKEN, FakeSignIns

KEY = "sk-test-0123456789"
MODEL = "claude-test-model"


@dataclass(frozen=True)
class Way:
    """How a server is asked.

    Attributes:
        root: where on the fake server its API is.
        options: fields of the choice of model.
    """

    name: str
    root: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def secret(self) -> str:
        """What no message may show."""
        return {None: KEY, "aws": SESSION}.get(self.options.get("sign_in"), TOKEN)


def plain(mode: str) -> list[Way]:
    return [
        Way(f"http {mode}", "/v1", {"api_mode": mode, "api_key": KEY}),
        Way(f"sdk {mode}", "/v1", {"api_mode": mode, "api_key": KEY, "transport": "sdk"}),
    ]


def cloud(name: str, root: str, mode: str, sign_in: str) -> Way:
    return Way(name, root, {"provider": name, "api_mode": mode, "transport": "sdk", "sign_in": sign_in})


MESSAGES = "anthropic_messages"
ENTRA = cloud("azure-entra", "/openai/v1", "chat_completions", "entra")
FOUNDRY = cloud("anthropic-foundry", "/anthropic", MESSAGES, "entra")
VERTEX = cloud("anthropic-vertex", "/v1", MESSAGES, "google")
BEDROCK = cloud("anthropic-bedrock", "", MESSAGES, "aws")
CLOUDS = [ENTRA, FOUNDRY, VERTEX, BEDROCK]
WAYS = [*plain("chat_completions"), *plain(MESSAGES), *plain("codex_responses"), *CLOUDS]


@pytest.fixture
def sign_ins(monkeypatch, tmp_path, aws_settings):
    with FakeSignIns() as fake:
        fake.entra(monkeypatch)
        fake.google(monkeypatch, tmp_path)
        fake.aws(monkeypatch)
        yield fake


@pytest.fixture(scope="session")
def sdks():
    """Loaded before the tests, so that no patience goes by meanwhile."""
    import anthropic  # noqa: F401, PLC0415 - seconds
    import openai  # noqa: F401, PLC0415 - the same


@pytest.fixture
def connect(model_server, sign_ins, sdks):
    """Make a provider for a way, at the fake server or at another address."""
    made = []

    def connect(way: Way, origin: str = "", lessons: Lessons | None = None, **options: Any):
        origin = origin or f"http://127.0.0.1:{model_server.port}"
        values = {"model": MODEL, **way.options, **options}
        choice = choice_for(values.pop("base_url", f"{origin}{way.root}"), **values)
        made.append(make_provider(choice, lessons))
        return made[-1]

    yield connect
    for provider in made:
        provider.close()


@pytest.fixture
def ask(connect):
    """All events of the answer to one question; neighbours that continue each other are one."""

    def ask(way_or_provider, **options: Any):
        provider = connect(way_or_provider) if isinstance(way_or_provider, Way) else way_or_provider
        question = options.pop("messages", [{"role": "user", "content": "hello"}])
        stream = provider.stream(ModelRequest(MODEL, question, **options))
        try:
            return list(joined(stream))
        finally:
            stream.close()

    return ask
