"""Lua."""

from __future__ import annotations

from tools.approval.scripts.code.rules import (
    DOUBTFUL,
    EVALUATES,
    MOVES,
    OPENS,
    READS,
    REMOVES,
    SHELL,
    Language,
    always,
    methods,
    rules,
)
from tools.approval.scripts.code.syntax import Syntax
from tools.approval.scripts.effects import BEYOND, CONNECTS, HIDDEN
from tools.approval.scripts.naming import names

_RULES = rules(
    ("os.remove", REMOVES),
    ("os.rename", MOVES),
    ("os.execute io.popen vim.fn.system", SHELL),
    ("io.open", OPENS),
    ("io.output io.tmpfile", DOUBTFUL),
    ("io.lines io.input", READS),
    ("load loadstring", EVALUATES),
    ("dofile loadfile require", DOUBTFUL),
    ("package.loadlib ffi.load ffi.cdef", always(BEYOND)),
    ("debug.getregistry debug.getupvalue debug.sethook setfenv getfenv rawget rawset setmetatable", always(HIDDEN)),
    ("socket.tcp socket.connect socket.udp http.request socket.http.request", always(CONNECTS)),
)
_FINE = names(
    "print tostring tonumber type pairs ipairs next select unpack error assert pcall xpcall math.* string.* table.*"
    " os.time os.date"
    " os.clock io.write io.read utf8.* _VERSION #"
) | methods("format rep sub gsub gmatch match find upper lower len byte char reverse close read lines write")

LUA = Language(
    Syntax(name=r"[A-Za-z_]\w*", comments=("--",), blocks=(("--[[", "]]"),), long_text=True, decimals=True),
    _RULES,
    _FINE,
    hiding=names("_G _ENV"),
    environment=names("os.getenv"),
    powerful=names("os io package debug"),
    joiners=frozenset({".", ":"}),
    bare=True,
    keywords=names(
        "if then else elseif for while do end function local return in and or not repeat until nil true false break"
        " goto"
    ),
)
