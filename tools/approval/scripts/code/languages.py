"""The languages that are judged by tables."""

from __future__ import annotations

from collections.abc import Mapping

from tools.approval.scripts.code.javascript import JAVASCRIPT
from tools.approval.scripts.code.lua import LUA
from tools.approval.scripts.code.perl import PERL
from tools.approval.scripts.code.php import PHP
from tools.approval.scripts.code.ruby import RUBY
from tools.approval.scripts.code.rules import Language
from tools.approval.scripts.code.statistics import R

LANGUAGES: Mapping[str, Language] = {
    "javascript": JAVASCRIPT, "perl": PERL, "ruby": RUBY, "php": PHP, "lua": LUA, "r": R,
}  # fmt: skip
