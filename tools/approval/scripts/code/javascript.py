"""JavaScript and TypeScript, for node, deno, bun, and the shell of MongoDB."""

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
    POSTS,
    READS,
    REMOVES,
    REMOVES_FOLDER,
    REMOVES_TREE,
    SHELL,
    SQL,
    STARTS,
    WRITES,
    Language,
    always,
    methods,
    rules,
)
from tools.approval.scripts.code.syntax import Syntax
from tools.approval.scripts.effects import BEYOND, CONNECTS, HIDDEN, REMOVES_ELSEWHERE
from tools.approval.scripts.naming import names


def _of_fs(functions: str) -> str:
    """The functions of `fs` in all their places."""
    return " ".join(
        f"fs.{name} fs.{name}Sync fs.promises.{name} fs/promises.{name} promises.{name} fsp.{name} fse.{name}"
        f" *.{name}Sync"
        for name in functions.split()
    )


_RULES = rules(
    (_of_fs("unlink"), REMOVES),
    (_of_fs("rm remove emptyDir del"), REMOVES_TREE),
    ("rimraf rimraf.sync rimraf.rimraf del del.sync del.deleteAsync shell.rm shelljs.rm", REMOVES_TREE),
    ("*.unlink", REMOVES),
    ("*.rm *.rimraf", REMOVES_TREE),
    ("*.rmdir", REMOVES_FOLDER),
    (_of_fs("rmdir"), REMOVES_FOLDER),
    (_of_fs("truncate ftruncate"), EMPTIES),
    (_of_fs("writeFile appendFile writeJson outputFile outputJson"), WRITES),
    (
        (
            "fs.createWriteStream *.createWriteStream Bun.write Deno.writeTextFile Deno.writeTextFileSync"
            " Deno.writeFile Deno.writeFileSync Deno.create Deno.createSync"
        ),
        WRITES,
    ),
    (_of_fs("readFile readJson"), READS),
    ("fs.createReadStream Deno.readTextFile Deno.readTextFileSync Deno.readFile Deno.readFileSync Bun.file", READS),
    (_of_fs("open"), DOUBTFUL),
    (_of_fs("rename move"), MOVES),
    (_of_fs("copyFile cp copy"), COPIES),
    (_of_fs("symlink link ensureSymlink"), LINKS),
    (_of_fs("mkdir mkdirs mkdirp ensureDir mkdtemp"), MAKES_FOLDER),
    (_of_fs("chmod lchmod fchmod"), CHANGES_MODE),
    (_of_fs("chown lchown fchown"), CHANGES_OWNER),
    ("Deno.remove Deno.removeSync", REMOVES_TREE),
    ("Deno.rename Deno.renameSync", MOVES),
    ("Deno.mkdir Deno.mkdirSync", MAKES_FOLDER),
    (
        ("child_process.exec child_process.execSync *.execSync execa.command execaCommand shell.exec shelljs.exec"),
        SHELL,
    ),
    (
        (
            "child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync"
            " child_process.fork *.spawnSync *.execFileSync execa execa.execa Bun.spawn Bun.spawnSync Deno.Command"
            " Deno.run"
        ),
        STARTS,
    ),
    ("Bun.$ $ zx.$", SHELL),
    ("eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction", EVALUATES),
    ("process.kill process.abort", KILLS),
    (
        (
            "process.binding process.dlopen process._linkedBinding process.getBuiltinModule Deno.dlopen ffi.Library"
            " bun.ffi.dlopen"
        ),
        always(BEYOND),
    ),
    ("process.setuid process.setgid", CHANGES_OWNER),
    (
        (
            "fetch axios axios.get axios.request http.get https.get http.request https.request got got.get"
            " undici.fetch undici.request needle.get superagent.get node-fetch globalThis.fetch"
        ),
        GETS,
    ),
    (
        (
            "axios.post axios.put axios.patch axios.delete got.post got.put got.delete superagent.post"
            " navigator.sendBeacon needle.post"
        ),
        POSTS,
    ),
    (
        (
            "net.connect net.createConnection net.Socket tls.connect dgram.createSocket WebSocket XMLHttpRequest"
            " Deno.connect Bun.connect ws nodemailer.createTransport http2.connect"
        ),
        always(CONNECTS),
    ),
    (
        (
            "*.dropDatabase *.deleteMany *.dropCollection *.dropIndexes *.drop *.flushall *.flushdb *.destroyAll"
            " *.dropUser *.shutdownServer *.removeUser"
        ),
        always(REMOVES_ELSEWHERE),
    ),
    ("*.query *.exec *.prepare *.execute *.raw", SQL),
    ("repl.start inspector.open worker_threads.Worker Worker", always(HIDDEN)),
)
# `/x/.exec(s)` is everywhere: not SQL, unless it looks like it, which the reading of SQL tells.
_FINE = names(
    "console console.log console.error console.warn console.info console.table console.dir console.debug JSON.parse"
    " JSON.stringify Math.* Object.keys Object.values Object.entries Object.assign Object.fromEntries Object.freeze"
    " Array Array.from Array.isArray Array.of String Number Boolean BigInt Symbol parseInt parseFloat isNaN"
    " isFinite Date"
    " Date.now Date.parse Date.UTC Buffer Buffer.from Buffer.alloc Buffer.concat Buffer.byteLength RegExp Set Map"
    " Error"
    " TypeError Number.* String.fromCharCode String.raw encodeURIComponent decodeURIComponent encodeURI decodeURI"
    " Intl.*"
    " URL URLSearchParams TextEncoder TextDecoder atob btoa performance.now structuredClone queueMicrotask"
    " process process.stdout.write process.stderr.write process.argv process.cwd process.version process.versions"
    " process.platform process.arch process.memoryUsage process.uptime process.exit process.hrtime process.pid"
    " process.release process.stdin process.exitCode process.features process.execPath process.title process.config",
    " fs.existsSync fs.readdirSync fs.statSync fs.lstatSync fs.readdir fs.stat fs.access fs.accessSync"
    " fs.realpathSync"
    " fs.constants fs.promises.readdir fs.promises.stat fs.promises.access path.* os.* util.inspect util.format"
    " util.types.*"
    " crypto.randomUUID crypto.randomBytes crypto.createHash url.parse querystring.* assert assert.*"
    " events.EventEmitter"
    " string_decoder.* punycode.* Deno.args Deno.version Deno.cwd Deno.readDirSync Bun.version process.stdin.on"
    " process.stdin.setEncoding process.stdin.resume fs path os util url fs.promises Promise.all Promise.resolve"
    " Promise",
) | methods(
    "map filter reduce forEach join split slice splice trim trimStart trimEnd toString toFixed toPrecision replace"
    " replaceAll"
    " match matchAll test includes startsWith endsWith indexOf lastIndexOf push pop shift unshift sort reverse flat"
    " flatMap"
    " concat find findIndex findLast every some keys values entries get set has add delete at fill padStart padEnd"
    " repeat"
    " charCodeAt codePointAt charAt toUpperCase toLowerCase toISOString toLocaleString getTime getFullYear getMonth"
    " getDate"
    " getHours getMinutes toLocaleDateString then catch finally localeCompare substring substr search digest update"
    " isFile"
    " isDirectory length toJSON valueOf hasOwnProperty setEncoding"
)
_KEYWORDS = names(
    "if for while switch catch return typeof function await new of in do else case void throw async super yield"
    " with not",
    "const let var class import from as export default this true false null undefined static get set break continue"
    " try"
    " finally instanceof delete extends NaN Infinity",
)

JAVASCRIPT = Language(
    Syntax(
        name=r"[A-Za-z_$#][\w$]*",
        comments=("//",),
        blocks=(("/*", "*/"),),
        interpolates={"'": "", '"': ""},
        backtick="template",
        has_regexes=True,
        nests=True,
        before_regex=names("return typeof case do else void delete throw new in instanceof"),
    ),
    _RULES,
    _FINE,
    hiding=names("constructor __proto__ mainModule _load createRequire registerHooks __defineGetter__ Reflect Proxy"),
    environment=names("process.env Deno.env Bun.env import.meta.env"),
    powerful=names(
        "fs child_process process globalThis global module vm Deno Bun net http https require fs.promises window self"
    ),
    keywords=_KEYWORDS,
    modules=names(
        "fs path os util url crypto assert events fs/promises querystring child_process http https net zlib stream"
        " buffer string_decoder perf_hooks readline timers vm module worker_threads punycode"
    ),
)
