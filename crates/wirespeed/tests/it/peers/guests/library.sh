# Our tape library under the kernel's st and ch drivers: two drives, six slots, five cartridges of 8 MiB, LTO-6, at port A.

tape=/dev/nst0

changer() {
    for one in /sys/class/scsi_generic/sg*; do
        [ "$(cat "$one/device/type")" = 8 ] && echo "/dev/${one##*/}"
    done
}
m() { mtx -f "$changer" "$@"; }
t() { mt-st -f $tape "$@"; }
holds() { m status | grep -F "$1"; }
at() { t tell | grep -x "At block $1\."; }
file() { t status | grep "File number=$1, block number=$2"; }

attach() {
    iscsiadm -m discovery -t st -p "127.0.0.1:$A"
    iscsiadm -m node --login
    within 20 test -e /dev/nst1
    within 20 test -e /dev/sch0
    sg_inq "$tape" | grep "LTO-6 virtual"
    dmesg | grep "ch0.*0x400+6 .storage"
}

moves() {
    m inquiry | grep "Medium Changer"
    holds "Storage Element 5:Full :VolumeTag=WSP005L6"
    m load 1 0
    m load 2 1
    holds "Data Transfer Element 0:Full (Storage Element 1 Loaded):VolumeTag = WSP001L6"
    m transfer 3 6
    holds "Storage Element 6:Full :VolumeTag=WSP003L6"
    m transfer 6 3
    m unload 2 1
    holds "Storage Element 2:Full :VolumeTag=WSP002L6"
    m transfer 5 8
    holds "Storage Element 8 IMPORT/EXPORT:Full :VolumeTag=WSP005L6"
    m transfer 8 5
    m inventory
    refused m load 6 1
    refused m load 2 0
}

state() {
    t status >/tmp/status
    grep "BOT ONLINE IM_REP_EN" /tmp/status
    grep "Density code 0x5a" /tmp/status
    grep "Tape block size 0 bytes" /tmp/status
    sg_logs -p 0x2e /dev/sg1
    sg_modes -a /dev/sg1
}

# Four files of one to four blocks of 64 KiB: blocks 0, 2-3, 5-7, 9-12; filemarks 1, 4, 8, 13.
positions() {
    t rewind
    random /tmp/data 16
    for count in 1 2 3 4; do dd if=/tmp/data of=$tape bs=64k count=$count; done
    at 14
    file 4 0
    t rewind
    at 0
    t fsf 2
    at 5
    dd if=$tape of=/tmp/back bs=64k
    cmp -n 196608 /tmp/back /tmp/data
    test "$(stat -c %s /tmp/back)" = 196608
    t bsf 2
    at 4
    t fsfm 1
    at 4
    t seek 2
    at 2
    t fsr 1
    at 3
    t bsr 1
    at 2
    # A filemark ends it.
    refused t bsr 1
    at 1
    t asf 3
    at 9
    t eod
    at 14
    t weof 2
    at 16
    t rewind
    t fsf 3
    dd if=$tape of=/tmp/back bs=64k count=1
    cmp -n 65536 /tmp/back /tmp/data
}

blocks() {
    t rewind
    t setblk 512
    dd if=/tmp/data of=$tape bs=64k count=3
    at 385
    t rewind
    dd if=$tape bs=64k count=3 >/tmp/back
    head -c 196608 /tmp/data | cmp - /tmp/back
    t status | grep "Tape block size 512 bytes"
    t setblk 0
    t rewind
    dd if=/tmp/data of=$tape bs=100 count=3
    t rewind
    refused dd if=$tape bs=99 count=1
    t rewind
    dd if=$tape bs=1M count=1 of=/tmp/back
    test "$(stat -c %s /tmp/back)" = 100
}

settings() {
    t compression 1
    sg_modes -p 0x0f /dev/sg1
    t compression 0
    t lock
    refused m unload 1 0
    t unlock
    t drvbuffer 1
    t densities
    t rewind
    t erase
    t rewind
    t eod
    at 0
    sg_persist --in --read-keys /dev/sg1
}

# Until no more fits, and back.
end_of_medium() {
    random /tmp/much 160
    t rewind
    refused dd if=/tmp/much of=$tape bs=64k
    t status | grep -E "EOT|EOD|File number=0|File number=1"
    t weof 1
    t rewind
    dd if=$tape of=/tmp/back bs=64k
    size=$(stat -c %s /tmp/back)
    test "$size" -gt 7000000
    cmp -n "$size" /tmp/much /tmp/back
}

eject() {
    t offline
    t status | grep DR_OPEN
    m unload 1 0
    m load 1 0
    within 10 t status
    t rewind
}

# The next slot's cartridge, when tar asks.
next() {
    cat >/tmp/next <<'X'
#!/bin/sh
slot=$(cat /tmp/slot)
exec >>/tmp/changes 2>&1
mt-st -f /dev/nst0 offline
mtx -f "$changer" unload "$slot" 0
echo $((slot + 1)) >/tmp/slot
mtx -f "$changer" load $((slot + 1)) 0
X
    chmod +x /tmp/next
    echo 1 >/tmp/slot
}

first_again() {
    t offline
    m unload "$(cat /tmp/slot)" 0
    m load 1 0
    echo 1 >/tmp/slot
}

volumes() {
    next
    mkdir -p /tmp/tree/deep /tmp/restored
    for n in 1 2 3 4; do random /tmp/tree/deep/$n 72; done
    echo small >/tmp/tree/small
    tar -b 128 -M -F /tmp/next -cf $tape -C /tmp tree
    test "$(cat /tmp/slot)" = 3
    first_again
    tar -b 128 -M -F /tmp/next -xf $tape -C /tmp/restored
    test "$(cat /tmp/slot)" = 3
    diff -r /tmp/tree /tmp/restored/tree
    t offline
    m unload 3 0
}

two_drives() {
    m load 4 0
    m load 5 1
    dd if=/tmp/much of=/dev/nst0 bs=256k count=16 2>/tmp/first &
    dd if=/tmp/much of=/dev/nst1 bs=128k count=32
    wait
    mt-st -f /dev/nst0 rewind
    mt-st -f /dev/nst1 rewind
    dd if=/dev/nst0 bs=256k of=/tmp/back
    cmp -n 4194304 /tmp/back /tmp/much
    dd if=/dev/nst1 bs=128k of=/tmp/back
    cmp -n 4194304 /tmp/back /tmp/much
}

all() {
    initiator
    check "the drivers st and ch attach" strict attach
    export changer=$(changer)
    check "changer: load, unload, transfer, import and export, inventory (mtx)" strict moves
    check "drive: status, density, TapeAlert, mode pages (mt, sg3-utils)" strict state
    check "positions: fsf, bsf, fsfm, fsr, bsr, asf, eod, tell, seek, weof" strict positions
    check "blocks: fixed and variable, too short a read" strict blocks
    check "compression, lock, buffering, erase (mt)" strict settings
    check "end of medium: dd until the cartridge is full, all of it read back" strict end_of_medium
    check "offline, unload, load again" strict eject
    check "tar: an archive over three cartridges, restored and identical" strict volumes
    check "two drives at once" strict two_drives
    return $failed
}
