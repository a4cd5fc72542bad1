"""How programs are told where to write: by which of their options, and which of their words."""

from __future__ import annotations

from collections.abc import Mapping

# The options of a program whose values are written to: letters that take values, then those that are targets.
OPTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sort": ("okStT", ("-o", "--output")),
    "shuf": ("no", ("-o", "--output")),
    **dict.fromkeys(
        ("curl", "curlie"),
        (
            "oDcKduAHXFTebmwxyYzEUCrtPQh",
            (
                "-D", "--dump-header", "-c", "--cookie-jar", "--stderr", "--trace", "--trace-ascii",
                "--libcurl", "--etag-save", "--hsts", "--alt-svc",
            ),
        ),
    ),
    **dict.fromkeys(
        ("wget", "wget2"),
        (
            "OoaPUtTiQewlBDRAIX",
            (
                "-O", "--output-document", "-P", "--directory-prefix", "-o", "-a", "--output-file",
                "--append-output", "--save-cookies", "--warc-file",
            ),
        ),
    ),
    "aria2c": ("odixsjkl", ("-d", "--dir", "-l", "--log")),
    "axel": ("onsUHS", ("-o", "--output")),
    **dict.fromkeys(("http", "https", "xh", "xhs"), ("oaAps", ("-o", "--output"))),
    "unzip": ("dx", ("-d",)),
    "patch": ("pidDoBrYzFg", ("-d", "-o", "-r", "--directory", "--output", "--reject-file")),
    "gcc": ("oILlDxTe", ("-o",)),
    "cc": ("oILlDxTe", ("-o",)),
    "clang": ("oILlDxTe", ("-o",)),
    "g++": ("oILlDxTe", ("-o",)),
    "go": ("o", ("-o",)),
    "pandoc": ("otfr", ("-o", "--output")),
    "openssl": ("", ("-out", "-keyout")),
    "ssh-keygen": ("fbtCNPOI", ("-f",)),
    "xxd": ("", ()),
    "uniq": ("fsw", ()),
    "split": ("abClnt", ()),
    "csplit": ("bfn", ("-f",)),
    **dict.fromkeys(
        ("pip", "pip3"),
        ("trcied", ("-t", "--target", "--prefix", "--root", "-d", "--dest", "--src")),
    ),
    "7z": ("o", ("-o",)),
    "7za": ("o", ("-o",)),
    "gpg": ("our", ("-o", "--output")),
    "strace": ("oeps", ("-o",)),
    "awk": ("Fvf", ()),
    "mktemp": ("pt", ("-p", "--tmpdir")),
    "tree": ("oLPI", ("-o",)),
    "jq": ("", ()),
    "script": ("cEmoTBIO", ("-B", "-I", "-O", "-T", "--log-io", "--log-in", "--log-out", "--log-timing")),
    "cpio": ("DFOI", ("-D", "--directory", "-O", "-F")),
    "base64": ("wio", ("-o",)),
    "age": ("orRi", ("-o", "--output")),
    "protoc": ("I", ("-o",)),
    "tcpdump": ("wirc", ("-w",)),
    "zip": ("bnPtxi", ()),
}  # fmt: skip
LONG_VALUES = (
    "--output", "--output-document", "--output-dir", "--dump-header", "--cookie-jar", "--directory-prefix",
    "--directory", "--target-directory", "--target", "--suffix", "--out", "--dir", "--outfile",
    "--output-file", "--mode", "--owner", "--group", "--file", "--reference", "--prefix", "--root", "--dest",
    "--stderr", "--trace", "--trace-ascii", "--size", "--date", "--libcurl", "--header", "--data",
    "--request", "--user", "--append-output", "--key", "-out", "-keyout", "-in", "-inkey", "-subj", "-newkey",
    "--exclude", "--include", "--rsh", "--filter",
)  # fmt: skip
ANY_OUTPUT = (
    "--output",
    "--outfile",
    "--output-file",
    "--out",
    "--output-dir",
    "--outdir",
    "--out-dir",
    "--dest",
    "--target-dir",
)
COPIES: Mapping[str, str] = {
    **dict.fromkeys(("cp", "gcp", "mv", "gmv", "ln", "gln"), "tS"),
    "install": "tSmog",
    "ginstall": "tSmog",
    "rsync": "efMB",
    "scp": "iPFoclS",
    **dict.fromkeys(("ditto", "rclone", "robocopy", "mirror"), ""),
}  # fmt: skip
PACKERS = frozenset({
    "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "compress", "uncompress",
    "lzma", "brotli",
})  # fmt: skip
# Those that write to each of their operands, with the letters whose value is none.
EVERY_OPERAND: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "tee", "gtee", "mkfifo", "sponge", "fallocate", "nano", "vi", "vim", "nvim", "ed", "ex", "emacs",
            "pico", "micro", "code", "crudini", "mkdirhier", "dos2unix", "unix2dos", "visudo", "subl",
            "rename",
        ),
        "",
    ),
    "touch": "tdr",
    "mkdir": "m",
    "truncate": "sr",
}  # fmt: skip
TAR = frozenset({"tar", "bsdtar", "gtar"})
TAR_LETTERS = "fCTXbIFgKLNVH"
TAR_VALUES = (
    "--file", "--directory", "--files-from", "--exclude", "--use-compress-program", "--to-command",
    "--transform",
)  # fmt: skip
GIT_VALUES = (
    "CcObBoju",
    (
        "--output", "--output-directory", "--git-dir", "--work-tree", "--branch", "--depth", "--origin",
        "--config", "--reference", "--reference-if-able", "--jobs", "--shallow-since", "--shallow-exclude",
        "--template", "--separate-git-dir", "--upload-pack", "--initial-branch", "--filter",
        "--server-option", "--reason",
    ),
)  # fmt: skip
SED_VALUES = "efl"
PERL_VALUES = "eEMmI", (), "iFx", "0l"
PACKER_VALUES = "So", ("--suffix", "--output")
# The letters whose value follows, the options that name the directory, and what makes it unpack, where not all does.
UNPACKERS: Mapping[str, tuple[str, tuple[str, ...], frozenset[str]]] = {
    **dict.fromkeys(TAR, ("", ("-C", "--directory"), frozenset({"-x", "--extract", "--get"}))),
    "unzip": ("dxP", ("-d",), frozenset()),
    "unar": ("o", ("-o", "--output-directory"), frozenset()),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), ("o", ("-o",), frozenset({"x", "e"}))),
    "cpio": ("DFOI", ("-D", "--directory"), frozenset({"-i", "--extract"})),
    "unrar": ("", (), frozenset({"x", "e"})),
}
