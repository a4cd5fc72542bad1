"""Programs that only write down how they were called: for what is not installed, and what must not run."""

from __future__ import annotations

from pathlib import Path

_CONTAINERS = (
    "docker docker-compose podman nerdctl ctr kubectl helm kind minikube vagrant virsh VBoxManage lxc multipass nomad"
)
_CLOUDS = (
    "aws gcloud gsutil az doctl heroku flyctl fly vercel netlify wrangler supabase firebase eksctl oci linode-cli"
    " hetzner-cli acmectl runnerctl terraform tofu terragrunt pulumi cdk ansible consul vault rclone mc restic borg"
    " bq serverless eas influx etcdctl rabbitmqctl kafka-topics.sh"
)
_SERVICES = (
    "systemctl service shutdown reboot halt poweroff init telinit loginctl launchctl rc-service supervisorctl pm2"
    " nginx brew dbus-send osascript systemd-run update-rc.d crontab at batch schtasks chsh screen tmux"
)
_SYSTEM = (
    "mount umount swapoff lvremove vgremove pvremove zfs zpool btrfs parted sgdisk sfdisk fdisk cryptsetup mdadm"
    " tune2fs resize2fs fsck hdparm nvme losetup sysctl modprobe insmod mkfs mkfs.ext4 mkfs.vfat mke2fs mkswap wipefs"
    " blkdiscard chown chgrp setfacl chattr setcap usermod passwd useradd userdel groupdel chpasswd setenforce chcon"
    " xattr update-alternatives iptables ufw ip fuser lsof taskkill killall5 xkill strace busybox gdb apt apt-get"
    " apt-key dnf pacman dpkg visudo gpg security ssh-keygen ssh-copy-id"
)
_DATABASES = (
    "psql dropdb dropuser mysql mysqladmin mariadb mongosh mongo redis-cli valkey-cli clickhouse-client cqlsh duckdb"
    " sqlcmd sqlplus rails bundle alembic"
)
_PUBLISHING = (
    "npm npx yarn pnpm bun deno twine uv poetry flit hatch cargo gem mvn gradle dotnet nuget vsce dart composer mix"
    " luarocks conda-upload anaconda gh glab pip ipython"
)
_NETWORK = "curl wget http https xh ssh scp sshpass rsync nc ncat socat telnet dig host lynx fetch pass op pwsh"
_OTHERS = "sudo doas jj hg svn jshell"
NAMES = tuple(
    f"{_CONTAINERS} {_CLOUDS} {_SERVICES} {_SYSTEM} {_DATABASES} {_PUBLISHING} {_NETWORK} {_OTHERS}".split()
)
WHERE = "/stubs"
LOG = "/record/calls"

_SCRIPT = r"""#!/bin/sh
name=${0##*/}
came=
case $name in sudo|doas) ;; *) came=$(head -c 4096) ;; esac
printf '%s\n' "$name $*
$came" >> /record/calls
page='echo ran >> /home/dev/.remote-ran'
base() { last=; for each; do case $each in -*) ;; *) last=$each ;; esac; done; printf '%s' "${last##*/}"; }
case $name in
sudo|doas)
    while :; do
        case $1 in -u|-g) shift 2 ;; --) shift; break ;; -*|*=*) shift ;; *) break ;; esac
    done
    exec "$@" ;;
curl)
    target=
    all=$(base "$@")
    while [ $# -gt 0 ]; do
        case $1 in --output) target=$2 ;; --*) ;; -*o) target=$2 ;; -*O) target=$all ;; esac
        shift
    done
    if [ -n "$target" ]; then printf '%s\n' "$page" > "$target"; else printf '%s\n' "$page"; fi ;;
wget)
    target=$(base "$@")
    while [ $# -gt 0 ]; do
        case $1 in --*) ;; -*O-) target=- ;; -*O) target=$2 ;; esac
        shift
    done
    if [ "$target" = - ]; then printf '%s\n' "$page"; else printf '%s\n' "$page" > "$target"; fi ;;
docker|kubectl|redis-cli)
    case " $* " in *' -q '*|*' get '*|*' --scan '*) echo abc123 ;; esac ;;
esac
exit 0
"""


def write(folder: Path) -> None:
    """Put the stubs into `folder`, which is to be mounted at `WHERE` and to come first on PATH."""
    folder.mkdir()
    script = folder / ".stub"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    for name in NAMES:
        (folder / name).symlink_to(".stub")
