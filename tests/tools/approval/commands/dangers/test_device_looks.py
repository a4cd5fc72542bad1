"""The forms of tools for disks that only look: one word of another form does not make one of them."""

from tests.support.each import each
from tests.tools.approval.commands.dangers.scene import families


@each(
    "command",
    [
        "mdadm --detail --scan",
        "mdadm -Es",
        "cryptsetup luksDump /dev/sdb",
        "zpool iostat -v",
        "zfs get compression tank",
        "btrfs filesystem usage /",
        "dmsetup table",
        "losetup --list",
        "swapon --show",
        "wipefs /dev/sda",
        "tune2fs -l /dev/sda1",
        "e2fsck -n /dev/sda1",
        "hdparm -tT /dev/sda",
        "nvme smart-log /dev/nvme0",
        "sfdisk -d /dev/sda",
        "parted -s /dev/sda unit s print free",
        "modprobe --dry-run foo",
        "diskutil apfs list",
        "lvremove --help",
    ],
)
def test_a_look_is_no_danger(command):
    assert "device" not in families(command)


@each(
    "command",
    [
        "mdadm --assemble --scan",
        "mdadm --stop /dev/md0",
        "mdadm --detail --stop /dev/md0",
        "e2fsck -n -y /dev/sda1",
        "parted /dev/sda print rm",
        "cryptsetup luksDump --dump-volume-key /dev/sdb",
        "cryptsetup close list",
        "zpool destroy list",
        "zfs destroy -r tank/get",
        "btrfs subvolume delete /mnt/list",
        "btrfs device stats -z /",
        "dmsetup remove info",
        "losetup -d /dev/loop0",
        "losetup /dev/loop0 disk.img",
        "swapon -a",
        "tune2fs -O ^has_journal /dev/sda1",
        "e2fsck -fy /dev/sda1",
        "hdparm -W0 /dev/sda",
        "nvme reset /dev/nvme0",
        "sgdisk -d 1 /dev/sda",
        "parted /dev/sda print rm 1",
        "parted -s /dev/sda set 1 boot on",
        "modprobe -r foo",
        "diskutil apfs deleteContainer disk1",
        "lvremove vg/list",
    ],
)
def test_what_changes_is_a_danger_whatever_it_is_called_with(command):
    assert "device" in families(command)
