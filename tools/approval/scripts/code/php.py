"""PHP."""

from __future__ import annotations

from tools.approval.scripts.code.rules import (
    CHANGES_MODE,
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
    NAMED,
    OPENS,
    READS,
    REMOVES,
    REMOVES_FOLDER,
    SHELL,
    SQL,
    TOUCHES,
    WRITES,
    Language,
    always,
    rules,
)
from tools.approval.scripts.code.syntax import Syntax
from tools.approval.scripts.effects import (
    BEYOND,
    CONNECTS,
    HIDDEN,
    LEAVES,
    OTHER_RIGHTS,
    REMOVES_ELSEWHERE,
    SHOWS_VARIABLES,
)
from tools.approval.scripts.naming import names

_RULES = rules(
    ("unlink", REMOVES),
    ("rmdir", REMOVES_FOLDER),
    ("ftruncate", EMPTIES),
    ("rename move_uploaded_file", MOVES),
    ("copy", COPIES),
    ("symlink link", LINKS),
    ("mkdir", MAKES_FOLDER),
    ("touch tempnam", TOUCHES),
    ("chmod", CHANGES_MODE),
    ("chown chgrp lchown", CHANGES_OWNER),
    ("file_put_contents", WRITES),
    ("fopen SplFileObject gzopen", OPENS),
    (
        (
            "file_get_contents readfile file include include_once require require_once highlight_file show_source"
            " parse_ini_file"
        ),
        READS,
    ),
    ("exec shell_exec system passthru popen proc_open pcntl_exec", SHELL),
    ("eval assert create_function", EVALUATES),
    ("array_map array_filter usort array_walk", NAMED),
    (
        (
            "call_user_func call_user_func_array ReflectionFunction ReflectionMethod forward_static_call"
            " register_shutdown_function"
        ),
        always(HIDDEN),
    ),
    ("extract parse_str ini_set dl putenv unserialize", DOUBTFUL),
    ("posix_kill", KILLS),
    ("pcntl_fork posix_setsid", always(LEAVES)),
    ("posix_setuid posix_setgid", always(OTHER_RIGHTS)),
    ("FFI.cdef FFI.load FFI", always(BEYOND)),
    ("curl_init curl_exec", GETS),
    ("curl_setopt curl_setopt_array", DOUBTFUL),
    (
        (
            "fsockopen pfsockopen stream_socket_client socket_connect mail ftp_connect ssh2_connect"
            " stream_context_create"
        ),
        always(CONNECTS),
    ),
    ("phpinfo", always(SHOWS_VARIABLES)),
    ("mysqli_query pg_query *.query *.exec *.prepare *.multi_query sqlite_query", SQL),
    ("*.truncate *.dropIfExists *.forceDelete *.flushAll *.flushDB *.delete", always(REMOVES_ELSEWHERE)),
)
_FINE = names(
    "echo print printf sprintf print_r var_dump var_export json_encode json_decode strlen str_replace substr strpos"
    " explode"
    " implode join trim ltrim rtrim count array_keys array_values array_merge array_sum array_slice in_array"
    " is_array is_string is_int is_numeric isset empty unset intval floatval strval strtolower strtoupper ucfirst"
    " round floor ceil"
    " abs max min rand mt_rand random_int date time strtotime microtime phpversion php_uname PHP_VERSION PHP_EOL"
    " PHP_OS md5 sha1"
    " hash base64_encode base64_decode str_repeat str_pad preg_match preg_match_all preg_split preg_quote range"
    " sort rsort ksort"
    " array_unique array_reverse number_format getcwd file_exists is_file is_dir scandir glob basename dirname"
    " pathinfo realpath"
    " filesize filemtime memory_get_usage sleep usleep exit die return if else elseif for foreach while do switch"
    " case function fn"
    " new class use namespace as true false null array list and or not php endif endforeach extension_loaded"
    " get_loaded_extensions"
    " ini_get PHP_INT_MAX str_contains str_starts_with str_ends_with ucwords nl2br htmlspecialchars strrev"
    " str_split mb_strlen"
    " mb_substr array_combine array_flip array_column usort range is_null gettype uniqid bin2hex PHP_VERSION_ID"
    " break continue const"
)

PHP = Language(
    Syntax(
        name=r"\$*[A-Za-z_\\][\w\\]*",
        comments=("#", "//"),
        blocks=(("/*", "*/"), ("?>", "<?")),
        interpolates={"'": "", '"': "${"},
        sigils="$",
        backtick="command",
        has_heredocs=True,
        raw="'",
        nests=True,
    ),
    _RULES,
    _FINE,
    hiding=names("$$ $GLOBALS GLOBALS"),
    environment=names("getenv $_ENV $_SERVER"),
    powerful=names("$GLOBALS"),
    joiners=frozenset({"->", "::", "?->"}),
    bare=True,
    hiding_pairs=frozenset({("", "("), (")", "("), ("$", "{")}),
    calls_variables=True,
)
