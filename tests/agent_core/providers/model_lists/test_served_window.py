"""The window of a model as each kind of server tells it, and what the person types to make it larger."""

import pytest

from agent_core.providers.choice import ServedWindow
from agent_core.providers.model_windows import advice, read_window
from tests.support.each import each


def asked(pages, model="m", kind=""):
    """What is read from a server that has these pages."""
    return read_window(lambda path, _: pages.get(path, {}), model, kind)


SHOW = {
    "parameters": "stop <eot>\nnum_ctx    8192",
    "model_info": {"general.architecture": "l", "l.context_length": 131072},
}
PROPS = {"default_generation_settings": {"id": 0, "n_ctx": 16384}, "total_slots": 4}
LOADED = {"id": "m", "state": "loaded", "loaded_context_length": 4096, "max_context_length": 32768}
INSTANCES = {
    "models": [
        {
            "key": "m",
            "max_context_length": 9000,
            "loaded_instances": [{"id": "m", "config": {"context_length": 5000}}],
        }
    ]
}


@pytest.mark.quirk("Ollama", "serves a model with a smaller window than it has", "asked at /api/ps once it is loaded")
@each(
    ("pages", "model", "found"),
    [
        (
            {"/api/ps": {"models": [{"name": "q:7b", "context_length": 4096}]}, "/api/show": SHOW},
            "q:7b",
            ServedWindow("ollama", 4096, 131072, loaded=True),
        ),
        (
            {"/api/ps": {"models": [{"model": "q:latest", "context_length": 4096}]}},
            "q",
            ServedWindow("ollama", 4096, loaded=True),
        ),
        ({"/api/ps": {"models": []}, "/api/show": SHOW}, "q", ServedWindow("ollama", 8192, 131072)),
        ({"/api/ps": {"models": [{"name": "other:latest", "context_length": 9}]}}, "q", ServedWindow("ollama")),
        # Versions that do not tell it yet.
        ({"/api/ps": {"models": [{"name": "q:latest"}]}}, "q", ServedWindow("ollama")),
    ],
)
def test_window_of_ollama_is_the_one_in_use(pages, model, found):
    assert asked(pages, model) == asked(pages, model, "ollama") == found


@pytest.mark.quirk(
    "llama.cpp", "divides its window among its slots", "asked at /props, which has the window of a slot"
)
@each(
    ("pages", "found"),
    [
        ({"/props": PROPS}, ServedWindow("llamacpp", 16384, loaded=True, slots=4)),
        (
            {
                "/props": PROPS,
                "/v1/models": {"data": [{"id": "x.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40960}}]},
            },
            ServedWindow("llamacpp", 16384, 40960, loaded=True, slots=4),
        ),
        ({"/props": {"role": "router"}, "/props?model=m": PROPS}, ServedWindow("llamacpp", 16384, loaded=True)),
    ],
)
def test_window_of_llama_cpp_is_that_of_a_slot(pages, found):
    assert asked(pages) == asked(pages, kind="llamacpp") == found


@pytest.mark.quirk(
    "LM Studio", "loads models with a smaller window than they have", "asked at /api/v0/models or /api/v1/models"
)
@each(
    ("pages", "found"),
    [
        ({"/api/v0/models": {"data": [LOADED]}}, ServedWindow("lmstudio", 4096, 32768, loaded=True)),
        (
            {"/api/v0/models": {"data": [{"id": "m", "state": "not-loaded", "max_context_length": 32768}]}},
            ServedWindow("lmstudio", None, 32768),
        ),
        ({"/api/v1/models": INSTANCES}, ServedWindow("lmstudio", 5000, 9000, loaded=True)),
        (
            {
                "/v1/models": {"data": [{"id": "m", "owned_by": "organization_owner"}]},
                "/api/v0/models": {"data": [LOADED]},
            },
            ServedWindow("lmstudio", 4096, 32768, loaded=True),
        ),
    ],
)
def test_window_of_lm_studio_is_the_loaded_one(pages, found):
    assert asked(pages) == asked(pages, kind="lmstudio") == found


@pytest.mark.quirk("vLLM", "is started with a window of its own", "max_model_len of its list of models counts")
@each(
    ("pages", "kind", "found"),
    [
        (
            {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 20000}]}},
            "",
            ServedWindow("vllm", 20000, loaded=True),
        ),
        (
            {"/v1/models": {"data": [{"id": "m", "root": "/w", "owned_by": "sglang", "max_model_len": 7000}]}},
            "vllm",
            ServedWindow("sglang", 7000, loaded=True),
        ),
        (
            {"/v1/models": {"data": [{"id": "m", "owned_by": "me", "max_model_len": 7000}]}},
            "",
            ServedWindow("", 7000, loaded=True),
        ),
        (
            {"/info": {"model_id": "big", "max_total_tokens": 6000, "max_input_tokens": 5000}},
            "",
            ServedWindow("tgi", 6000, loaded=True),
        ),
    ],
)
def test_window_of_servers_that_list_it(pages, kind, found):
    assert asked(pages, kind=kind) == found


@each(
    "pages",
    [
        {},
        {"/v1/models": {"data": [{"id": "m", "owned_by": "openai"}]}},
        {"/v1/models": {"data": "m"}},
        {
            "/v1/models": {"data": [{"id": "m", "max_model_len": "many"}]},
            "/props": {"default_generation_settings": [7]},
        },
        {
            "/api/ps": {"models": 7},
            "/api/v0/models": {"data": [None, "m"]},
            "/api/v1/models": {"models": [{"loaded_instances": 3}]},
        },
        {
            "/props": {"default_generation_settings": {"n_ctx": True}},
            "/info": {"model_id": "m", "max_total_tokens": -1},
        },
        {"/v1/models": {"data": [{"id": "another", "max_model_len": 9000}]}},
    ],
)
def test_window_is_unknown_where_the_server_says_nothing_that_makes_sense(pages):
    assert asked(pages) is None


@each(
    ("window", "wanted", "typed"),
    [
        (ServedWindow("ollama", 4096, 131072), 9_000, "`OLLAMA_CONTEXT_LENGTH=32768 ollama serve`"),
        (ServedWindow("ollama", 4096, 131072), 9_000, "`/set parameter num_ctx 32768` and `/save m`"),
        (ServedWindow("ollama", 4096, 131072), 60_000, "OLLAMA_CONTEXT_LENGTH=131072"),
        (ServedWindow("ollama", 2048, 8192), 60_000, "OLLAMA_CONTEXT_LENGTH=8192"),
        (ServedWindow("llamacpp", 4096, 65536), 20_000, "`llama-server -c 65536`."),
        (ServedWindow("llamacpp", 4096, 65536, slots=4), 9_000, "`llama-server -c 131072` (4 slots share it)"),
        (ServedWindow("lmstudio", 4096, 65536), 9_000, "`lms load m --context-length 32768`"),
        (ServedWindow("vllm", 4096), 9_000, "`vllm serve m --max-model-len 32768`"),
        (ServedWindow("sglang", 4096), 9_000, "--context-length 32768"),
        (ServedWindow("tgi", 4096), 9_000, "--max-total-tokens 32768"),
        (ServedWindow(), 9_000, "`OLLAMA_CONTEXT_LENGTH=32768 ollama serve`; llama.cpp: `llama-server -c 32768`"),
    ],
)
def test_window_advice_is_what_the_person_types(window, wanted, typed):
    assert typed in advice(window, "m", wanted)
