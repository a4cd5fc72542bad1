"""What a person does in an editor once the agent stands in its settings."""

from __future__ import annotations

from collections.abc import Mapping

NEXT_STEPS: Mapping[str, str] = {
    "zed": "open the agent panel and choose Hermes from the menu for new threads.",
    "jetbrains": "with the plugin AI Assistant, open the tool window AI Chat and choose Hermes among the agents.",
    "vscode": "with the extension ACP Client (formulahendry.acp-client), choose Hermes Agent in its view.",
    "neovim": "with the plugin CodeCompanion, start it anew and type :CodeCompanionChat adapter=hermes",
    "emacs": "with the package agent-shell, start it anew and type M-x agent-shell-hermes-start-agent",
}
"""By the name of the editor: what it needs beside the entry, and where the agent is then."""
