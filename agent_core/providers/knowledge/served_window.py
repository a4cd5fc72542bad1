"""What a model server says of the window that a model has there now: facts of its own addresses, no guesses.

Each kind of server has its own way to say it, and what the model could take at most is often another figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard
from urllib.parse import urlencode

from agent_core.providers.choice import ServedWindow

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
