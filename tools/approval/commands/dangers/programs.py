"""Dangerous calls of single programs, as rows (`table.py` says how they read): the place to add one."""

from __future__ import annotations

from tools.approval.commands.bash.reading import UNKNOWN
from tools.approval.commands.dangers.table import Table, options_with_values, rows

_VALUES = options_with_values(r"""
    date gdate           dfr --date --file --reference
    docker podman lxc incus apptainer singularity buildah docker-compose podman-compose  fHcpewlu --file --host \
                         --context --project-name --profile --env-file --filter --format --name --volume-driver \
                         --mount --namespace --env --workdir --user --log-level --project-directory --network
    nerdctl ctr crictl   fHcpewlun --file --host --context --project-name --profile --env-file --filter --format \
                         --name --volume-driver --mount --namespace --env --workdir --user --log-level \
                         --project-directory --network
    npm pnpm yarn bun lerna nx jsr deno ni cargo gem rake poetry uv twine hatch flit pdm rye maturin conda anaconda \
    dotnet nuget mvn mvnw gradle gradlew sbt dart flutter pod mix vsce ovsx goreleaser changeset oras crane skopeo \
    chart-releaser opam luarocks stack cabal composer asdf web-ext snapcraft eas modal huggingface-cli hf conan ko \
    go pip pip3 bundle   pCF --project --registry --filter --workspace --cwd --dir --prefix --directory
    ip                   fn
    gh glab              XfFHRq --method --field --raw-field --input --header --repo --jq --hostname --title --body \
                         --cache --template --preview
    rg ripgrep ag ack    gtTefmABCj --pre --hostname-bin --pager
    git-clean            e --exclude
    git-restore          s --source
    git-switch           cC --create --force-create --orphan
    git-checkout         bB --orphan --conflict --pathspec-from-file
    git-branch           u --set-upstream-to --format --sort --contains --merged --no-merged --points-at
    git-tag              muF --message --file --local-user --sort --format --contains
    git-config           f --file --blob --type --default
    git-fetch            jo --depth --refmap --upload-pack
    git-apply            pC --exclude --include --directory --whitespace
""")  # fmt: skip


_SETTINGS = r"""
        iptables* ip6tables* nft ufw firewall-cmd pfctl ipset ebtables sysctl setenforce aa-disable aa-teardown \
        apparmor_parser hwclock tc update-alternatives alternatives ldconfig csrutil spctl nvram bcdedit reg netsh \
        wpa_cli rfkill swapoff dpkg-reconfigure depmod dracut update-initramfs mkinitcpio grub-install \
        grub-mkconfig grub2-mkconfig auditctl chronyc ntpdate resolvectl scutil networksetup security tccutil \
        defaults kextload kextunload chvt setterm loadkeys zramctl"""
_CHANGES = "add|append|change|connect|del|delete|disconnect|down|flush|join|leave|prepend|replace|restore|set"
_ENGINES = "docker podman nerdctl lxc ctr crictl incus apptainer singularity buildah"
_COMPOSES = "docker-compose podman-compose"
_OF_WHAT = r"""(?:(?:swarm|node|service|stack|secret|plugin|checkpoint|artifact|play|kube|compose|buildx|context\
            |config|network|volume|container|image|system|manifest|builder|trust|scout|machine|pod|imagetools|images\
            |generate|ps|ls|list) ){0,2}"""
_DROPS = (
    r"(?:drop|delete|purge|remove|reset|destroy|truncate|flush|decommission|shutdown|clean|wipe|rmr|del|stop|kill"
    r"|clear|force|promote|stop_app|unregister|forget|evict)(?:[-_]\w+)*|--(?:delete\S*|drop\S*|clean|force\S*|purge)"
)

_ROWS = rf"""
    # Services, power, users, the system's packages and settings, the network, the clock.
    [services, outside] turns the machine off or changes how it runs  none --help|--version
        shutdown reboot halt poweroff init telinit pm-suspend pm-hibernate hibernate suspend rtcwake kexec \
        stop-computer restart-computer systemsetup pmset
    [services, outside] controls services or power  none --help|--version
        systemctl      verb! status|show|list-units|list-unit-files|list-timers|list-sockets|is-active|is-enabled\
                       |is-failed|cat|help|list-dependencies|list-jobs|get-default|show-environment
        launchctl      verb! list|print|blame|version|help
        rc-update      verb! show
        supervisorctl  verb! status|tail|maintail|avail|version|pid
        initctl        verb! list|status|version
        update-rc.d s6-svc  verb! -
        chkconfig      verb! -  first! --list
        sv hostnamectl localectl  verb! status
        loginctl       verb! list-sessions|show-session|session-status|show-user|list-users
        timedatectl    verb! status|show|list-timezones
        sc             verb! query
        snap           verb! list|info|find|version|services|logs|connections|interfaces|install|refresh
        monit          verb! status|summary
        nmcli          line (?!.*(?:status|show)(?: -\S+)*$).
        httpd pg_ctl pg_ctlcluster unitctl caddy rabbitmq-server mysqladmin  \
                       any stop|restart|graceful|graceful-stop|start|reload|shutdown|kill
        nginx openresty haproxy  any -s.*
        net            first stop|start|user|localgroup
        brew           line services (?!list|info).
        dbus-send gdbus busctl qdbus  any .*(?:PowerOff|Reboot|Suspend|Hibernate|Halt|StopUnit|RestartUnit|KillUnit\
                       |Disable).*
    # What else these are given is their script's, also `--help`.
    [services, outside] controls services or power
        init.d               line (?!status(?: |$)).
        service rc-service  verb \S+  line (?!(?:--help|--version)(?: |$)|(?:-\S+ )*(?:\S+ )?(?:status|-l|--list)\
                            (?: |$))
        apachectl apache2ctl  any stop|restart|graceful|graceful-stop|start|reload|shutdown|kill
    [system files, outside] changes users or passwords  none --help|--version
        useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup delgroup chpasswd chsh chfn \
        gpasswd vipw vigr dscl newusers pwconv dseditgroup sysadminctl faillock authconfig pam-auth-update ypasswd \
        htpasswd
        passwd  first! -S|--status
        chage   first! -l|--list
    [services, outside] removes or replaces packages of the system  none --help|--version
        apt apt-get aptitude dnf yum zypper microdnf tdnf brew port apk snap flatpak emerge guix nix-env pkg choco \
        winget scoop opkg eopkg xbps-remove  said remove|purge|autoremove|auto-remove|uninstall|erase|del|rm|delete\
            |--purge|-e|zap|autoclean|--unmerge|-C|--depclean|dist-upgrade|full-upgrade|--uninstall
        pacman    said -[RU]\w*|--remove
        paru yay  said -R\w*
        dpkg      said -[rPi]|--remove|--purge|--install|--force\S*|--unpack|--configure
        rpm       said -[eiUF]\w*|--erase|--install|--upgrade
    [services, outside] changes settings of the system  none --help|--version
        {_SETTINGS}  any -w|--write|.*=.*|-[ADIFXNPR]|--(?:flush|append|delete|insert|policy|add-\S+|remove-\S+\
            |reload|permanent|set\S*|config|install|remove|auto|system)|add|delete|flush|enable|disable|reset|allow|deny\
            |write|import|--disable|-f|-e|-d|find-\S+password|delete-\S+|add-\S+|dump-keychain|unlock-keychain|export
        {_SETTINGS}  line (?!-h$|[\w.]+(?: |$)).  none -[nvxL]*[LS][nvxL]*|--list\S*|-l|list|status|show|read|get|-a\
            |--display|-p|-n|-q|query|--query|--state|tracking|sources|-V|find-identity|verify-cert|print|--get\S*\
            |--info\S*|dump|statistics|is-enabled|export|-v
        sysctl      any (?:-p|--load).*
    [services, outside] changes the network of the machine  none --help|--version
        ip route iw  any {_CHANGES}
        ip           any --?b(?:atch)?
        ip           verb \S+ (?:a|ad|ap|app\w*|c|ch\w*|co|con\w*|d|de|di|dis\w*|do|dow|f|fl\w*|j|jo\w*|le|lea\w*\
                     |p|pr\w*|r|re|rep\w*|res\w*|se)
        ifconfig     verb \S+ \S+
        brctl        verb! show.*
    [services, outside] sets the clock  none --help|--version
        date gdate   any -[uRn]*s.*|--set.*
        date gdate   verb (?:\S+ )*\d{{8}}\S*  lacks -j
    [services, outside] changes settings of the machine  none --help|--version|--dry-run
        rfkill          line (?:un)?block\b|toggle\b
        resolvectl      line (?:dns|domain|revert|default-route|llmnr|mdns|dnssec|dnsovertls|nta) +\S+ +\S|revert
        arp             line .*(?<!\S)-[a-zA-Z]*[sd]\b
        ethtool         line -[sKACGLNX]\b|--(?:change|set-\S+|offload|flash)
        softwareupdate  any -i|-ia|--install|-R|--restart|--ignore|--reset-ignored|--schedule.*|-a
    [deletion, outside] deletes logs of the system  none --help|--version
        journalctl   any --(?:vacuum|rotate|flush).*
    [system files, outside] rotates logs of the system  none --help|--version
        logrotate    any -f|--force
    [deletion, outside] changes backups of the machine
        tmutil       line delete|disable|enable|restore|set|remove|thin|stopbackup|add
    [device, outside] works on devices or filesystems
        eject usbreset  line .
    # What is left behind, and what looks into others.
    [detached] leaves a process behind  first! --version|--help|-V
        disown
        setsid nohup coproc daemon daemonize start-stop-daemon systemd-run dtach abduco forever batch byobu  line .
        tmux    line (?!(?:ls|list-sessions|list-windows|list-panes|capture-pane|show-options|info)(?: |$)).
        screen  line (?!(?:-ls|-list|-v)(?: |$)).
        pm2     line (?!(?:list|ls|status|logs|show|describe)(?: |$)).
        at      line (?!-l(?: |$)).
        zellij  line (?!(?:list-sessions|ls)(?: |$)).
    [detached] leaves a process behind
        set     line (?:(?!-- )\S+ )*?-(?:[a-zA-Z]*m[a-zA-Z]*|[a-zA-Z]*o monitor)(?: |$)
    [processes] looks into another process
        gcore reptyr
        gdb lldb strace ltrace py-spy  any -p[\d,]*|--pid.*|(?:--)?attach.*|\d+
    # Containers that get more of the machine than they need, and what is taken away of them.
    [containers, outside] gives a container rights over this machine
        {_ENGINES} {_COMPOSES}  any --privileged(?:=true)?|--cap-add\S*|--device\S*|--security-opt\S*\
            |--(?:pid|ipc|uts|userns|cgroupns)=host
        {_ENGINES} {_COMPOSES}  line .*(?<!\S)--(?:pid|ipc|uts|userns|cgroupns) host(?: |$)
    [containers, outside] turns to another engine of containers
        {_ENGINES}  verb context use
    [services, outside] stops containers
        {_ENGINES}  verb stop
    [publishing, outside] publishes an image
        {_ENGINES} {_COMPOSES}  verb (?:(?:image|compose|manifest) )?push
        {_ENGINES} {_COMPOSES}  any --push
    [infrastructure, outside] deletes containers with their volumes
        {_ENGINES}    verb compose down  has -v --volumes --rmi
        {_COMPOSES}   verb down  has -v --volumes --rmi
    [infrastructure, outside] ends containers
        {_ENGINES} {_COMPOSES}  verb {_OF_WHAT}kill
    [infrastructure, outside] deletes containers, images or volumes
        {_ENGINES} {_COMPOSES}  verb {_OF_WHAT}(?:rm|rmi|remove|prune|destroy|delete|purge|leave|disconnect|reset\
            |uninstall|revoke|forget|untag|terminate)
        {_ENGINES}             verb (?:stack |kube )?down
    # What is published.
    [publishing, outside] publishes a package  verb! run|run-script|exec|install|add|i|view|info|config  \
        first! test  none --dry-run|--help|-h|--dry-run=true
        npm pnpm yarn bun lerna nx jsr deno ni  \
                  early publish|unpublish|deprecate|dist-tag|owner|access|token|adduser|npm
        cargo     early publish|yank|owner|release|login
        gem       early push|yank|owner|release|signin
        poetry uv twine hatch flit pdm rye maturin conda anaconda  early publish|upload|register|token|login
        dotnet nuget crane  early push|delete
        dart flutter ovsx changeset opam composer asdf  early publish
        pod oras  early push
        mix       early hex\.publish|hex\.retire
        vsce      early publish|unpublish
        goreleaser  early release
        skopeo    early copy|delete|sync
        chart-releaser luarocks stack cabal hf conan  early upload
        web-ext   early sign
        snapcraft  early upload|release|push
        eas       early submit|update
        modal     early deploy
        huggingface-cli  early upload\S*|delete-\S+
        ko        early publish|build|apply|resolve|create
    [publishing, outside] publishes a package  none --dry-run|--help|-h|--dry-run=true
        rake      verb (?:\S+ )*(?:push|yank|owner|release|signin)
        mvn mvnw gradle gradlew sbt  verb (?:\S+ )*(?:\S*:)?(?:deploy|publish\w*|release:perform|upload\w*)
        semantic-release release-it np clojars cpan-upload fastlane surge gh-pages
    # Timers, start-up entries, settings of the person's desktop and tools.
    [persistence, outside] installs something that comes back
        crontab    first! -l
        at batch atrm schtasks anacron fcron fcrontab incrontab
        osascript  any .*login.item.*
        systemctl launchctl loginctl  any enable(?:-linger)?|load|bootstrap|submit|link|edit|set-default|start\
                   |import-environment
    [persistence] installs hooks that run at each commit
        pre-commit lefthook husky  first install
    [persistence, outside] installs hooks that run at each commit
        husky      line (?:add|set|init)\b
        simple-git-hooks install-hooks
    [persistence, outside] changes the settings of {{}} for all that follows
        npm pnpm yarn pip pip3 composer gem conda cargo  verb (?:config|set) (?!(?:get|list|ls|debug|path)(?: |$))\S+
        bundle poetry  verb (?:config|set) (?!(?:get|list|ls|debug|path)(?: |$))\S+  none --local
        go             verb env  any --?[wu]
    [persistence, outside] changes settings of the person's desktop  none --help|--version
        gsettings         line (?:set|reset)\b|reset-recursively
        dconf             line (?:write|reset|load)\b
        xdg-settings      line set\b
        xdg-mime          line (?:default|install|uninstall)\b
        xdg-desktop-menu  line (?:un)?install\b
        kwriteconfig kwriteconfig5 kwriteconfig6  line .
        xfconf-query      any -s|--set|-r|--reset
    [persistence, outside] gives somebody a way in
        ssh-copy-id
        ssh-add    first! -[lL]
    [system files, outside] changes the machines that are trusted
        ssh-keygen  any -R
    [system files, outside] changes which certificates are trusted
        update-ca-certificates update-ca-trust  first! --help|--version|-h
    [persistence, outside] changes which certificates are trusted
        mkcert     any --?(?:un)?install
    [persistence, outside] lets a file of the project run in every shell
        direnv     first allow|permit|grant|edit
    [persistence, outside] installs an extension of the editor
        code cursor codium  any --install-extension
    [our configuration, outside] controls this agent itself
        hermes hermes-acp hermes-agent  line (?!(?:--version|--help|-h|doctor|status)(?: |$)).
    [deletion, outside] removes installed tools, or what they have stored  none --help|--version|--dry-run
        nix-collect-garbage  none --dry-run
        nix          line (?:store +(?:gc|delete)|profile +(?:remove|wipe-history)|upgrade-nix)\b|collect-garbage
        nix-store    any --(?:gc|delete)
        conda mamba micromamba  line (?:env +(?:remove|delete)|clean|(?:remove|uninstall) .*--all)\b
        pnpm         line store prune\b
        pyenv rbenv nodenv goenv jenv asdf mise nvm fnm volta sdk pipx  line uninstall|remove\b|implode|prune
        rustup       line (?:self|toolchain|target|component) +(?:uninstall|remove)\b|self +update
    [deletion, outside] deletes keys
        gpg gpg2  any --delete.*
    # Databases and queues.
    [sql, outside] deletes database content
        dropdb dropuser droplang pg_dropcluster pg_resetwal  none --help
        cypher-shell             told (?i:\b(?:delete|remove|drop)\b)
        nc ncat memcat telnet    told flush_all
        mysqladmin mongorestore pg_ctl initdb createuser pg_restore mysql_secure_installation mysql_install_db \
        influx influxd cqlsh cypher-shell nodetool rabbitmqctl rabbitmqadmin kafka-* zookeeper-shell* zkcli* etcdctl \
        consul curator_cli elasticsearch-* neo4j-admin cockroach clickhouse* couchdb memcached-tool nats \
        pulsar-admin             told (?i:(?<![^\n])(?:{_DROPS})(?![^\n]))
    # Keepers of secrets that are asked for one.
    [credentials, outside] shows secrets through {{}}
        gpg gpg2   line .*(?:--export-secret|--decrypt|(?<!\S)-d )
        pass gopass op bw lpass keepassxc-cli secret-tool kwallet-query chamber doppler infisical teller \
        git-credential-store docker-credential-desktop docker-credential-osxkeychain  \
                   line (?!(?:ls|list|find|version|help|git|login|status|--version|--help)\b).
        security   line .*(?:find-\S*password|dump-keychain|export)
        sops ansible-vault age eyaml  line .*(?<!\S)(?:-d|--decrypt|decrypt|view|edit|exec-env)\b
        vault      line (?:read|print|kv get|token)\b
        rails bundle  line .*\bcredentials:
        aws        line .*(?:configure (?:get|export-credentials)|get-secret-value|get-session-token\
                   |--with-decryption|get-login-password|get-authorization-token|assume-role)
        gcloud az  line .*(?:(?:access|identity)-token|print-credentials|secrets? versions access\
                   |keyvault secret show)
        heroku     line (?:config|config:get|auth:token)\b
        npm yarn pnpm  line (?i:.*_auth)
        kubectl    line .*(?:\bget\b.*\bsecrets?\b.* -o|create token|config view.*--raw)
    [credentials, outside] reads the passwords of the system
        getent  line g?shadow\b
    [credentials, outside] changes stored keys
        keytool    any -(?:delete|storepasswd|keypasswd|changealias|importkeystore)
    # Programs that seem harmless and run another one, by their options; and those that reach others.
    [hidden] makes programs run something else
        zip                any (?:-TT|--unzip-command).*
        man                any (?:-P|--pager|-H|--html).*
        less               any (?:\+!|\+\|).*
        tar                any --(?:rsh-command|rmt-command).*
        sort               any --compress-program.*
        split              any --filter.*
        gcc g++ cc c++ clang clang++  any (?:-wrapper|-fplugin=).*
        rsync              any --rsync-path.*
        ssh                any (?:-oProxyCommand|ProxyCommand).*
        mysql              any --pager.*
        psql               any --set=PAGER.*
        entr               any -s.*
        gawk               any (?:-l|--load|-i).*
        make gmake         any (?:SHELL|\.SHELLFLAGS|MAKEFLAGS)[:+?]?=.*
        expect autoexpect git-shell  any -c.*
        pip                any --(?:global|install|build)-option.*
        ffmpeg             any -protocol_whitelist.*
    [hidden, outside] makes programs run something else
        ssh-keygen   line .*(?<!\S)-D\b
        tcpdump      line .*(?<!\S)-z\b
        apt apt-get aptitude apt-cache  line .*(?<!\S)(?:-o|--option)[ =]?(?:APT::Update::P|DPkg::|\S*Invoke\
                     |Dir::Bin|\S*::Run)
    [writing] opens a program that can run and write anything
        gvim gvi vim vi nvim view vimdiff emacs emacsclient nano pico micro joe ed ex red  none --version|--help
    [hidden] runs a program for each file
        rg ripgrep ag ack  has --pre --hostname-bin --pager
    [hidden] makes the shell run something later
        bind complete  any -[xC]
    [hidden] runs a program whose name is hidden
        ld-linux* ld-musl* ld.so* ld64*
    [hidden] gives programs other names
        alias        any .*=.*
        hash         any -p
        enable       any -\w*f.*
    [hidden] makes wget run other settings
        wget wget2 aria2c  any (?:-e|--execute|--use-askpass).*
    [hidden, outside] opens a program on the person's desktop  first! --help|--version
        open         line (?!-[etR]\b).*(?:-a +(?:Terminal|iTerm)|\.(?:command|app|pkg|dmg|terminal|workflow|scpt)\b)
    [remote code] runs code that comes from elsewhere
        iex invoke-expression mshta rundll32 regsvr32 certutil  line .
        deno bun     first run  any (?:https?|ftp)://.*
    [remote code, outside] runs code that comes from elsewhere
        kubectl oc   any apply|create  any (?:https?|ftp)://.*
    [remote code, outside] installs from a place that nobody vouches for
        pip pip3 uv pipx npm pnpm yarn bun npx gem bundle cargo poetry pdm nuget dotnet conda uvx easy_install  \
            line .*(?<!\S)(?:(?:-i|--index-url|--extra-index-url|--registry|--source|--repository|--find-links|-f\
            |--index)[ =]http://(?!localhost|127\.|\[::1\])|--trusted-host[ =](?!localhost|127\.)\S)
    [exfiltration, outside] reaches another machine
        ssh scp sftp telnet ftp lftp tftp socat ssh-copy-id mosh rlogin rsh rcp sendmail mail mailx mutt swaks msmtp \
        croc wormhole magic-wormhole ngrok cloudflared bore localtunnel lt chisel frpc tailscale sshuttle autossh \
        smbclient curlftpfs sshfs davfs2 ffsend transfer gist pastebinit termbin ix 0x0 s4cmd rclone gofile \
        onionshare proxychains proxychains4 cryptcat pwncat udp-sender aircrack-ng nmap masscan sqlmap hydra \
        msfconsole msfvenom responder bettercap mysqldump-secure iodine dnscat dnscat2 hping3 nping serveo pagekite \
        expose zrok syncthing rsyncd nsupdate  line (?!(?:--version|-V|--help|-h|-G|-Q)(?: |$)).
    [exfiltration, outside] sends data out
        dig drill delv host nslookup ping ping6 whois traceroute traceroute6 tracepath mtr fping getent resolvectl \
        kdig doggo dog arping  any .*{UNKNOWN}\S*\..*|.*\.\S*{UNKNOWN}.*
    [infrastructure, outside] changes things on GitHub
        gh glab  verb (?!api )\S+ (?:create|delete|merge|close|edit|comment|review|upload|transfer|archive|rename|set\
            |run|cancel|rerun|reopen|ready|lock|remove|disable|enable|add|sync|fork|logout|login|refresh|import|approve\
            |revoke|publish|stop|rebuild|unarchive|pin|unpin|develop)
    [credentials, outside] shows a token
        gh glab  verb auth token
        gh glab  verb auth status  has -t --show-token
    [remote code] installs an extension that runs code
        gh glab  verb extension install|alias set
    [exfiltration, outside] sends data out  none --help|--version|--dry-run
        mosquitto_pub amqp-publish kcat kafkacat wscat websocat  line (?!.*(?:localhost|127\.0\.0\.1))(?!.* -[CL]\b).
    # What loses history or work, reaches others, or makes git run something.
    [git] throws away changes
        git-reset     has --hard --merge --keep
        git-reset     splits
        git-restore   lacks --staged -S
        git-restore   has --worktree -W
        git-switch    has -f --discard-changes -C --force-create
        git-checkout  has -f --force --ours --theirs -p --patch --pathspec-from-file -B -m --merge
        git-checkout  line (?:\S+ )*-- \S
        git-apply     has -R --reverse  lacks --check --stat --numstat --summary --cached
        hg sl         verb update|up|checkout|co|goto  has -C --clean
    [git] may throw away changes  \
        lacks -f --force --ours --theirs -p --patch --pathspec-from-file -B -m --merge  none --
        git-checkout  verb \S+ \S+  lacks -b --orphan -t --track --detach -d --help
        git-checkout  verb \.|\.\.|(?:\./|\.\./|:/|:\().*|[^/ ]+\.(?!\d)[A-Za-z]\w{{0,7}}|[^/ ]+/\S*\.(?!\d)\
                      [A-Za-z]\w{{0,7}}|\S*/|(?:src|lib|tests?)/\S*  lacks -b --orphan -t --track --detach -d --help
        git-checkout  verb \S*[*?\[]\S*  lacks -b --orphan -t --track --detach -d --help
    [deletion] deletes files that git does not know
        git-clean  lacks -n --dry-run
    [deletion] deletes files through git
        git-rm  lacks --dry-run -n --help --cached
    [deletion] deletes files that git keeps elsewhere
        git-annex     first drop|dropunused|dropkey|uninit|move|dead
    # `-d` takes only what has been merged: nothing is lost, but of another repository.
    [git] deletes git history
        git-branch    has -D -M -C --force -f
        git-branch    has -d --delete  has -r --remotes
        git-tag       has -d --delete -f --force
        git-stash     first drop|clear
        git-reflog    first expire|delete|drop
    [git] takes changes out of the work tree
        git-stash     first! list|show|pop|apply|branch|create|drop|clear
    [git] changes where git sends and fetches
        git-remote  first set-url|remove|rm
    [git] changes files through git
        git-worktree     first remove|prune
        git-submodule    first deinit|foreach
        git-maintenance  first start|register
        git-bisect       first run
    [git] changes git history, the work tree or a remote
        git-filter-branch git-filter-repo git-update-ref git-replace git-fast-import git-symbolic-ref git-pack-refs \
        git-repack git-read-tree git-checkout-index git-unpack-objects git-gc git-send-pack git-cvsexportcommit \
        git-bfg git-imap-send git-http-push git-remote-http git-upload-pack git-receive-pack git-shell bfg
        git-rebase    none --abort|--continue|--skip|--show-current-patch|--quit
        git-subtree   none pull|add|split
        git-prune     none -n|--dry-run
        git-fetch     verb (?:\S+ )*\+\S*:refs/heads/\S*
        hg jj sl bzr fossil  verb strip|rollback|histedit|revert|purge|abandon|undo|restore|delete|rm|cleanup\
                      |backout|dcommit|rebase|hide|uncommit|remove
        svn           verb strip|rollback|histedit|revert|purge|abandon|delete|rm|cleanup|backout|forget|commit\
                      |dcommit|hide|uncommit|remove
    [git, outside] changes git history, the work tree or a remote
        git-push      none -n|--dry-run
        git-lfs       none install|ls-files|status|env|track|pull|fetch|checkout|version
        git-svn       none log|info|fetch|find-rev
        git-send-email git-p4 git-daemon
        hg jj sl bzr fossil svn  verb push
        jj            verb git push
    [credentials] shows or stores credentials
        git-credential git-credential-store
    [credentials] shows credentials
        git-config    any (?i:.*(?:credential|extraheader).*)  any --get|--get-all|--get-regexp|--list|-l|get|list\
                      |--get-urlmatch|--show-origin|--name-only|--get-color|--get-colorbool
        git-config    any (?i:.*(?:credential|extraheader).*)  has --get-regexp
    [hidden] opens files with a program
        git-difftool git-mergetool
        git-grep      any -[a-zA-Z]*O.*|--open.*
    [hidden] runs a program of the repository's settings
        git-log git-diff git-show git-shortlog git-stash git-whatchanged  any --(?:ext-diff|textconv).*
    [hidden] makes git run a program
        git-*         any --(?:upload-pack|receive-pack)\b.*|ext::.*
        git-archive git-clone git-fetch git-fetch-pack git-ls-remote git-pull git-push git-send-pack  any --exec\b.*
"""  # noqa: S608 - no SQL

PROGRAMS = Table(lambda: rows(_ROWS), _VALUES)
