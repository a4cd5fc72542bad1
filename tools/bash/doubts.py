"""Why a command could not be read as a whole. Each follows «because it …»."""

from __future__ import annotations

HIDDEN_PROGRAM = "runs a program whose name is hidden"
UNKNOWN_TEXT = "runs text that is not known"
PARTLY_UNKNOWN_TEXT = "runs text of which parts are not known"
UNKNOWN_SCRIPT = "runs a script that is not known"
NOT_BASH = "is not valid bash, as far as can be told"
TOO_MUCH = "is too long or too nested to be read"
OTHER_SHELL = "runs the text of another kind of shell"
NO_GRAMMAR = "cannot be read, since the grammar of bash is not installed"
FORK_BOMB = "starts itself again and again"
