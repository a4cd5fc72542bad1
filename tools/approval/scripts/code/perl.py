"""Perl."""

from __future__ import annotations

from collections.abc import Mapping

from tools.approval.scripts.code.rules import (
    CHANGES_MODE_OF,
    CHANGES_OWNER,
    COPIES,
    DOUBTFUL,
    EMPTIES,
    EVALUATES,
    GETS,
    KILLS,
    LINKS,
    MAKES_FOLDER,
    MOVES,
    POSTS,
    REMOVES,
    REMOVES_FOLDER,
    REMOVES_TREE,
    SHELL,
    SQL,
    Language,
    Rule,
    always,
    rules,
)
from tools.approval.scripts.code.syntax import Kind, Syntax
from tools.approval.scripts.effects import BEYOND, CONNECTS, HIDDEN, LEAVES, OTHER_RIGHTS
from tools.approval.scripts.naming import names

_RULES = rules(
    ("unlink CORE::unlink POSIX::unlink POSIX::remove", REMOVES),
    ("rmtree remove_tree File::Path::rmtree File::Path::remove_tree *.remove_tree *.rmtree pathrmdir", REMOVES_TREE),
    ("rmdir CORE::rmdir", REMOVES_FOLDER),
    ("truncate", EMPTIES),
    ("rename move File::Copy::move", MOVES),
    ("copy cp File::Copy::copy", COPIES),
    ("link symlink", LINKS),
    ("mkdir make_path mkpath", MAKES_FOLDER),
    ("chmod CORE::chmod", CHANGES_MODE_OF),
    ("chown utime", CHANGES_OWNER),
    ("system exec CORE::system CORE::exec readpipe POSIX::system", SHELL),
    ("open CORE::open", Rule("opens", place=0)),
    ("sysopen dbmopen tie", DOUBTFUL),
    ("eval", EVALUATES),
    ("do require", DOUBTFUL),
    ("fork POSIX::setsid setsid", always(LEAVES)),
    ("kill", KILLS),
    ("syscall dump DynaLoader::dl_load_file", always(BEYOND)),
    (
        (
            "socket connect IO::Socket::INET.new IO::Socket::SSL.new IO::Socket.new Net::FTP.new Net::SMTP.new"
            " Net::SSH.new IO::Socket::INET"
        ),
        always(CONNECTS),
    ),
    ("get getstore LWP::Simple::get *.get HTTP::Tiny.new LWP::UserAgent.new", GETS),
    ("*.post *.post_form *.put *.delete", POSTS),
    ("*.do *.prepare *.execute *.selectall_arrayref", SQL),
    ("POSIX::setuid setuid", always(OTHER_RIGHTS)),
    ("*.can *.import", always(HIDDEN)),
)
_FINE = names(
    "print printf say sprintf length substr index rindex uc lc ucfirst lcfirst join split sort reverse map grep"
    " push pop shift"
    " unshift splice keys values each exists defined ref scalar abs int sqrt sin cos atan2 exp log hex oct ord chr"
    " sum max min"
    " uniq first chomp chop localtime gmtime time die warn exit next last redo return wantarray lc pos quotemeta tr"
    " y s m q qq"
    " qw pack unpack sum0 any all none shuffle floor ceil strftime Dumper encode_json decode_json eof close binmode"
    " delete undef"
    " sprintf srand rand vec lstat stat local my our sub use no if elsif else unless while until for foreach and or"
    " not xor"
    " cmp eq ne lt gt le ge x BEGIN END STDIN STDOUT STDERR ARGV strict warnings utf8 feature List::Util"
    " Data::Dumper POSIX"
    " JSON::PP Time::HiRes Time::Local constant parent base package __PACKAGE__ __FILE__ __LINE__ last qr readline"
    " continue"
    " bigint e f d r w z l p n open_mode autodie"
)

_QUOTING: Mapping[str, Kind] = {
    "q": "text", "qq": "text", "qw": "text", "qx": "command", "qr": "regex", "m": "regex", "s": "regex", "tr": "text",
    "y": "text",
}  # fmt: skip

PERL = Language(
    Syntax(
        name=r"\$#(?:\$?\w+|(?=\{)|)|[$@%](?:\{\^?\w+\}|\^\w|[A-Za-z_]\w*(?:::\w+)*|\$+\w+)|\$[0-9_!,./\\;&\"'`+|?<>@-]"
        r"|&\$?[A-Za-z_]\w*|[A-Za-z_]\w*(?:(?:::|')[A-Za-z_]\w*)*",
        comments=("#",),
        interpolates={"'": "", '"': "@{"},
        sigils="$@",
        backtick="command",
        has_regexes=True,
        quote_words=_QUOTING,
        has_heredocs=True,
        raw="'",
        before_regex=names(
            "return and or not if unless while until split grep map join print when elsif push x lt gt le ge eq ne"
        ),
        documents=(r"=[a-zA-Z]", r"=cut\b"),
    ),
    _RULES,
    _FINE,
    hiding=names("AUTOLOAD @INC %INC CORE::GLOBAL"),
    environment=names("%ENV $ENV @ENV"),
    joiners=frozenset({"->"}),
    bare=True,
    names_call=True,
    hiding_pairs=frozenset({("&", "{"), ("*", "{"), ("", "->")}),
)  # fmt: skip
