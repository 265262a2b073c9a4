# dm-multipath over two portals, A and B, with multipathd and a verified load; a port at a time is lost and returns. The test
# stops and starts the ports, and calls the functions below in between.

configure() {
    cat >/etc/multipath.conf <<X
overrides {
    uid_attribute ""
}
defaults {
    find_multipaths no
    polling_interval 1
    max_polling_interval 1
    path_grouping_policy multibus
    no_path_retry queue
    user_friendly_names yes
}
X
    mkdir -p /etc/multipath
}

# No udev here: paths are named to the daemon.
joined() {
    for port in $A $B; do
        disk=$(device block 0 "$port") || return 1
        multipathd add path "${disk#/dev/}"
    done
    both_active
}

# The kernel's view of the map: a path is A or F.
states() { dmsetup status mpatha | grep -o ' [0-9]*:[0-9]* [AF] ' | tr -d '\n'; }
both_active() { [ "$(states | grep -o A | wc -l)" = 2 ]; }
one_failed() { [ "$(states | grep -o F | wc -l)" = 1 ]; }

# A load that reads back each write and compares it, in a range of its own. It rests between: no test waits for its rate.
load() {
    random "/tmp/data$1" 16
    round=0
    while [ ! -e /tmp/stop ]; do
        at=$(($1 * 256 + round % 64))
        dd if="/tmp/data$1" of=/dev/dm-0 bs=64k seek=$at oflag=direct 2>"/tmp/said$1" || cat "/tmp/said$1"
        dd if=/dev/dm-0 bs=64k skip=$at count=16 iflag=direct 2>"/tmp/said$1" | cmp - "/tmp/data$1" || echo "block $at differs"
        round=$((round + 1))
        echo $round >"/tmp/round$1"
        sleep 1
    done
}

rounds() { cat "/tmp/round$1"; }
beyond() { [ "$(rounds 0)" -gt "$1" ] && [ "$(rounds 1)" -gt "$2" ]; }
# Both loads get further, twice: what began before does not count.
carries() { within 60 beyond $(($(rounds 0) + 1)) $(($(rounds 1) + 1)); }

begin() {
    initiator "node.conn[0].timeo.noop_out_interval = 1" "node.conn[0].timeo.noop_out_timeout = 2" \
        "node.session.timeo.replacement_timeout = 1"
    iscsiadm -m discovery -t st -p "127.0.0.1:$A" >/tmp/found
    iscsiadm -m node --login >/tmp/login
    within 20 device block 0 "$A" && within 20 device block 0 "$B"
    configure
    multipathd >/tmp/multipathd 2>&1
    check "dm-multipath: one map over two portals (multipathd)" within 30 joined
    echo 0 >/tmp/round0
    echo 0 >/tmp/round1
    for n in 0 1; do load $n >/tmp/load$n 2>&1 & done
    check "a verified load through both paths" carries
    return $failed
}

lost() {
    check "a path is lost: the kernel fails it" within 60 one_failed
    check "the load goes on through the other path" carries
    return $failed
}

back() {
    check "the path returns: multipathd takes it back" within 90 both_active
    return $failed
}

quiet() { [ ! -s /tmp/load0 ] && [ ! -s /tmp/load1 ]; }

end() {
    check "the load goes on through both paths" carries
    touch /tmp/stop
    sleep 2
    cat /tmp/load0 /tmp/load1
    check "no write failed, no block differs" quiet
    echo "rounds: $(rounds 0) and $(rounds 1)"
    return $failed
}
