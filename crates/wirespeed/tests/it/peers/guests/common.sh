# What the scripts of all guests share. Each runs in the guest behind this one, with the variables that the test sets before.
failed=0

# check NAME COMMAND…: what must succeed. A line for the test, and where it fails, what was said.
check() {
    name=$1
    shift
    if "$@" >/tmp/check 2>&1; then
        echo "pass: $name"
    else
        echo "FAIL: $name"
        cat /tmp/check
        dmesg | tail -n 5
        failed=1
    fi
}

# Everything that a function does must succeed, in a shell of its own.
strict() { sh -eu -c ". /peers/common.sh; . /peers/$script.sh; $*"; }

refused() { ! "$@"; }

# within SECONDS COMMAND…: it succeeds sooner or later.
within() {
    tries=$1
    shift
    while ! "$@" >/tmp/within 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || { echo "not in time: $*"; cat /tmp/within; return 1; }
        sleep 1
    done
}

# The initiator of the kernel, with open-iscsi's daemon. Arguments are lines of its configuration.
initiator() {
    mkdir -p /etc/iscsi /run/lock/iscsi /var/lib/iscsi
    echo "InitiatorName=iqn.2026-11.example.wirespeed:guest" >/etc/iscsi/initiatorname.iscsi
    printf '%s\n' "node.startup = manual" "$@" >/etc/iscsi/iscsid.conf
    iscsid
}

# session PORT: the session of a portal.
session() {
    for one in /sys/class/iscsi_connection/connection*; do
        [ "$(cat "$one/persistent_port")" = "$1" ] || continue
        one=${one##*connection}
        echo "/sys/class/iscsi_session/session${one%%:*}"
    done
}

# device CLASS LUN PORT: the device file of a unit by the session of a portal; fails where there is none.
device() {
    for one in "$(session "$3")"/device/target*/*:*:*:"$2/$1"/*; do
        [ -e "$one" ] && echo "/dev/${one##*/}" && return
    done
    return 1
}

random() { dd if=/dev/urandom of="$1" bs=64k count="$2" 2>/tmp/random; }
