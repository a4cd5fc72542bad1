"""Ruby."""

from __future__ import annotations

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
    OPENS,
    POSTS,
    READS,
    REMOVES,
    REMOVES_FOLDER,
    REMOVES_TREE,
    SHELL,
    SQL,
    TOUCHES,
    WRITES,
    Language,
    always,
    methods,
    rules,
)
from tools.approval.scripts.code.syntax import Syntax
from tools.approval.scripts.effects import BEYOND, CONNECTS, HIDDEN, LEAVES, OTHER_RIGHTS, REMOVES_ELSEWHERE
from tools.approval.scripts.naming import names

_RULES = rules(
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
_FINE = names(
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
    _RULES,
    _FINE,
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
