"""A place for the programs of these tests, and programs read from text."""

from pathlib import Path

from tools.approval.commands.bash.interpreter import read_command
from tools.approval.commands.classification import findings_in
from tools.approval.commands.dangers.scene import Scene

PROJECT = Path("/home/dev/project")
SCENE = Scene((str(PROJECT),), "/home/dev", "/home/dev/agent-home")


def families(command):
    """The families of everything that is found in `command`."""
    return {finding.family for finding in findings_in(read_command(command, PROJECT), SCENE)}


def levels(command):
    """The levels of everything that is found in `command`."""
    return {finding.level for finding in findings_in(read_command(command, PROJECT), SCENE)}
