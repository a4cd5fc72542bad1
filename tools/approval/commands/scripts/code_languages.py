"""Other languages: the syntax and the rules of JavaScript, Perl, Ruby, PHP, Lua and R."""

from __future__ import annotations

from collections.abc import Mapping

from tools.approval.commands.scripts.code_reader import (
    CHANGES_MODE,
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
    NAMED,
    OPENS,
    POSTS,
    READS,
    REMOVES,
    REMOVES_FOLDER,
    REMOVES_TREE,
    SHELL,
    SQL,
    STARTS,
    TOUCHES,
    WRITES,
    Language,
    Rule,
    always,
    methods,
    rules,
)
from tools.approval.commands.scripts.code_tokens import Kind, Syntax
from tools.approval.commands.scripts.effects import (
    BEYOND,
    CONNECTS,
    HIDDEN,
    LEAVES,
    OTHER_RIGHTS,
    REMOVES_ELSEWHERE,
    SHOWS_VARIABLES,
    names,
)

# JavaScript and TypeScript, for node, deno, bun, and the shell of MongoDB.


def _of_fs(functions: str) -> str:
    """The functions of `fs` in all their places."""
    return " ".join(
        f"fs.{name} fs.{name}Sync fs.promises.{name} fs/promises.{name} promises.{name} fsp.{name} fse.{name}"
        f" *.{name}Sync"
        for name in functions.split()
    )


_JAVASCRIPT_RULES = rules(
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
_JAVASCRIPT_FINE = names(
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
    _JAVASCRIPT_RULES,
    _JAVASCRIPT_FINE,
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


# Perl.

_PERL_RULES = rules(
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
_PERL_FINE = names(
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
    _PERL_RULES,
    _PERL_FINE,
    hiding=names("AUTOLOAD @INC %INC CORE::GLOBAL"),
    environment=names("%ENV $ENV @ENV"),
    joiners=frozenset({"->"}),
    bare=True,
    names_call=True,
    hiding_pairs=frozenset({("&", "{"), ("*", "{"), ("", "->")}),
)  # fmt: skip


# Ruby.

_RUBY_RULES = rules(
    ("File.delete File.unlink *.unlink", REMOVES),
    (
        (
            "FileUtils.rm FileUtils.rm_f FileUtils.rm_r FileUtils.rm_rf FileUtils.rmtree FileUtils.remove_entry"
            " FileUtils.remove_dir FileUtils.remove_entry_secure FileUtils.remove FileUtils.safe_unlink *.rmtree"
            " rm_rf rm_r rm_f rmtree"
        ),
        REMOVES_TREE,
    ),
    ("Dir.rmdir Dir.delete Dir.unlink FileUtils.rmdir *.rmdir", REMOVES_FOLDER),
    ("File.truncate *.truncate", EMPTIES),
    ("File.rename FileUtils.mv FileUtils.move", MOVES),
    ("FileUtils.cp FileUtils.cp_r FileUtils.copy FileUtils.copy_file FileUtils.install", COPIES),
    ("File.symlink File.link FileUtils.ln FileUtils.ln_s FileUtils.ln_sf", LINKS),
    ("Dir.mkdir FileUtils.mkdir FileUtils.mkdir_p FileUtils.makedirs", MAKES_FOLDER),
    ("FileUtils.touch", TOUCHES),
    ("File.chmod File.lchmod FileUtils.chmod FileUtils.chmod_R", CHANGES_MODE_OF),
    ("File.chown FileUtils.chown FileUtils.chown_R File.lchown", CHANGES_OWNER),
    ("File.write IO.write IO.binwrite File.binwrite", WRITES),
    ("File.read IO.read File.readlines IO.readlines File.foreach IO.foreach File.binread", READS),
    ("File.open File.new open Kernel.open URI.open", OPENS),
    (
        (
            "system exec spawn Kernel.system Kernel.exec Kernel.spawn IO.popen Process.spawn Process.exec"
            " Open3.capture2 Open3.capture3 Open3.popen3 Open3.popen2 Open3.capture2e PTY.spawn sh"
        ),
        SHELL,
    ),
    (
        ("eval instance_eval class_eval module_eval *.instance_eval *.class_eval *.module_eval Kernel.eval *.eval"),
        EVALUATES,
    ),
    (
        (
            "send public_send __send__ *.send *.public_send *.__send__ *.method method Object.const_get *.const_get"
            " const_get *.instance_method *.define_method"
        ),
        always(HIDDEN),
    ),
    ("load require_relative autoload", DOUBTFUL),
    ("Process.kill Process.abort", KILLS),
    ("fork Process.fork Process.daemon Process.setsid Process.detach", always(LEAVES)),
    ("Process.setuid Process::UID.change_privilege Process::Sys.setuid", always(OTHER_RIGHTS)),
    ("syscall Fiddle.dlopen Fiddle::Function.new DL.dlopen Fiddle", always(BEYOND)),
    (
        (
            "TCPSocket.new TCPSocket.open UDPSocket.new Socket.tcp Socket.new Net::SSH.start Net::SMTP.start"
            " Net::FTP.open TCPSocket TCPServer.new"
        ),
        always(CONNECTS),
    ),
    ("Net::HTTP.get Net::HTTP.get_response Net::HTTP.start HTTParty.get Faraday.get RestClient.get", GETS),
    (
        (
            "Net::HTTP.post Net::HTTP.post_form HTTParty.post Faraday.post RestClient.post Net::HTTP::Post.new"
            " RestClient.delete"
        ),
        POSTS,
    ),
    (
        ("*.destroy_all *.delete_all *.drop_table *.drop_database *.destroy *.flushall *.flushdb *.truncate_tables"),
        always(REMOVES_ELSEWHERE),
    ),
    ("*.execute *.exec *.exec_query", SQL),
    (
        ("Marshal.load ObjectSpace.each_object TracePoint.new RubyVM::InstructionSequence.compile binding Binding"),
        always(HIDDEN),
    ),
)
_RUBY_FINE = names(
    "puts print p pp printf putc require_json gets STDIN.read $stdin.read STDOUT.puts $stdout.puts $stderr.puts"
    " Integer Float"
    " String Array Hash Rational Complex rand srand sleep exit raise abort format sprintf loop lambda proc"
    " block_given? attr_reader"
    " attr_accessor attr_writer def end class module if elsif else unless while until for in do then case when"
    " begin rescue"
    " ensure yield self nil true false and or not return next break redo super new alias undef defined? __method__"
    " __FILE__"
    " Math.* Time.now Date.today Time.at Dir.glob Dir.entries Dir.pwd Dir.children Dir.exist? File.exist? File.file?"
    " File.directory? File.basename File.dirname File.extname File.join File.size File.expand_path File.stat"
    " File.mtime"
    " RUBY_VERSION RUBY_PLATFORM RUBY_ENGINE ARGV ARGF JSON.parse JSON.generate Comparable Enumerable STDIN STDOUT"
    " STDERR $stdin $stdout $stderr Struct.new Set.new Hash.new Array.new Regexp.new String.new Object.new"
    " Random.rand",
) | methods(
    "each map select reject reduce inject join split strip chomp chop to_s to_i to_f to_a to_h to_sym inspect"
    " length size count"
    " first last sort sort_by reverse uniq flatten compact max min sum include? start_with? end_with? gsub sub tr"
    " upcase downcase"
    " capitalize each_with_index each_line lines chars bytes keys values merge fetch key? empty? nil? zip take drop"
    " push pop"
    " shift unshift any? all? none? times upto downto step round floor ceil abs even? odd? match match? scan index"
    " slice dig"
    " each_char group_by partition tally min_by max_by each_slice each_cons with_index with_object flat_map filter"
    " find detect"
    " strftime year month day hour center ljust rjust ord chr hex oct succ freeze dup class is_a? kind_of?"
    " respond_to? then"
    " puts print concat insert rotate sample shuffle transpose find_index filter_map sum pred next read readlines"
    " gets"
    " positive? negative? zero? values_at between? clamp divmod fdiv digits"
)

RUBY = Language(
    Syntax(
        name=r"[$@]{0,2}[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*[?!]?|\$[0-9_!~&?/;,.:\"<>*$]",
        comments=("#",),
        interpolates={"'": "", '"': "#{"},
        backtick="command",
        has_regexes=True,
        percent_quotes=True,
        has_heredocs=True,
        raw="'",
        nests=True,
        before_regex=names("return and or not if unless while until when then else elsif do in case"),
        documents=(r"=begin\b", r"=end\b"),
    ),
    _RUBY_RULES,
    _RUBY_FINE,
    hiding=names("instance_variable_get instance_exec class_exec method_missing"),
    environment=names("ENV"),
    modules=names(
        "json set date time digest securerandom pp bigdecimal fileutils open3 erb English optparse tmpdir tempfile"
        " pathname shellwords benchmark"
    ),
    powerful=names("Kernel Object Process File IO FileUtils Dir Open3"),
    joiners=frozenset({".", "&."}),
    bare=True,
    names_call=True,
)


# PHP.

_PHP_RULES = rules(
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
_PHP_FINE = names(
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
    _PHP_RULES,
    _PHP_FINE,
    hiding=names("$$ $GLOBALS GLOBALS"),
    environment=names("getenv $_ENV $_SERVER"),
    powerful=names("$GLOBALS"),
    joiners=frozenset({"->", "::", "?->"}),
    bare=True,
    hiding_pairs=frozenset({("", "("), (")", "("), ("$", "{")}),
    calls_variables=True,
)


# Lua.

_LUA_RULES = rules(
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
_LUA_FINE = names(
    "print tostring tonumber type pairs ipairs next select unpack error assert pcall xpcall math.* string.* table.*"
    " os.time os.date"
    " os.clock io.write io.read utf8.* _VERSION #"
) | methods("format rep sub gsub gmatch match find upper lower len byte char reverse close read lines write")

LUA = Language(
    Syntax(name=r"[A-Za-z_]\w*", comments=("--",), blocks=(("--[[", "]]"),), long_text=True, decimals=True),
    _LUA_RULES,
    _LUA_FINE,
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


# R.

_R_RULES = rules(
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
_R_FINE = names(
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
    _R_RULES,
    _R_FINE,
    environment=names("Sys.getenv"),
    joiners=frozenset({"$"}),
)


LANGUAGES: Mapping[str, Language] = {
    "javascript": JAVASCRIPT, "perl": PERL, "ruby": RUBY, "php": PHP, "lua": LUA, "r": R,
}  # fmt: skip
