"""How large a model's context window is, asked of its server."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import urlencode, urlsplit, urlunsplit

from agent_core.errors import ProviderError
from agent_core.providers.catalog import CUSTOM, SERVICES, is_local, service_at
from agent_core.providers.choice import ModelChoice, ServedWindow
from agent_core.providers.protocol import key_header
from agent_core.providers.transport_errors import read_at_most

if TYPE_CHECKING:
    import httpx2

# What a model server says of the window that a model has there now: facts of its own addresses, no guesses.
# Each kind of server has its own way to say it, and what the model could take at most is often another figure.

Get = Callable[[str, Mapping[str, Any] | None], Mapping[str, Any]]
"""The JSON object at a path below the server's root, {} where there is none; with a body it is a POST."""

_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)\s*$", re.MULTILINE)
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "organization_owner": "lmstudio"}
_LEAST_WANTED, _MOST_WANTED = 32_768, 262_144


def read_window(get: Get, model: str, kind: str = "") -> ServedWindow | None:
    """Ask a server for the window of `model`; None where it says nothing of it.

    Args:
        kind: the server's, where it is known; else its list of models is looked at, and then what only one kind has.
    """
    if kind in _READERS and (found := _READERS[kind](get, model)) is not None:
        return found
    listed = _listed(get, model)
    if listed is not None and listed.tokens is not None:
        return listed
    known = "" if listed is None else listed.kind
    for name in sorted(_READERS, key=lambda name: name != known):
        if name not in _BY_LIST and name != kind and (found := _READERS[name](get, model)) is not None:
            return found
    return None


def _listed(get: Get, model: str) -> ServedWindow | None:
    """As vLLM and SGLang say it in their list of models: `max_model_len`."""
    entry = _named(get("/v1/models", None).get("data"), model, "id", "root")
    kind = _OWNERS.get(str(entry.get("owned_by")), "")
    tokens = _count(entry.get("max_model_len"))
    return ServedWindow(kind, tokens, loaded=tokens is not None) if tokens or kind else None


def _ollama(get: Get, model: str) -> ServedWindow | None:
    """`/api/ps` has the window of a model that is loaded, `/api/show` what its file says and its most."""
    running = get("/api/ps", None)
    if not isinstance(running.get("models"), list):
        return None
    names = (model, _with_tag(model))
    entries = (_named(running["models"], name, "name", "model") for name in names)
    loaded = next(filter(None, (_count(entry.get("context_length")) for entry in entries)), None)
    told = get("/api/show", {"model": model})
    facts = told.get("model_info")
    sizes = [_count(size) for name, size in facts.items() if name.endswith(".context_length")] if _is(facts) else []
    set_to = _NUM_CTX.search(str(told.get("parameters") or ""))
    maximum = next(filter(None, sizes), None)
    tokens = loaded or (int(set_to[1]) if set_to else None) or None
    return ServedWindow("ollama", tokens, maximum, loaded=loaded is not None)


def _llamacpp(get: Get, model: str) -> ServedWindow | None:
    """`/props`: the window of each slot, which is what a request has."""
    props = get("/props", None)
    settings = props.get("default_generation_settings")
    if not _is(settings):
        # A server of many models says it of the one that is named, once that is loaded.
        settings = get(f"/props?{urlencode({'model': model})}", None).get("default_generation_settings")
    tokens = _count(settings.get("n_ctx")) if _is(settings) else None
    if tokens is None:
        return None
    meta = _named(get("/v1/models", None).get("data"), model, "id", alone=True).get("meta")
    maximum = _count(meta.get("n_ctx_train")) if _is(meta) else None
    return ServedWindow("llamacpp", tokens, maximum, loaded=True, slots=_count(props.get("total_slots")) or 1)


def _lmstudio(get: Get, model: str) -> ServedWindow | None:
    """`/api/v0/models` has `loaded_context_length`; later versions say it of each loaded instance."""
    entry = _named(get("/api/v0/models", None).get("data"), model, "id")
    tokens = _count(entry.get("loaded_context_length"))
    if not entry or (tokens is None and entry.get("state") == "loaded"):
        newer = _of_instances(get("/api/v1/models", None).get("models"), model)
        if newer is not None:
            return newer
    if not entry:
        return None
    return ServedWindow("lmstudio", tokens, _count(entry.get("max_context_length")), loaded=tokens is not None)


def _of_instances(entries: object, model: str) -> ServedWindow | None:
    for entry in entries if isinstance(entries, list) else ():
        instances = entry.get("loaded_instances") if _is(entry) else None
        loaded = [each for each in instances if _is(each)] if isinstance(instances, list) else []
        if not _is(entry) or model not in (entry.get("key"), *(each.get("id") for each in loaded)):
            continue
        one = next((each for each in loaded if each.get("id") == model), loaded[0] if loaded else {})
        config = one.get("config")
        tokens = _count(config.get("context_length")) if _is(config) else None
        return ServedWindow("lmstudio", tokens, _count(entry.get("max_context_length")), loaded=tokens is not None)
    return None


def _tgi(get: Get, _model: str) -> ServedWindow | None:
    """`/info`: prompt and answer together."""
    info = get("/info", None)
    tokens = _count(info.get("max_total_tokens")) if "model_id" in info else None
    return None if tokens is None else ServedWindow("tgi", tokens, loaded=True)


_READERS: Mapping[str, Callable[[Get, str], ServedWindow | None]] = {
    "llamacpp": _llamacpp,
    "ollama": _ollama,
    "lmstudio": _lmstudio,
    "tgi": _tgi,
    "vllm": _listed,
    "sglang": _listed,
}
_BY_LIST = frozenset({"vllm", "sglang"})


def advice(window: ServedWindow, model: str, wanted: int) -> str:
    """What the person types so that prompts of `wanted` tokens fit; ends with a full stop."""
    tokens = _size_for(wanted, window.maximum)
    match window.kind:
        case "ollama":
            return (
                f"Start Ollama with a larger window: `OLLAMA_CONTEXT_LENGTH={tokens} ollama serve` (in its app: "
                f"Settings, Context length). Or for this model alone: `ollama run {model}`, then "
                f"`/set parameter num_ctx {tokens}` and `/save {model}`."
            )
        case "llamacpp":
            shared = f" ({window.slots} slots share it)" if window.slots > 1 else ""
            return f"Start it with a larger window: `llama-server -c {tokens * window.slots}`{shared}."
        case "lmstudio":
            return (
                f"Load it again with a larger window: `lms unload {model}`, "
                f"`lms load {model} --context-length {tokens}`."
            )
        case "vllm":
            return f"Start it with a larger window: `vllm serve {model} --max-model-len {tokens}`."
        case "sglang":
            return (
                "Start it with a larger window: "
                f"`python -m sglang.launch_server --model-path {model} --context-length {tokens}`."
            )
        case "tgi":
            return (
                "Start it with a larger window: "
                f"`text-generation-launcher --max-input-tokens {tokens - 1024} --max-total-tokens {tokens}`."
            )
    return (
        f"Raise the context length in the server's settings to {tokens} (Ollama: "
        f"`OLLAMA_CONTEXT_LENGTH={tokens} ollama serve`; llama.cpp: `llama-server -c {tokens}`; LM Studio: "
        f"`lms load {model} --context-length {tokens}`; vLLM: `--max-model-len {tokens}`)."
    )


def _size_for(wanted: int, maximum: int | None) -> int:
    """A usual size with room for twice as much, at most what the model can take."""
    size = _LEAST_WANTED
    while size < 2 * wanted and size < _MOST_WANTED:
        size *= 2
    return size if maximum is None else min(size, maximum)


def _named(entries: object, model: str, *keys: str, alone: bool = False) -> Mapping[str, Any]:
    """The entry of that name; {} for none. `alone`: the only entry counts whatever its name is."""
    found = [entry for entry in entries if _is(entry)] if isinstance(entries, list) else []
    if alone and len(found) == 1:
        return found[0]
    return next((entry for entry in found if any(entry.get(key) == model for key in keys)), {})


def _with_tag(model: str) -> str:
    """Ollama's full name of a model."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


def _is(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# Learns, beside the requests of a process, how large a window its model servers really have.

log = logging.getLogger(__name__)

ASK_SECONDS = 3.0
_MAX_BYTES = 4 * 1024 * 1024
_WAIT_SECONDS = 0.1
"""So long a request waits for the first word of the window: a server on this machine has said it by then."""
_OLD_AFTER = 60.0
_MOST_AFTER_ANSWERS = 3

Ask = Callable[[ModelChoice], ServedWindow | None]


class _Known:
    """What one server has said of one model. `asking` is set while nobody asks."""

    def __init__(self) -> None:
        self.window: ServedWindow | None = None
        self.asked_at: float | None = None
        self.after_answers = 0
        self.asking = threading.Event()
        self.asking.set()
        self.waited = False


class Windows:
    """The windows of one process's models. Nothing here raises; safe to use from several threads.

    Only servers on this machine or in a private network are asked, and those whose address the person has set; each
    with its own key, in the background.

    Args:
        ask: asks one server; it never raises, and has an end.
    """

    def __init__(
        self,
        ask: Ask | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: float = _WAIT_SECONDS,
    ) -> None:
        self._ask = ask or ask_server
        self._clock = clock
        self._wait = wait
        self._known: dict[tuple[str, ...], _Known | None] = {}
        self._lock = threading.Lock()

    def begin(self, choice: ModelChoice) -> None:
        """Ask if nobody has, or long ago: a server may have been started again with another window.

        One elsewhere that says nothing of its window is not asked again: that would only count against its limits.
        """
        if (known := self._of(choice)) is None:
            return
        if known.asked_at is not None and self._clock() - known.asked_at <= _OLD_AFTER:
            return
        says_nothing = known.window is not None and known.window.loaded and known.window.tokens is None
        if known.asked_at is None or not says_nothing or is_local(choice.base_url):
            self._look(choice, known)

    def fitted(self, choice: ModelChoice) -> ModelChoice:
        """The same with its server's window. An answer that is on its way is waited for a moment, once."""
        if (known := self._of(choice)) is None:
            return choice
        if known.asked_at is None:
            self._look(choice, known)
        if not known.asking.is_set() and not known.waited:
            known.asking.wait(self._wait)
            known.waited = True
        tokens = None if known.window is None else known.window.tokens
        return choice if tokens is None else replace(choice, context_length=tokens)

    def answered(self, choice: ModelChoice) -> None:
        """Ask again where the server could not say it before the model was loaded."""
        if (known := self._of(choice)) is None:
            return
        if (known.window is None or not known.window.loaded) and known.after_answers < _MOST_AFTER_ANSWERS:
            known.after_answers += 1
            self._look(choice, known)

    def of(self, choice: ModelChoice) -> ServedWindow | None:
        """What its server has said."""
        known = self._of(choice)
        return None if known is None else known.window

    def _of(self, choice: ModelChoice) -> _Known | None:
        """What is known of the model at its server; None where nobody asks that."""
        if choice.context_length is not None:
            return None
        key = choice.provider, choice.api_mode, choice.base_url, choice.model
        with self._lock:
            if key not in self._known:
                self._known[key] = _Known() if may_be_asked(choice) else None
            return self._known[key]

    def _look(self, choice: ModelChoice, known: _Known) -> None:
        with self._lock:
            if not known.asking.is_set():
                return
            known.asking.clear()
            known.asked_at, known.waited = self._clock(), False
        # A daemon: nobody waits for a server when the process ends.
        threading.Thread(target=self._learn, args=(choice, known), name="window", daemon=True).start()

    def _learn(self, choice: ModelChoice, known: _Known) -> None:
        try:
            found = self._ask(choice)
            # A server that does not answer now has not changed.
            known.window = found or known.window
        finally:
            known.asking.set()


def may_be_asked(choice: ModelChoice) -> bool:
    """Whether the window is not known, and the server is the person's own or one that they have set."""
    if choice.context_length is not None or choice.api_mode in {"bedrock_converse", "offline"} or not choice.base_url:
        return False
    service = SERVICES.get(choice.provider, CUSTOM)
    if service.local or is_local(choice.base_url):
        return True
    return service is CUSTOM and service_at(choice.base_url) is None


def ask_server(choice: ModelChoice) -> ServedWindow | None:
    """Ask the server of `choice` for the window of its model, for at most `ASK_SECONDS`; None where it is not there.

    No failure raises. Of a server that says nothing of it nothing is known, and nothing more will be.
    """
    import httpx2  # noqa: PLC0415 - a tenth of a second, with our transport: only for windows that are not known

    from agent_core.providers.transport import deadline, make_client  # noqa: PLC0415

    service = SERVICES.get(choice.provider, CUSTOM)
    try:
        with make_client(base_url=choice.base_url) as client, deadline(ASK_SECONDS):
            found = read_window(_Getter(client, choice), choice.model, service.name if service.local else "")
            return found or ServedWindow(loaded=True)
    except (httpx2.HTTPError, httpx2.InvalidURL, ProviderError, OSError, ValueError) as problem:
        log.info("%s did not say how large its window is (%s)", choice.endpoint, type(problem).__name__)
        return None


class _Getter:
    """Gets the JSON objects of one server, as `read_window` wants them."""

    def __init__(self, client: httpx2.Client, choice: ModelChoice) -> None:
        self._client = client
        self._root = _root(choice.base_url)
        self._headers = headers_of(choice)
        self._got: dict[str, Mapping[str, Any]] = {}

    def __call__(self, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if path not in self._got:
            self._got[path] = self._asked(path, body)
        return self._got[path]

    def _asked(self, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        method = "GET" if body is None else "POST"
        request = self._client.build_request(
            method, f"{self._root}{path}", headers=self._headers, json=body, timeout=ASK_SECONDS
        )
        answer = self._client.send(request, stream=True)
        text = read_at_most(answer, _MAX_BYTES)
        if answer.status_code != 200 or len(text) > _MAX_BYTES:  # noqa: PLR2004
            return {}
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def headers_of(choice: ModelChoice) -> dict[str, str]:
    """What a question to the server of `choice` about itself is sent with: its key goes where requests send it."""
    return {"Accept": "application/json", **dict(choice.headers), **key_header(choice)}


def _root(base_url: str) -> str:
    """The address below which a server's own paths are: without the version that compatible APIs end with."""
    parts = urlsplit(base_url.rstrip("/"))
    path = parts.path.removesuffix("/v1").removesuffix("/openai").removesuffix("/api")
    return urlunsplit(parts._replace(path=path.rstrip("/")))
