"""What becomes of each block of code in the documentation: the one list of those that are not simply tried.

Without an entry here a block is tried by its language: settings are read, JSON is parsed, each command is run. So a
new block that fits none of it fails a test until somebody has said here what proves it, or why nothing can.
"""

from __future__ import annotations

from collections.abc import Mapping

SHOWN = frozenset({"text", "markdown"})
"""What is no code: drawings, layouts, what a person writes for a model."""

_PLUGINS = "tests/agent_core/plugins/test_docs.py"
_LIBRARY = "tests/test_library_pages.py"
_EXAMPLES = "tests/docs/test_examples.py"
_ACPX = "tests/e2e/foreign/test_foreign_acpx.py drives it"

PROVED_BY: Mapping[tuple[str, str], str] = {
    ("adding-a-provider.md", "from agent_core.providers.choice import Dialect"): _EXAMPLES,
    ("adding-a-provider.md", "from collections.abc import Iterator, Mapping"): _EXAMPLES,
    ("adding-a-tool.md", '"""The tool `count_lines`: how long a text file is."""'): _EXAMPLES,
    ("adding-a-tool.md", '"""The tool `count_lines`."""'): _EXAMPLES,
    ("batch.md", "import functools"): _LIBRARY,
    ("environments.md", "from tools.environments.backends import Elsewhere, Wanted, register_backend"): _EXAMPLES,
    ("editors/jupyterlab.md", '"""Hermes as a persona of Jupyter AI."""'): "tests/docs/test_editor_pages.py",
    ("execute-code.md", "from hermes_tools import patch, search_files, terminal"): _EXAMPLES,
    ("hooks.md", "#!/bin/sh"): _PLUGINS,
    ("hooks.md", "def register(ctx):"): _PLUGINS,
    ("hooks.md", "PreToolUse:"): _PLUGINS,
    ("library.md", "from agent_core import AIAgent"): _LIBRARY,
    ("library.md", "from pathlib import Path"): _LIBRARY,
    ("library.md", "import threading"): _LIBRARY,
    ("memory.md", "def register(ctx):"): _EXAMPLES,
    ("plugins.md", "name: changelog"): _PLUGINS,
    ("plugins.md", '"""Keeps the project\'s changelog in mind."""'): _PLUGINS,
    ("plugins.md", 'HEAD = "## Unreleased"'): _PLUGINS,
    ("tools/own-tools.md", "import json"): _EXAMPLES,
}
"""By page and first line: the tests that use the block as it stands."""

PARSED: Mapping[str, str] = {
    "hermes-acp setup": "asks questions; tests/acp_adapter/cli/setup answer them",
    "hermes-acp setup --tools": "asks questions; tests/acp_adapter/cli/setup answer them",
    "hermes-acp setup --provider ollama": "asks questions; tests/acp_adapter/cli/setup answer them",
    "hermes-acp setup --editor zed": "asks a question; tests/acp_adapter/cli/editors answers it",
    "hermes-acp models --local": "what it finds is the machine's",
    "hermes-acp models --provider openrouter | grep coder": "asks a server of the internet",
    "hermes-acp models --provider groq": "asks a server of the internet",
    "hermes-acp mcp login docs": "opens a browser; tests/acp_adapter/cli/commands/test_mcp.py plays the server",
    "hermes-acp mcp login https://mcp.example.com/mcp": "opens a browser; as above",
    "hermes-acp mcp test github": "fetches a server from a registry; as above",
}
"""Commands whose words are parsed and which are not run: why."""

NOT_RUN: Mapping[str, str] = {
    "wsl.exe -d Ubuntu -- /home/me/.local/bin/hermes-acp": "a program of Windows",
    "uv tool install .": "installs into the account of whoever runs it",
    "uv tool install '.[web,docs,map,browser,lsp]'": "the same; the names of the extras are compared",
    "npm install --global acpx": "installs into the account; tests/e2e/foreign use acpx",
    'acpx --agent hermes-acp --approve-reads exec "What does this project do?"': _ACPX,
    "acpx --agent hermes-acp sessions new": _ACPX,
    'acpx --agent hermes-acp --approve-all prompt "Mend the failing test."': _ACPX,
    "acpx --agent hermes-acp set-mode plan": _ACPX,
    "acpx --agent hermes-acp cancel": _ACPX,
    "toad acp hermes-acp .": "a client of its own, for a person at a terminal",
    'toad acp "hermes-acp --profile work" . --title Hermes': "as above",
    "git -C YOUR_PROJECT apply COPY/rest/*.patch": "tests/agent_core/delegation applies what it gives",
    "pass show openai | hermes-acp setup --non-interactive --provider openai --model gpt-5 --key-stdin": (
        "asks a server of the internet; tests/acp_adapter/cli/setup do it with one of theirs"
    ),
}
"""Commands that are not run, nor only parsed: why, or what runs them."""

ENDS_WITH: Mapping[str, tuple[int, str]] = {
    "hermes-acp mcp logout docs": (1, "there is no server of that name"),
    "hermes-acp models": (1, "the stand-in has no list of models"),
    "hermes-acp models --try ollama:qwen3:8b": (2, "asks at a terminal, and there is none"),
    "hermes-acp permissions revoke 2": (1, "nothing has been allowed for good"),
    "hermes-acp sessions delete ID": (2, "asks at a terminal, and there is none"),
}
"""Commands that are run and end otherwise than with 0 where nothing is set up: the status, and why."""
