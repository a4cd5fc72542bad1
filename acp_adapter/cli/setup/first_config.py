"""The first config.yaml of a home: what was chosen, and comments that say what else there is."""

from __future__ import annotations

from collections.abc import Mapping

from acp_adapter.cli.setup.config_yaml import model_lines

_HEAD = """\
# The settings of hermes-acp. docs/configuration.md lists them all; `hermes-acp doctor` looks whether they are right.
# Keys stand in .env beside this file, or in the system's keyring.

# Who serves the model, and which one it is; `hermes-acp models` lists what there is.
"""
_REST = """
# Asked when that one cannot answer:
# fallback_providers:
#   - ollama:qwen3:8b

# When you are asked: auto (as the session's mode says), all (whatever is not proven harmless).
# approvals:
#   mode: auto

# How much the model thinks, where it can: none, minimal, low, medium, high, xhigh.
# agent:
#   reasoning_effort: medium

# MCP servers, for every session:
# mcp_servers:
#   files: {command: npx, args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]}
"""


def first_config(values: Mapping[str, str]) -> str:
    """The file's text, with these values below `model`."""
    return f"{_HEAD}{model_lines(values)}{_REST}"
