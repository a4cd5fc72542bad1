"""Does the end of a program's output ask for input? Only what hardly anything else looks like counts."""

from __future__ import annotations

import re

from tools.text.terminal_output import plain_text

TAIL_CHARS = 1_000
"""So much of the end is enough to tell."""
FULL_SCREEN = "a full-screen program"
"""Stands for the question of a program that has the whole terminal."""

_MAX_SHOWN_CHARS = 200
_SURE = r"""
    [\[(] \s* (?:y|yes|n|no) \s* [/|] \s* (?:y|yes|n|no) \b [^\])\n]{0,40} [\])] \s* [?:]? \s* $    # [y/N], (yes/no)?
  | \? \s* [\[(] (?:y|yes|n|no) [\])] \s* :? \s* $                                                  # ok? (yes)
  | \b (?:continue|proceed|overwrite|replace|remove|delete|sure) \b [^\n]{0,80} \? (?:[^\n]{0,80}:)? \s* $
  | \b (?:password|passphrase|passcode|username|login|one-time\ code|verification\ code) \b [^\n]{0,120} : \s* $
  | \b (?:press|hit|strike) \s (?:any\ key|a\ key|enter|return|\[?enter\]?) \b [^\n]{0,80} $
  | ^ (?:>>>|\.\.\.|\(i?pdb\)|i?pdb>|\(gdb\)|\(lldb\)|in\ \[\d+\]:|mysql>|sqlite>|ftp>|sftp>|[\w-]+[=-][\#>]) \s* $
  | ^ (?:: | .*\(END\) | --More--.*) \s* $
  | \b use \s arrow[-\ ]keys \b [^\n]* $
"""
_SCREEN_ON, _SCREEN_OFF = "\x1b[?1049h", "\x1b[?1049l"


def open_line(tail: str) -> str:
    """The last line of the output `tail` when no line feed has ended it, as a person sees it."""
    line = tail.rpartition("\n")[2]
    return plain_text(line).strip()[-_MAX_SHOWN_CHARS:] if line else ""


def question(tail: str) -> str:
    """The question that `tail` ends with, '' when it is not sure to be one."""
    line = open_line(tail)
    # The pattern is compiled when it is first needed: a start should not pay for it.
    return line if line and re.search(_SURE, line, re.VERBOSE | re.IGNORECASE) else ""


def takes_the_screen(tail: str, *, was: bool) -> bool:
    """Whether a full-screen program (an editor, a pager) has the terminal after `tail`; `was`: it had it before."""
    on, off = tail.rfind(_SCREEN_ON), tail.rfind(_SCREEN_OFF)
    return was if on == off else on > off
