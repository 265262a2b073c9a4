# The kernel's target, LIO, set up by its file system of settings: a disk of 64 MiB, in two portal groups of one portal each,
# at ports 3260 and 3261, which are two ALUA groups; and a portal at 3262 that demands mutual CHAP.

core=/sys/kernel/config/target/core
iscsi=/sys/kernel/config/target/iscsi
at=127.0.0.15
initiator=iqn.2026-11.example.wirespeed:host

# group TARGET TAG PORT: a portal group, for one initiator.
group() {
    tpg=$iscsi/$1/tpgt_$2
    mkdir -p "$tpg" "$tpg/lun/lun_0" "$tpg/np/$at:$3"
    ln -s $core/fileio_0/disk "$tpg/lun/lun_0/disk"
    echo 0 >"$tpg/attrib/authentication"
    mkdir -p "$tpg/acls/$initiator/lun_0"
    ln -s "$tpg/lun/lun_0" "$tpg/acls/$initiator/lun_0/disk"
    echo 0 >"$tpg/acls/$initiator/lun_0/write_protect"
}

# alua TAG NAME: an ALUA group of its own for a portal group.
alua() {
    mkdir -p "$core/fileio_0/disk/alua/$2"
    echo "$1$1" >"$core/fileio_0/disk/alua/$2/tg_pt_gp_id"
    echo 3 >"$core/fileio_0/disk/alua/$2/alua_access_type"
    echo "$2" >"$iscsi/$IQN/tpgt_$1/lun/lun_0/alua_tg_pt_gp"
}

serve() {
    # Where it keeps reservations over a loss of power.
    mkdir -p /var/target/pr /etc/target/pr
    mkdir -p $core/fileio_0/disk $iscsi
    echo "fd_dev_name=/tmp/disk,fd_dev_size=${SIZE:-67108864}" >$core/fileio_0/disk/control
    echo WIRESPEED-PEER-1 >$core/fileio_0/disk/wwn/vpd_unit_serial
    echo 1 >$core/fileio_0/disk/enable
    echo 1 >$core/fileio_0/disk/attrib/emulate_tpu
    group "$IQN" 1 3260
    group "$IQN" 2 3261
    alua 1 first
    alua 2 second
    echo 1 >"$iscsi/$IQN/tpgt_1/enable"
    echo 1 >"$iscsi/$IQN/tpgt_2/enable"
    group "$IQN-chap" 1 3262
    echo 1 >"$iscsi/$IQN-chap/tpgt_1/attrib/authentication"
    for pair in userid=host password=initiator-secret userid_mutual=array password_mutual=target-secret-22; do
        printf %s "${pair#*=}" >"$iscsi/$IQN-chap/tpgt_1/acls/$initiator/auth/${pair%%=*}"
        printf %s "${pair#*=}" >"$iscsi/discovery_auth/${pair%%=*}"
    done
    echo 1 >"$iscsi/$IQN-chap/tpgt_1/enable"
}

# state NAME VALUE: 0 is active/optimized, 1 active/non-optimized, 2 standby, 3 unavailable.
state() { echo "$2" >"$core/fileio_0/disk/alua/$1/alua_access_state"; }

# The second portal group is switched off, its sessions end; and on.
off() { echo 0 >"$iscsi/$IQN/tpgt_2/enable"; }
on() { echo 1 >"$iscsi/$IQN/tpgt_2/enable"; }

begin() {
    check "LIO serves" strict serve
    return $failed
}

# What lies behind the unit, by a name; a change of its first block; and a digest of all of it.
put() {
    dd if=/dev/zero of=/tmp/disk bs=64k count=$((SIZE / 65536)) conv=notrunc 2>/tmp/put
    case $1 in
    blank) ;;
    text) busybox yes "precious data of somebody" | busybox head -c "$SIZE" | dd of=/tmp/disk bs=64k conv=notrunc iflag=fullblock 2>/tmp/put ;;
    ext2) busybox mke2fs -F /tmp/disk >/tmp/put ;;
    swap) busybox mkswap /tmp/disk >/tmp/put ;;
    *) return 1 ;;
    esac
    busybox sync
}

change() { echo "written after the plan" | dd of=/tmp/disk bs=512 seek=4 conv=notrunc,sync 2>/tmp/put; }
digest() { busybox sha256sum /tmp/disk; }
