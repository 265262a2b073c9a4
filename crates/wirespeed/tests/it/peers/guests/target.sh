# Our disks under the kernel's initiator. A and B are the ports of two portals with groups 1 and 2; LUN 0 has 128 MiB in
# blocks of 512, thin, LUN 1 has 64 MiB in blocks of 4096, thin. C is a portal that demands CHAP.

node() { iscsiadm -m node -T "$IQN" -p "127.0.0.1:$1" -o update -n "$2" -v "$3"; }
login() { iscsiadm -m node -T "$IQN" -p "127.0.0.1:$1" --login; }
logout() { iscsiadm -m node -T "$IQN" -p "127.0.0.1:$1" --logout; }

discovery() {
    iscsiadm -m discovery -t st -p "127.0.0.1:$A" >/tmp/found
    grep -x "127.0.0.1:$A,1 $IQN" /tmp/found
    grep -x "127.0.0.1:$B,2 $IQN" /tmp/found
}

digests() {
    for port in $A $B; do
        node "$port" 'node.conn[0].iscsi.HeaderDigest' CRC32C
        node "$port" 'node.conn[0].iscsi.DataDigest' CRC32C
        login "$port"
    done
    iscsiadm -m session -P 2 | grep -c "Digest: CRC32C" | grep -x 4
    for port in $A $B; do within 20 device block 0 "$port"; within 20 device block 1 "$port"; done
}

identity() {
    sg_inq "$one" | grep "Vendor identification: WIRESPED"
    sg_vpd -p sn "$one" | tee /tmp/serial
    sg_vpd -p sn "$two" | cmp - /tmp/serial
    sg_vpd -p di "$one" | grep -A 1 NAA >/tmp/naa
    sg_vpd -p di "$two" | grep -A 1 NAA | cmp - /tmp/naa
    sg_vpd -p di "$one" | grep "$IQN,t,0x0001"
    sg_vpd -p di "$two" | grep "$IQN,t,0x0002"
    for page in 0x00 0x80 0x83 0x86 0x8f 0xb0 0xb1 0xb2; do sg_vpd -p $page "$one"; done
}

capacity() {
    sg_readcap -l "$one" | grep "Device size: 134217728 bytes"
    sg_readcap -l "$four" | grep "Logical block length=4096"
    blockdev --getsize64 "$four" | grep -x 67108864
    blockdev --getss "$four" | grep -x 4096
}

commands() {
    sg_opcodes "$one" >/tmp/commands
    for name in "Compare and write" "Unmap" "Write same(16)" "Extended copy" "Write(16)" "Sanitize, block erase" \
        "Persistent reserve out, register and move" "Set target port groups" "Get LBA status(16)"; do
        grep -F "$name" /tmp/commands
    done
    sg_modes -a "$one" | grep Caching
    sg_logs -a "$one"
    sg_luns "$one" | grep 0001000000000000
    sg_turs "$one"
    sg_requests "$one"
}

alua() {
    dmesg | grep "alua: supports implicit and explicit TPGS"
    sg_rtpg -d "$one" | grep -c "active/optimized" | grep -x 2
    sg_stpg --tp=2 --active "$one"
    sg_rtpg -d "$one" | grep -c "active/non optimized" | grep -x 1
    sg_stpg --tp=2 --optimized "$one"
}

data() {
    random /tmp/data 128
    dd if=/tmp/data of="$one" bs=1M oflag=direct
    dd if="$two" bs=1M count=8 iflag=direct | cmp - /tmp/data
    dd if=/tmp/data of="$four" bs=64k oflag=direct
    dd if="$four" bs=4k count=2048 iflag=direct | cmp - /tmp/data
    dd if=/tmp/data of="$one" bs=512 count=64 seek=99 oflag=direct,sync
    dd if="$two" bs=512 count=64 skip=99 iflag=direct >/tmp/back
    cmp -n 32768 /tmp/back /tmp/data
}

unmap() {
    dd if=/tmp/data of="$one" bs=1M oflag=direct
    blkdiscard -o 1M -l 4M "$one"
    dd if="$two" bs=1M skip=1 count=4 iflag=direct | cmp -n 4194304 - /dev/zero
    dd if="$two" bs=1M skip=5 count=3 iflag=direct >/tmp/back
    tail -c 3145728 /tmp/data | cmp - /tmp/back
    sg_get_lba_status --lba=2048 "$one" | grep "deallocated"
    sg_unmap --lba=12288 --num=64 -f "$one"
}

write_same() {
    blkdiscard -z -o 6M -l 1M "$one"
    dd if="$two" bs=1M skip=6 count=1 iflag=direct | cmp -n 1048576 - /dev/zero
    sg_write_same --10 -n 128 -i /tmp/data -l 100 --xferlen=512 "$one"
    sg_write_same --16 -n 128 -i /tmp/data -l 400 --xferlen=512 "$one"
    for block in 100 227 400 527; do
        dd if="$two" bs=512 skip=$block count=1 iflag=direct >/tmp/back
        cmp -n 512 /tmp/back /tmp/data
    done
    sg_write_same --16 -U -n 128 -i /dev/zero -l 400 --xferlen=512 "$one"
}

compare_and_write() {
    head -c 512 /tmp/data >/tmp/pair
    dd if="$one" bs=512 skip=4000 count=1 iflag=direct >/tmp/old
    cat /tmp/old /tmp/pair >/tmp/both
    sg_compare_and_write --in=/tmp/both --lba=4000 --num=1 --xferlen=1024 "$one"
    refused sg_compare_and_write --in=/tmp/both --lba=4000 --num=1 --xferlen=1024 "$two"
    dd if="$two" bs=512 skip=4000 count=1 iflag=direct | cmp - /tmp/pair
}

file_system() {
    mkfs.ext4 -q "$1"
    mkdir -p /mnt
    mount -t ext4 -o discard "$1" /mnt
    cp -r /usr/bin /mnt
    diff -r /usr/bin /mnt/bin
    rm -r /mnt/bin
    cp /tmp/data /mnt/data
    fstrim /mnt
    umount /mnt
    e2fsck -f -n "$1"
    mount -t ext4 "$1" /mnt
    cmp /mnt/data /tmp/data
    umount /mnt
}

# Through two ports the guest is two initiators: a registration holds for one nexus.
reservations() {
    sg_persist --out --register --param-sark=0xa1 "$one"
    sg_persist --out --reserve --param-rk=0xa1 --prout-type=5 "$one"
    sg_persist --in --read-reservation "$two" | grep "Write Exclusive, registrants only"
    dd if="$two" bs=4k count=1 iflag=direct >/tmp/back
    refused dd if=/tmp/data of="$two" bs=4k count=1 oflag=direct
    dmesg | grep -i "reservation conflict"
    sg_persist --out --register --param-sark=0xb2 "$two"
    dd if=/tmp/data of="$two" bs=4k count=1 oflag=direct
    sg_persist --out --preempt --param-rk=0xb2 --param-sark=0xa1 --prout-type=5 "$two"
    sg_persist --in --read-full-status "$two" | grep "Key=0xb2"
    refused sg_persist --out --release --param-rk=0xa1 --prout-type=5 "$one"
    refused dd if=/tmp/data of="$one" bs=4k count=1 oflag=direct
    sg_persist --out --clear --param-rk=0xb2 "$two"
    sg_persist --in --read-keys "$one" | grep "there are NO registered reservation keys"
    dd if=/tmp/data of="$one" bs=4k count=1 oflag=direct
}

resets() {
    sg_reset -d "$one"
    dd if=/tmp/data of="$one" bs=64k count=16 oflag=direct
    dd if="$two" bs=64k count=16 iflag=direct >/tmp/back
    cmp -n 1048576 /tmp/back /tmp/data
    sg_reset -t "$two"
    sg_turs "$two" || sg_turs "$two"
}

again() {
    logout "$A"
    logout "$B"
    refused iscsiadm -m session
    login "$A"
    within 20 device block 0 "$A"
    logout "$A"
}

# A file system that is written to all the time, on LUN 0 of A: `small`, then the target makes the LUN larger, then `large`.
small() {
    login "$A"
    within 20 device block 0 "$A"
    one=$(device block 0 "$A")
    blockdev --getsize64 "$one" | grep -x 134217728
    mkfs.ext4 -q "$one"
    mount -t ext4 "$one" /mnt
    cp /tmp/data /mnt/data
    touch /tmp/busy
    while [ -e /tmp/busy ]; do dd if=/tmp/data of=/mnt/busy bs=64k count=16 conv=fsync; done >/tmp/dd 2>&1 </dev/null &
}

large() {
    one=$(device block 0 "$A")
    # The kernel hears of it by a write, and looks again where it is told to.
    within 20 sh -c "dmesg | grep 'Capacity data has changed'"
    echo 1 >"/sys/block/${one##*/}/device/rescan"
    blockdev --getsize64 "$one" | grep -x 201326592
    resize2fs "$one"
    [ "$(df -k /mnt | awk 'END { print $2 }')" -gt 160000 ]
    rm /tmp/busy
    within 20 sh -c "! pidof dd"
    ! grep -i error /tmp/dd
    dd if=/dev/urandom of=/mnt/more bs=64k count=2000
    sync
    cmp /mnt/data /tmp/data
    umount /mnt
    e2fsck -f -n "$one"
    logout "$A"
}

auth() { iscsiadm -m discoverydb -t st -p "127.0.0.1:$C" -o update -n "discovery.sendtargets.auth.$1" -v "$2"; }
of_c() { node "$C" "node.session.auth.$1" "$2"; }

discovery_by_chap() {
    iscsiadm -m discoverydb -t st -p "127.0.0.1:$C" -o new
    refused iscsiadm -m discoverydb -t st -p "127.0.0.1:$C" --discover
    auth authmethod CHAP
    auth username host
    auth password initiator-secret
    iscsiadm -m discoverydb -t st -p "127.0.0.1:$C" --discover | grep -x "127.0.0.1:$C,1 $IQN"
}

chap() {
    refused login "$C"
    of_c authmethod CHAP
    of_c username host
    of_c password not-the-secret-1
    refused login "$C"
    of_c password initiator-secret
    login "$C"
    within 20 device block 0 "$C"
    logout "$C"
}

mutual_chap() {
    of_c username_in array
    of_c password_in not-the-secret-2
    refused login "$C"
    of_c password_in target-secret-22
    login "$C"
    within 20 device block 0 "$C"
    dd if="$(device block 0 "$C")" of=/tmp/back bs=64k count=16 iflag=direct
    logout "$C"
}

all() {
    initiator
    check "discovery by SendTargets: portals and portal groups" strict discovery
    check "login; CRC32C digests of headers and data" strict digests
    export one=$(device block 0 "$A") two=$(device block 0 "$B") four=$(device block 1 "$A")
    check "INQUIRY and vital product data (sg_inq, sg_vpd)" strict identity
    check "capacity, blocks of 512 and 4096 bytes" strict capacity
    check "supported commands, modes, logs, LUNs (sg_opcodes and others)" strict commands
    check "ALUA: read by the kernel, set by sg_stpg" strict alua
    check "data written by one portal, read by the other" strict data
    check "UNMAP (blkdiscard, sg_unmap), GET LBA STATUS" strict unmap
    check "WRITE SAME (blkdiscard -z, sg_write_same)" strict write_same
    check "COMPARE AND WRITE" strict compare_and_write
    check "ext4 with discard, fstrim, fsck, blocks of 512" strict "file_system $one"
    check "ext4 with discard, fstrim, fsck, blocks of 4096" strict "file_system $four"
    check "persistent reservations (sg_persist)" strict reservations
    check "LUN reset and target reset (sg_reset)" strict resets
    check "logout, and login again" strict again
    check "discovery by CHAP" strict discovery_by_chap
    check "CHAP; refused without, and with a wrong secret" strict chap
    check "mutual CHAP; refused where the target's secret is wrong" strict mutual_chap
    return $failed
}

before_growth() {
    strict small || { echo "no file system"; return 1; }
}

after_growth() {
    check "a LUN grows in use: rescan, resize2fs, fsck" strict large
    return $failed
}
