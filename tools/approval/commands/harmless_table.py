"""The forms in which programs only look, as tables: the place to add one (`harmless_forms.py` says how they read).

An option is listed only if it changes nothing, runs nothing, reaches nobody and reads no file but those that are
checked. What GNU's programs and those of macOS understand differently was looked at for both. Left out are, for
example, `wc --files0-from`, `date -f`, `grep -R`, `diff -l` (runs pr), `fd -l` (runs ls), `rg -z` (runs unpackers),
`ss -r`, `zstdcat -o`, `tree --fromfile`, `file -f`, `sort -T`; and programs that evaluate code, whatever they get.
"""

from __future__ import annotations

from tools.approval.commands.harmless_forms import forms_of, lines_that_look

_GREP = r"""-abcEFGHhIiLlnopPqrsTUuVvwxyZz0123456789 -A: -B: -C: -m: -e: -f< -d: --regexp: --file< --ignore-case \
    --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? --files-without-match \
    --files-with-matches --max-count: --only-matching --quiet --silent --no-messages --byte-offset --with-filename \
    --no-filename --label: --line-number --initial-tab --null --after-context: --before-context: --context: --text \
    --binary-files: --exclude: --exclude-dir: --include@ --recursive --line-buffered --extended-regexp \
    --fixed-strings --basic-regexp --perl-regexp --null-data"""
_GREP_SCRIPTS = "-e -f --regexp --file"

PROGRAMS = forms_of(rf"""
    # They print what they are given, or what everybody may know of the machine.
    pwd  - nothing  -LP
    uname  - nothing  -asnrvmpio --all --kernel-name --kernel-release --machine --operating-system
    nproc  - nothing  --all --ignore:
    free  -  -bkmghltwv -s: -c: --human --mega --giga --mebi --gibi --kilo --total --wide --si --lohi
    uptime  -  -ps --pretty --since
    groups  :* nothing  -
    id  :* nothing  -ugGnrzapP --user --group --groups --name --real
    seq  :* nothing  -w -f: -s: -t: -# --separator: --format: --equal-width
    basename  :* nothing  -az -s: --multiple --suffix: --zero
    dirname  :* nothing  -z --zero
    pgrep  :*  -flaxnocvi -u: -U: -P: -d: -g: -G: -s: -t: --full --list-name --list-full --exact --newest \
            --oldest --count --delimiter: --parent: --euid: --ignore-case
    lscpu  -  -Jxabcy -e? -p? --json --all --bytes --extended? --parse?
    netstat  -  -tulpnaersgixo46Wvm --tcp --udp --listening --numeric --all --programs --route  needs -n \
            --numeric
    hostname  -  -s
    tty  - nothing  -s --silent --quiet
    locale  :*  -amkcv --all-locales --charmaps
    getconf  :*  -a
    top  -  -b -n: -l:  needs -n -l
    bc  -  -lq
    dpkg  :*  -lsL --list --print-architecture  needs -l -s -L --list --print-architecture
    # An operand that is no format sets the clock.
    date  :  -uR -I? -d: -r@ --date: --utc --universal --rfc-3339: --rfc-email --iso-8601? --reference@  named \+.*
    # A name of a host would be looked up.
    ss  :*  -tulnpaxwemosiH460OZzb --tcp --udp --listening --numeric --processes --all --unix --summary \
            --no-header --ipv4 --ipv6 --info --extended --memory --options -f: --family:  \
            named [=!<>()]+|:?\d+|:\w+|state|sport|dport|eq|ne|or|and|all|established|listening|connected
    # Words of the shell. They change what follows in the shell, never a file.
    command  :*  -vV  needs -v -V
    popd  :*  -n
    dirs  :*  -lpv
    type  :* nothing  -aftpP
    wait  :*  -n
    cd  @* nothing  -LPe
    pushd  @* nothing  -n
    umask  :*  -pS
    ulimit  :*  -SHacdefilmnpqrstuvxPT
    # They show that something is there, and how large it is.
    ls  @* nothing  -aAbBcCdfFgGhHikKlLmnNopqQrRsStTuUvwxXZ1eO -@ -I: -D? --all --almost-all --color? \
            --group-directories-first --human-readable --size --sort: --time: --time-style: --ignore: --hide: \
            --recursive --reverse --directory --classify? --file-type --full-time --inode --numeric-uid-gid \
            --no-group --si --indicator-style: --format: --show-control-chars --quoting-style: --author \
            --block-size: --width: --hyperlink? --zero
    eza exa lsd  @*  -ahl1TRFrdgHimnGxABSuUDf -@ -L: -s: -t: -I: --tree --level: --depth: --long --all --icons? \
            --icon: --color? --no-icons --group-directories-first --sort: --reverse --header --oneline --recurse \
            --recursive --time-style: --no-permissions --no-user --no-time --no-filesize --only-dirs \
            --only-files --ignore-glob: --human-readable
    wc  @* reads  -lwcmL --lines --words --bytes --chars --max-line-length --total:
    stat  @* nothing  -Lftxsnl -c: --format: --printf: --file-system --terse --dereference --cached:
    du  @* reads  -abcDHhkLlmSsx0 -A -B: -d: -t: -I: --all --apparent-size --bytes --total --max-depth: \
            --human-readable --summarize --separate-dirs --threshold: --time? --exclude: --one-file-system \
            --inodes --si --block-size:
    df  @* nothing  -aHhiklmPTgI -B: -t: -x: --all --human-readable --output? --type: --exclude-type: --total \
            --local --print-type --inodes --portability --si --block-size:
    readlink  @* nothing  -femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline
    realpath  @* nothing  -emLPqsz --relative-to@ --relative-base@ --canonicalize-existing \
            --canonicalize-missing --no-symlinks --strip --quiet --zero --logical --physical
    which  @*  -as --all
    lsblk  @*  -abfmplnJtdriSPODz -o: --all --bytes --fs --json --list --output: --paths
    file  @*  -biLhknNr0 -F: --mime --mime-type --mime-encoding --brief --dereference --no-dereference \
            --extension --separator: --keep-going --no-pad --print0
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5  @* reads  -btzqrsUp0 -a: \
            -l: --tag --binary --text --zero --length: --algorithm: --sysv
    fd fdfind  @*  -HIusigFap01q -j: -t: -e@ -E: -d: -S: -c: -o: --hidden --no-ignore --type: --extension@ \
            --exclude: --max-depth: --min-depth: --exact-depth: --glob --regex --fixed-strings --absolute-path \
            --full-path --size: --changed-within: --changed-before: --color: --max-results: --print0 \
            --case-sensitive --ignore-case --owner: --threads: --base-directory@ --search-path@ --no-ignore-vcs \
            --unrestricted --prune --and@
    tree  @*  -adfishDCnpugFtrvUcQNqASXJx -L: -I: -P@ --noreport --dirsfirst --filesfirst --prune --filelimit: \
            --charset: --du --si --inodes --device --sort: --timefmt: --matchdirs --ignore-case --gitignore
    unzip  @*  -ltv -Z:  needs -l -t -v -Z
    # They show lines of files.
    grep egrep fgrep  :~* reads  {_GREP}  scripts {_GREP_SCRIPTS}  searches -r --recursive -d
    zgrep  :~*  {_GREP}  scripts {_GREP_SCRIPTS}  searches -r --recursive -d
    rg  :~*  -inNlcovwxsSFUPpqua0HI. -A: -B: -C: -e: -f< -g@ -m: -M: -t: -T: -r: -d: -j: -E: --files --type: \
            --type-not: --type-list --glob@ --iglob@ --hidden --no-ignore --no-ignore-vcs --max-depth: \
            --max-columns: --max-count: --context: --after-context: --before-context: --line-number \
            --no-line-number --no-heading --heading --with-filename --no-filename --files-with-matches \
            --files-without-match --count --count-matches --only-matching --ignore-case --smart-case \
            --case-sensitive --word-regexp --line-regexp --fixed-strings --multiline --multiline-dotall --pcre2 \
            --json --vimgrep --color: --colors: --column --sort: --sortr: --stats --trim --replace: --regexp: \
            --file< --invert-match --passthru --max-filesize: --no-messages --null --one-file-system --text \
            --no-config --crlf --encoding: --threads: --unrestricted --pretty --quiet --binary --block-buffered \
            --line-buffered --context-separator: --no-follow --glob-case-insensitive  scripts -e -f --regexp \
            --file --files --type-list  searches *
    # They show what is in files.
    cat  <* nothing  -AbeEnstTuvl --show-all --number --number-nonblank --squeeze-blank --show-ends --show-tabs \
            --show-nonprinting
    head  <* nothing  -n: -c: -qvz -# --lines: --bytes: --quiet --silent --verbose --zero-terminated
    tail  <* nothing  -n: -c: -s: -b: -fFqrvz -# --lines: --bytes: --quiet --silent --verbose --zero-terminated \
            --follow? --retry --pid: --sleep-interval: --max-unchanged-stats:
    tac  <* nothing  -br -s: --before --regex --separator:
    rev  <* nothing  -
    nl  <* nothing  -b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --number-format: \
            --number-width: --number-separator:
    cut  <* nothing  -b: -c: -d: -f: -nsz --delimiter: --fields: --characters: --bytes: --complement \
            --only-delimited --output-delimiter: --zero-terminated
    tr  :* nothing  -cCdstu --complement --delete --squeeze-repeats --truncate-set1
    fold  <* nothing  -bs -w: -# --width: --spaces --bytes
    expand unexpand  <* nothing  -iaf -t: -# --tabs: --initial --all --first-only
    paste  <* nothing  -sz -d: --delimiters: --serial --zero-terminated
    join  <* nothing  -iz -a: -e: -1: -2: -j: -o: -t: -v: --check-order --nocheck-order --header --ignore-case
    comm  <* nothing  -123iz --output-delimiter: --total --check-order --nocheck-order --zero-terminated
    column  <*  -txndeLJ -s: -o: -c: -N: -R: -T: -H: -O: --table --separator: --output-separator: --json \
            --table-name: --table-columns: --table-right: --table-truncate: --table-hide:
    od  <* nothing  -vabcdfhilosx -A: -t: -N: -j: -w? -S: --address-radix: --format: --read-bytes: --skip-bytes: \
            --width? --output-duplicates
    hexdump hd  <*  -bcCdoxv -n: -s: -e: --canonical --length: --skip: --no-squeezing
    cmp  <*  -bls -i: -n: --print-bytes --verbose --silent --quiet --bytes: --ignore-initial:
    zcat gzcat bzcat xzcat lzcat zstdcat  <*  -fq --force --quiet
    sort  <*  -bdfgihMnrRsuVzcCm -k: -t: -S: --key: --field-separator: --unique --reverse --numeric-sort \
            --human-numeric-sort --general-numeric-sort --version-sort --ignore-case --ignore-leading-blanks \
            --stable --zero-terminated --merge --check? --month-sort --random-sort --buffer-size: --parallel: \
            --batch-size: --dictionary-order --ignore-nonprinting --sort: --debug
    uniq  <  -cdDiuz -f: -s: -w: --count --repeated --unique --ignore-case --skip-fields: --skip-chars: \
            --check-chars: --all-repeated? --group? --zero-terminated
    base64 base32  <  -d -w: --decode --wrap:
    iconv  <*  -f: -t: -lcs --from-code: --to-code: --list --silent
    shuf  <*  -n: -i: -ez --head-count: --input-range: --echo --zero-terminated
    bat batcat  <*  -pPnAu -l: -r: -H: -m: --plain --number --show-all --language: --line-range: --style: \
            --color: --paging: --decorations: --wrap: --theme: --terminal-width: --highlight-line: --tabs: \
            --file-name:
    strings  <*  -aofw -n: -t: -e: -s: -# --bytes: --radix: --encoding: --all --print-file-name  named (?!@).*
    # Of directories it compares what is in them.
    diff  <*  -abBcdeEinNpqstTuwyZ -# -C: -U: -I: -W: -x: -F: --brief --unified? --context? --side-by-side \
            --suppress-common-lines --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change \
            --ignore-trailing-space --ignore-matching-lines: --strip-trailing-cr --text --minimal --color? \
            --width: --label: --new-file --report-identical-files --show-c-function --show-function-line: \
            --exclude: --no-dereference --speed-large-files --tabsize: --expand-tabs --left-column --ed --normal  \
            searches *
    # Not what shows variables, takes in other files, or runs something.
    jq  :<*  -rcesSnjaCM --raw-output --compact-output --exit-status --slurp --sort-keys --null-input --tab \
            --raw-input -R --join-output --color-output --monochrome-output --args --indent: --stream --seq \
            --ascii-output --arg: --argjson:  \
            never \b(?:env|input_filename|import|include|modulemeta|get_search_list|halt_error)\b|\$ENV|\$__
    yq  <*  -rejPCMNnc -o: -p: --output-format: --input-format: --prettyPrint --no-colors --raw-output --tojson \
            --unwrapScalar --exit-status --null-input --colors --no-doc  \
            never (?i:env|load|system|exec|eval|filename)
""")

LANGUAGES = forms_of(r"""
    sed  :<*  -nErsuz -e: --quiet --silent --regexp-extended --posix --null-data --separate --sandbox \
            --unbuffered --expression:  scripts -e --expression
    awk  :<*  -F: -v:
""")
"""Those whose script `harmless.py` looks at."""

# Names that no program looks at, and those that only say something of language and colours: `read PATH` would let
# every later word run something else.
_OWN = (
    r"(?!(?:(?:https?|ftp|all|no|rsync)_proxy|f?path|cdpath|module_path|manpath|prompt|ps1|precmd|preexec|psvar|argv"
    r"|histchars)(?![a-z0-9_]))[a-z_][a-z0-9_]*"
)
NAME = rf"(?:{_OWN}|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|COLUMNS|LINES|TERM|FORCE_COLOR|CI|CLICOLOR|OLDPWD)"
"""A variable that changes nothing about what programs do later."""

_COLUMN = (
    r"(?:pid|ppid|pgid|sid|user|uid|ruser|group|gid|comm|cmd|args|command|%cpu|pcpu|%mem|pmem|rss|vsz|stat|state|s|time"
    r"|cputime|etime|etimes|start|start_time|lstart|stime|tty|tt|tname|nice|ni|pri|wchan|nlwp|psr|sz|lwp|c|f)"
    r"(?::\d+)?=?"
)
_O = rf"o {_COLUMN}(?:,{_COLUMN})*"
_PS = rf"-{_O}|--sort[= ][-+]?{_COLUMN}(?:,[-+]?{_COLUMN})*|--(?:forest|no-headers?|headers|cols=\d+)"
_PORTS = r"(?=\S)(?i:[46]?(?:tcp|udp)?(?::[\w,-]+)?)"

LINES = lines_that_look(rf"""
    printenv  :  (?:HOME|PATH|USER|LANG|PWD|SHELL|TERM|TZ|LOGNAME|VIRTUAL_ENV)
    sleep  :  [0-9]{{0,2}}\.?[0-9]{{1,3}}s?|[1-5]m
    getent  :  (?:passwd|group|services|protocols)(?: (?!-)\S+)*
    ip  :  (?:-(?:br|4|6|c|brief|j|s) )*+(?:a|addr|address|r|route|link|l|neigh|rule)(?: (?:show|s|list|ls|l))?
    # With options that do not go together, and with a user who is not there, `ps` reads all of them as BSD's, where
    # `e` shows environments: so `-e` stands with none but the first of these.
    ps  :  (?:(?:-[AaefFlLwjHd]+(?:{_O})?|{_PS})(?: |$))*+|(?:(?:-[AafFlLTjwHdc]+(?:{_O})?|-auxw*|-axu?w*\
           |[axufljwrT]+(?:{_O})?|\d+(?:,\d+)*|-[pCuUgGt] (?!-)\S+|--(?:pid|ppid|user|group|tty)[= ](?!-)\S+|{_PS})\
           (?: |$))*+
    # With `-n`, or where it only prints numbers of processes, it looks up no names of hosts.
    lsof  @  (?=(?:\S+ )*-[PalwRU]*[ntv])(?:(?:-[nPtalwRUv]*(?:i(?:{_PORTS}| {_PORTS}|(?= [-+]|$))|s\S+\
            |[puc](?: ?\S+)?)?|(?![-+])\S+)(?: |$))*+
    find  @  (?:-(?:[PHEds]|O\d)(?: |$))*+(?:(?![-!(),])\S+(?: |$))*+(?:(?:-(?:print0?|ls|prune|quit|depth|mount|xdev\
            |noleaf|empty|true|false|nouser|nogroup|readable|writable|executable|daystart|(?:no)?ignore_readdir_race\
            |nowarn|warn|a|and|o|or|not)|[!(),]|-(?:type|xtype|size|[mac](?:time|min)|perm|user|group|uid|gid|maxdepth\
            |mindepth|links|inum|fstype|regextype|used|printf|i?(?:name|path|wholename|regex|lname)|newer|anewer\
            |cnewer|samefile|newer[aBcm][aBcmt]) \S+)(?: |$))*+
    # A name with a colon would be one on another machine.
    tar  @  -?(?=\w*t)[tvzjJfa]+(?: (?!-)[^\s:]+)*
    # Its second operand would be written, and `-r` writes what a dump says.
    xxd  <  (?:-(?:(?:l|s|c|g|o|len|seek|cols)(?: \S+)?|[lscgo][+-]?\d\w*|a|b|e|E|i|p|ps|plain|u)(?: |$))*+\
            (?:-|(?!-)\S+)?
    # Words of the shell. They change what follows in the shell, never a file.
    read  :  (?:(?:-r|{_OWN})(?: |$))*+
    unset  :  (?:{_OWN}(?: |$))*+
    set  :  (?:(?:[-+][euxofC]+|pipefail|errexit|nounset|xtrace|noglob|noclobber|--)(?: |$))++
    shopt  :  (?:(?:-[suq]|nullglob|globstar|dotglob|extglob|failglob|nocaseglob)(?: |$))++
    # Not without names, which shows the variables; nor `-i`: whatever the variable is given later is computed.
    export declare typeset local readonly  :  (?:(?:-[rxgaA]+|--)(?: |$))*+(?:{NAME}(?:=\S*)?(?: |$))++
""")
"""Programs of which the whole line of arguments has one form."""

WRAPPERS = forms_of(r"""
    command  -  -p
    # What it sets is judged as an assignment is.
    env  :*  -i0v -u: --ignore-environment --unset:
    timeout gtimeout  :  -vfp -k: -s: --kill-after: --signal: --foreground --preserve-status --verbose
    nice  -  -n: -# --adjustment:
    ionice  -  -c: -n: -t --class: --classdata: --ignore
    stdbuf  -  -i: -o: -e: --input: --output: --error:
    xargs  -  -0rtx -n: -L: -P: -I: -d: -s: -E: -i? -l? --null --no-run-if-empty --max-args: --max-procs: \
            --max-lines? --replace? --delimiter: --verbose --exit
""")
"""Programs that only run another one, with the forms of the words that are not the other's."""

# git. Left out is whatever makes it run a program by an option (`--ext-diff`, `--textconv`, `--filters`, `-O`,
# `--open-files-in-pager`, `--show-signature`, `%G?`, `-c`, `--exec-path`, `--paginate`), write a file (`--output`,
# `merge-tree`), reach another machine (`fetch`, `ls-remote`, `remote show`, `archive --remote`), read a file that an
# option names (`blame --contents`, `-X FILE`, `-O FILE`) or work in another repository (`-C` elsewhere, `--git-dir`).
# What a repository's own settings have git run is asked about where nothing contains it.

_GIT_DIFF = r"""-pusabwzRWMCBD0123456789 -# -U: -S: -G: -M? -C? -B? -X? --patch --no-patch --raw --stat? \
    --numstat --shortstat --name-only --name-status --summary --compact-summary --stat-width: --check --full-index \
    --binary --abbrev? --no-abbrev --no-prefix --src-prefix: --dst-prefix: --minimal --patience --histogram \
    --diff-algorithm: --word-diff? --word-diff-regex: --color-words? --color? --no-color --color-moved? \
    --diff-filter: --find-renames? --find-copies? --find-copies-harder --no-renames --pickaxe-regex \
    --pickaxe-all --find-object: --relative? --no-relative --text --ignore-space-at-eol --ignore-space-change \
    --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --ignore-matching-lines: -I: --function-context \
    --unified: --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules?"""
_LOG = rf"""{_GIT_DIFF} -n: -L< -iEFPgtcm --oneline --graph --decorate? --no-decorate --all --branches? --tags? \
    --remotes? --glob: --exclude: --author: --committer: --grep: --regexp-ignore-case --extended-regexp \
    --fixed-strings --perl-regexp --all-match --invert-grep --since: --until: --after: --before: --merges \
    --no-merges --first-parent --follow --reverse --topo-order --date-order --author-date-order --date: \
    --relative-date --format: --pretty? --abbrev-commit --no-abbrev-commit --max-count: --skip: --left-right \
    --left-only --right-only --boundary --simplify-by-decoration --full-history --simplify-merges \
    --ancestry-path? --source --notes? --no-notes --no-walk? --parents --children --not --cc --diff-merges: \
    --full-diff"""
_LISTS = r"""--sort: --format: --contains: --no-contains: --merged? --no-merged? --points-at: --color? --no-color \
    --column? --no-column --ignore-case -i --omit-empty"""
GIT = forms_of(rf"""
    status  <*  -sbvuz -u? --short --branch --porcelain? --long --verbose --untracked-files? --ignored? \
            --show-stash --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? \
            --ignore-submodules? --column? --no-column --null
    diff  ~*  {_GIT_DIFF} --cached --staged --merge-base --no-index --cc --base --ours --theirs  searches *
    log  <*  {_LOG}
    show  <*  {_LOG}
    reflog  <*  {_LOG}
    rev-list  <*  {_LOG} --count --objects --bisect --header --timestamp --disk-usage?
    shortlog  <*  -nsec -w? -n -# --numbered --summary --email --committer --group: --format: --since: --until: \
            --after: --before: --all --no-merges --merges --author: --grep: --branches? --tags? --remotes? \
            --max-count:
    rev-parse  <*  -q --abbrev-ref? --verify --short? --show-toplevel --show-prefix --show-cdup --git-dir \
            --absolute-git-dir --git-common-dir --is-inside-work-tree --is-bare-repository --is-inside-git-dir \
            --is-shallow-repository --symbolic --symbolic-full-name --all --branches? --tags? --remotes? --quiet \
            --show-superproject-working-tree --show-object-format? --revs-only --no-revs --flags --no-flags \
            --not
    blame  <*  -bclnsetwfpkM? -L< -M? -C? -# --root --show-stats --porcelain --line-porcelain --incremental \
            --show-name --show-number --show-email --date: --since: --reverse --first-parent --abbrev: \
            --color-lines --color-by-age
    ls-files  @*  -cdmoiskutzvf --cached --deleted --modified --others --ignored --stage --unmerged --killed \
            --exclude-standard --full-name --error-unmatch --eol --abbrev? --deduplicate --directory \
            --no-empty-directory --exclude: -x: --format: --resolve-undo
    ls-tree  @*  -drtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only \
            --format:
    grep  <*  -nNilLcowvEFGPhHqpWazIr0123456789 -A: -B: -C: -m: -e: -# --line-number --ignore-case \
            --files-with-matches --files-without-match --name-only --count --only-matching --word-regexp \
            --invert-match --extended-regexp --fixed-strings --basic-regexp --perl-regexp --quiet \
            --show-function --function-context --text --null --heading --break --color? --no-color --cached \
            --untracked --max-depth: --and --or --not --all-match --column --full-name --after-context: \
            --before-context: --context: --max-count: --no-textconv --recursive --exclude-standard
    cat-file  <*  -tsep
    describe  <*  --tags --all --always --long --dirty? --abbrev: --match: --exclude: --exact-match \
            --candidates: --first-parent --contains
    merge-base  <*  -a --all --octopus --is-ancestor --fork-point --independent
    show-ref  <*  -qdsh --head --heads --tags --branches --dereference --hash? --verify --quiet --abbrev?
    for-each-ref  <*  --count: --shell --include-root-refs {_LISTS}
    check-ignore  @*  -qvnz --quiet --verbose --non-matching --no-index
    version  -  --build-options
    # Of these other forms would change branches, tags, remotes or stashes.
    branch  -  -arv --all --remotes --verbose --show-current --list --no-abbrev --abbrev: {_LISTS}
    tag  -  -l -n? --list {_LISTS}
    remote  -  -v --verbose
    # With one of these first the rest are patterns or names, and nothing is made of them.
    branch:--list branch:--contains branch:--no-contains branch:--merged branch:--no-merged branch:--points-at  \
            <*  -arv --all --remotes --verbose --abbrev: {_LISTS}
    tag:-l tag:--list  <*  -n? {_LISTS}
    stash:list  <*  {_LOG}
    stash:show  <*  {_GIT_DIFF} --include-untracked --only-untracked
    worktree:list  -  -vz --verbose --porcelain
    remote:get-url  :  --all --push
    submodule:status  @*  --cached --recursive -q --quiet
    reflog:show  <*  {_LOG}
    cat-file:blob cat-file:tree cat-file:commit cat-file:tag  <  -
""")
