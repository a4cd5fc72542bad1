"""Secrets in every place where a person keeps them, each of its own, so that one that is found says where it was."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.mcp.oauth import ServerTokens
from agent_core.providers.token_store import FILE_NAME, OAuthToken, TokenStore
from tests.support import language_server, mcp_servers
from tests.support.model_server import ModelServer
from tests.support.settings_files import configure

_SERVER = Path(mcp_servers.__file__).with_name("mcp_plain_server.py")
_NOTE_VARIABLES = "import json, os, sys; open(sys.argv[1], 'a').write(json.dumps(dict(os.environ)) + '\\n'); "
# Begins a language server and a server of MCP which first note what variables they were given.
_RUN = "import runpy; sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], run_name='__main__')"

WRITTEN = ("config.yaml", ".env", FILE_NAME)
"""Where a person, or the sign-in, has put them."""


@dataclass(frozen=True, slots=True)
class Planted:
    """Where secrets are.

    Attributes:
        secrets: each by its place.
        variables: what this process's environment has of them.
        children: where programs note their variables, by what they are.
    """

    secrets: Mapping[str, str]
    variables: Mapping[str, str]
    children: Mapping[str, Path]

    def found_in(self, text: str) -> list[str]:
        """Whose secrets are in a text."""
        return [place for place, secret in self.secrets.items() if secret in text]


def plant(home: Path, folder: Path, server: ModelServer, *, endpoint: str) -> Planted:
    """Settings with secrets wherever one may stand, and programs in `folder` that note what they get of them.

    Args:
        endpoint: the address that spans are sent to.
    """
    secret = {place: f"planted-{number}-qKw{number * 7919:06d}" for number, place in enumerate(_PLACES)}
    secret |= _FORMS
    children = {name: folder / f"variables-of-{name}.jsonl" for name in ("hook", "mcp", "lsp")}
    noting = (sys.executable, "-I", "-S", "-c", _NOTE_VARIABLES + _RUN)
    noted = {name: [*noting, str(path)] for name, path in children.items()}
    hook = folder / "hook.py"
    hook.write_text("import json, os, sys\nopen(sys.argv[1], 'a').write(json.dumps(dict(os.environ)) + '\\n')\n")
    plain = {"command": noted["mcp"][0], "args": [*noted["mcp"][1:], str(_SERVER), "plain"]}
    address = server.base_url.replace("http://", f"http://me:{secret['password of an address']}@")
    settings: dict[str, Any] = {
        "model": {
            "provider": "custom",
            "base_url": server.base_url,
            "default": "test-model",
            "api_key": secret["key of the model"],
            "headers": {"X-Api-Key": secret["header of the model"]},
        },
        "providers": {
            "other": {"base_url": address, "key_env": "CORP_LLM"},
            "third": {"base_url": server.base_url, "api_keys": [secret["key of a pool"]]},
        },
        "mcp_servers": {
            "plain": {**plain, "env": {"TICKETS_TOKEN": secret["variable of a server"]}},
            "far": {
                "url": "http://127.0.0.1:9/mcp",
                "headers": {"Authorization": f"Bearer {secret['header of a server']}"},
                "enabled": False,
            },
        },
        "hooks": {"pre_tool_call": [{"command": f"{sys.executable} -I -S {hook} {children['hook']}"}]},
        "lsp": {"enabled": True, "wait": 5, "servers": {".py": [*noted["lsp"], language_server.__file__, "push"]}},
        "agent": {"save_trajectories": True, "verify_on_stop": False},
        "telemetry": {"enabled": True, "endpoint": endpoint},
    }
    configure(home, settings)
    of_env = {"OPENAI_API_KEY": "key of .env", "TAVILY_API_KEY": "key of a search"}
    (home / ".env").write_text("".join(f"{name}={secret[place]}\n" for name, place in of_env.items()))
    TokenStore(home / FILE_NAME).put("codex", OAuthToken(secret["access token"], secret["refresh token"]))
    ServerTokens(home).keep("https://example.com/mcp", tokens={"access_token": secret["token of a server"]})
    variables = {
        "CORP_LLM": secret["variable that the settings name"],
        "GITHUB_TOKEN": secret["variable of a service"],
        "DB_PASSWORD": secret["variable with a password"],
        "DATABASE_URL": f"postgres://me:{secret['variable with an address']}@db.example.com/x",
        **{name: secret[place] for name, place in _KNOWN_BY_VALUE.items()},
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {secret['header of a collector']}",
    }
    return Planted(secret, variables, children)


_PLACES = (
    "key of the model",
    "header of the model",
    "password of an address",
    "key of a pool",
    "key of .env",
    "key of a search",
    "variable that the settings name",
    "variable of a service",
    "variable with a password",
    "variable with an address",
    "header of a collector",
    "variable of a server",
    "header of a server",
    "token of a server",
    "access token",
    "refresh token",
)


_FORMS = {
    "variable with a token": "ghp_planted" + "a1B2" * 7 + "x",
    "variable with a json web token": f"eyJhbGciOiJIUzI1NiJ9.eyJwbGFudGVkIjoxfQ.{'qKw7' * 10}",
    "variable with a private key": "-----BEGIN PRIVATE KEY-----MIIEplanted0qKw7AAAA-----END PRIVATE KEY-----",
}
"""Of forms that are known."""
_KNOWN_BY_VALUE = dict(zip(("MY_NOTE", "CI_CONTEXT", "SIGNER"), _FORMS, strict=True))
"""The variables that they are in, whose names say nothing."""


def as_json(value: Any) -> str:
    """The text of a value, with nothing escaped."""
    return json.dumps(value, ensure_ascii=False)
