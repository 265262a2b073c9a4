# Emulated labs on the kernel's bonding and on bridges that keep VLANs apart. The test sets WIRESPEED.
export XDG_RUNTIME_DIR=/run NO_COLOR=1

# bonded MODE FAULTS: two cables from a host to its switch, and one conversation. Its load is light: the guest's processor is slow.
bonded() {
    cat >s.toml <<X
link = [
  { name = "up{1..2}", from = "esx.nic{1..2}", to = "sw", rate = "2 MB/s" },
  { name = "down", from = "sw", to = "store", rate = "20 MB/s" },
]
scenario.title = "a bond"
team = [{ name = "both", host = "esx", members = ["nic1", "nic2"], mode = "$1" }]
switch = [{ name = "sw", emulate = true }]
host = [{ name = "esx", emulate = true, adapters = [{ name = "nic{1..2}" }] }]
array = [{ name = "store", emulate = true, embedded = { ports = [{ name = "p1" }], threads = 1 } }]
volume = [{ name = "v", array = "store", size = "2MiB" }]
vm = [{ name = "vm", host = "esx", disks = [{ lun = "store/v", adapter = "esx.both" }] }]
workload.w = { block = "8KiB", random = 100, depth = 1, think = "50ms", read = 50, verify = true }
[plan]
workload = "w"
on = "vm"
warmup = "1s"
measure = "22s"
faults = [${2:-}]
X
}

# tagged: two hosts and two ports of the array, each with one of the other in a VLAN, over two switches.
tagged() {
    cat >s.toml <<X
link = [
  { name = "up1", from = "h1.nic", to = "edge", vlan = 10 },
  { name = "up2", from = "h2.nic", to = "edge", vlan = 20 },
  { name = "up3", from = "h3.nic", to = "core", vlan = 10 },
  { name = "trunk", from = "edge", to = "core" },
  { name = "down1", from = "core", to = "store:0", vlan = 10 },
  { name = "down2", from = "core", to = "store:1", vlan = 20 },
]
scenario.title = "VLANs"
switch = [{ name = "edge", emulate = true }, { name = "core", emulate = true }]
host = [{ name = "h{1..3}", emulate = true, adapters = [{ name = "nic" }] }]
array = [{ name = "store", emulate = true, embedded = { ports = [{ name = "p{1..2}" }], threads = 1 } }]
volume = [{ name = "v{1..3}", array = "store", size = "1MiB" }]
vm = [{ name = "vm{1..3}", host = "h{1..3}", disks = [{ lun = "store/v{1..3}" }] }]
workload.w = { block = "16KiB", random = 100, depth = 1 }
plan = { workload = "w", on = "vm*", warmup = "1s", measure = "2s" }
X
}

up() {
    $WIRESPEED lab up s.toml >up 2>&1 || { cat up; return 1; }
}

# inside NODE COMMAND…: in the namespace of a node.
inside() {
    process=$(sed -n "s|^  $1 .*/proc/\([0-9]*\)/ns/net|\1|p" up)
    shift
    nsenter "--net=/proc/$process/ns/net" "$@"
}

holds() { grep -q -- "$1" "$2" || { cat "$2"; return 1; }; }

# bond MODE DRIVER WORD: the bond as the lab says and as the kernel tells of it, in whose name the word is.
bond() {
    bonded "$1"
    up
    holds "a bond ($2) of esx.nic1, esx.nic2" up
    inside esx cat /proc/net/bonding/t0 >bond
    holds "Bonding Mode: .*$3" bond
    [ "$(grep -c 'Slave Interface: p[01]' bond)" = 2 ]
    [ "$(grep -c '^MII Status: up' bond)" = 3 ]
    # The ends have agreed: both ports are in one aggregator.
    [ "$2" != 802.3ad ] || holds 'Number of ports: 2' bond
    [ "$2" != active-backup ] || holds 'Currently Active Slave: p0' bond
    $WIRESPEED lab down s.toml
}

bonds() {
    check "static: balance-xor" strict bond static balance-xor xor
    check "dynamic: 802.3ad, negotiated" strict bond dynamic 802.3ad 802.3ad
    check "adaptive: balance-alb" strict bond adaptive balance-alb adaptive
    check "failover: active-backup" strict bond failover active-backup fault-tolerance
    strict one_cable >one 2>&1 || { echo "FAIL: one conversation takes one cable"; cat one; failed=1; }
    return $failed
}

FAULTS='{ at = "3s", fail = "up1" }, { at = "9s", restore = "up1" }, { at = "15s", fail = "up2" }'

# The review of a run on a bond whose cables are cut in turns, for the test to read.
cut_in_turns() {
    bonded "$1" "$FAULTS"
    rm -f r.wsr*
    $WIRESPEED run s.toml --out r.wsr --quiet --format json 2>said || [ $? -eq 1 ] || { cat said; return 1; }
}

# What a port of the host has taken in, by the kernel's count, while a run goes on.
taken() { sed -n "s/^ *$1: *\([0-9]*\) .*/\1/p" "/proc/$process/net/dev"; }

running() { $WIRESPEED lab ls >up && grep -q "^  esx .*/proc/" up; }
moved() { [ $(($(taken p0) - first)) -gt 100000 ] || [ $(($(taken p1) - second)) -gt 100000 ]; }

# One conversation takes one cable in a direction, however free the other is.
one_cable() {
    bonded dynamic
    rm -f r.wsr*
    $WIRESPEED run s.toml --out r.wsr --quiet >said 2>&1 &
    load=$!
    within 60 running
    process=$(sed -n "s|^  esx .*/proc/\([0-9]*\)/ns/net|\1|p" up)
    first=0 second=0
    within 60 moved
    # What was sent while the ends agreed may have taken either.
    first=$(taken p0) second=$(taken p1)
    within 60 moved
    few=$(($(taken p0) - first)) many=$(($(taken p1) - second))
    [ $few -lt $many ] || { many=$few; few=$(($(taken p1) - second)); }
    echo "$many bytes and $few"
    kill -INT $load
    wait $load || true
    [ $((20 * few)) -lt $many ]
}

# Pings cross the address of a neighbour that the lab knows nothing of: what frames reach, not what is routed.
reaches() { inside "$1" ping -c 1 -W 2 "$2"; }
alone() { ! reaches "$1" "$2"; }

aside() {
    tagged
    up
    holds "VLANs 10, 20" up
    for n in 1 2 3; do inside h$n ip address add 192.168.7.$n/24 dev p0; done
}

vlans() {
    check "two VLANs over two switches stand" strict aside
    check "a host reaches another in its VLAN over a trunk" within 5 reaches h1 192.168.7.3
    check "it does not reach one in another VLAN" alone h1 192.168.7.2
    check "nor does that one reach it" alone h2 192.168.7.1
    $WIRESPEED lab down s.toml
    rm -f r.wsr*
    check "loads run in both VLANs" $WIRESPEED run s.toml --out r.wsr --quiet
    return $failed
}
