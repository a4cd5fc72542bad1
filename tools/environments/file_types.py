"""Types of files by name, as `type` has them."""

from __future__ import annotations

_KINDS = {
    "asm": "*.asm *.s *.S",
    "c": "*.[chH] *.[chH].in *.cats",
    "clojure": "*.clj *.cljc *.cljs *.cljx",
    "cmake": "*.cmake CMakeLists.txt",
    "config": "*.cfg *.conf *.config *.ini",
    "cpp": "*.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in",
    "cs csharp": "*.cs",
    "css": "*.css *.scss",
    "csv": "*.csv",
    "dart": "*.dart",
    "docker": "*Dockerfile*",
    "elixir": "*.ex *.eex *.exs *.heex *.leex *.livemd",
    "elm": "*.elm",
    "go": "*.go",
    "graphql": "*.graphql *.graphqls",
    "haskell": "*.c2hs *.cpphs *.hs *.hsc *.lhs",
    "html": "*.htm *.html *.ejs",
    "java": "*.java *.jsp *.jspx *.properties",
    "js": "*.js *.jsx *.vue *.cjs *.mjs",
    "json": "*.json composer.lock *.sarif",
    "julia": "*.jl",
    "kotlin": "*.kt *.kts",
    "lua": "*.lua",
    "make": (
        "[Gg][Nn][Uu]makefile [Mm]akefile [Gg][Nn][Uu]makefile.am [Mm]akefile.am "
        "[Gg][Nn][Uu]makefile.in [Mm]akefile.in Makefile.* *.mk *.mak"
    ),
    "md markdown": "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx",
    "nix": "*.nix",
    "ocaml": "*.ml *.mli *.mll *.mly",
    "perl": "*.perl *.pl *.PL *.plh *.plx *.pm *.t",
    "php": "*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml",
    "protobuf": "*.proto",
    "py python": "*.py *.pyi",
    "r": "*.R *.r *.Rmd *.rmd *.Rnw *.rnw",
    "rst": "*.rst",
    "ruby": "Gemfile *.gemspec config.ru .irbrc Rakefile *.rake *.rb *.rbw",
    "rust": "*.rs",
    "sass": "*.sass *.scss",
    "scala": "*.scala *.sbt",
    "sql": "*.sql *.psql",
    "svelte": "*.svelte *.svelte.ts",
    "svg": "*.svg",
    "swift": "*.swift",
    "tex": "*.tex *.ltx *.cls *.sty *.bib *.dtx *.ins",
    "toml": "*.toml Cargo.lock",
    "ts typescript": "*.ts *.tsx *.cts *.mts",
    "txt": "*.txt",
    "vue": "*.vue",
    "xml": "*.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml",
    "yaml": "*.yaml *.yml",
    "zig": "*.zig",
}


def globs_of(kind: str) -> list[str]:
    """The globs of the names of that type.

    Raises:
        LookupError: it is not known.
    """
    for names, globs in _KINDS.items():
        if kind in names.split():
            return globs.split()
    raise LookupError(kind)
