"""R."""

from __future__ import annotations

from tools.approval.scripts.code.rules import (
    CHANGES_MODE,
    COPIES,
    DOUBTFUL,
    EVALUATES,
    GETS,
    KILLS,
    LINKS,
    MAKES_FOLDER,
    MOVES,
    NAMED,
    READS,
    REMOVES_TREE,
    SHELL,
    SQL,
    STARTS,
    TOUCHES,
    WRITES,
    Language,
    Rule,
    always,
    rules,
)
from tools.approval.scripts.code.syntax import Syntax
from tools.approval.scripts.effects import BEYOND, CONNECTS
from tools.approval.scripts.naming import names

_RULES = rules(
    ("unlink file.remove fs::file_delete fs::dir_delete", REMOVES_TREE),
    ("file.rename", MOVES),
    ("file.copy", COPIES),
    ("file.symlink file.link", LINKS),
    ("dir.create", MAKES_FOLDER),
    ("file.create", TOUCHES),
    ("Sys.chmod", CHANGES_MODE),
    ("system shell pipe", SHELL),
    ("system2 processx::run sys::exec_wait", STARTS),
    ("parse str2lang str2expression", EVALUATES),
    ("do.call match.fun get mget getFunction Reduce", NAMED),
    ("eval evalq assign", DOUBTFUL),
    ("write.csv write.table saveRDS save sink dput dump writeLines cat ggsave pdf png", DOUBTFUL),
    ("write", Rule("writes", place=1)),
    ("readLines readRDS read.csv read.table scan source load file", READS),
    ("download.file url", GETS),
    ("socketConnection make.socket curl::curl_upload httr::POST httr::PUT httr::DELETE", always(CONNECTS)),
    ("tools::pskill", KILLS),
    ("dyn.load .C .Call .External .Internal", always(BEYOND)),
    ("dbExecute dbSendQuery dbGetQuery DBI::dbExecute", SQL),
    ("sapply lapply vapply Map Filter", NAMED),
    ("file.append", WRITES),
)
_FINE = names(
    "print paste paste0 sum mean median sd var min max length nchar round sqrt exp log abs seq rep rev sort order"
    " unique table"
    " summary head tail str class typeof is.na ifelse c list vector matrix data.frame names nrow"
    " ncol dim sprintf format toupper tolower substr strsplit gsub sub grepl regmatches R.version.string R.version"
    " Sys.time Sys.Date"
    " sessionInfo getwd list.files file.exists basename dirname invisible stopifnot stop message if else for while"
    " function return"
    " in TRUE FALSE NULL NA Inf pi T F letters LETTERS quantile cor apply which any all cumsum set.seed runif rnorm"
    " sample"
    " installed.packages packageVersion nlevels levels factor as.numeric as.character as.integer numeric character"
    " options"
)

R = Language(
    Syntax(name=r"[A-Za-z.][\w.]*(?:::[\w.]+)?", comments=("#",)),
    _RULES,
    _FINE,
    environment=names("Sys.getenv"),
    joiners=frozenset({"$"}),
)
