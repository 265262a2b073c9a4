#!/bin/sh
# The first process of a guest with a shell: takes scripts from the port `shell`, a line with their length before each, and
# answers with a line of exit code and length, and the output.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C TZ=UTC
/bin/busybox mkdir -p /usr/sbin /usr/bin /sbin /bin /run /etc /root /var/lib /mnt
/bin/busybox --install -s /bin 2>/tmp/install
mount -t devtmpfs dev /dev 2>/tmp/mounts
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/pts /dev/shm /run/lock
mount -t devpts pts /dev/pts
while read -r module; do
    insmod "/guest/modules/$module" || echo "the module $module does not load"
done </guest/modules/order
[ -d /sys/kernel/config ] && mount -t configfs none /sys/kernel/config
# The host's loopback is the guest's network.
echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet
ip link set eth0 up
ip address add 127.0.0.15/8 dev eth0
hostname guest
echo 'root:x:0:0:root:/root:/bin/sh' >/etc/passwd
echo 'root:x:0:' >/etc/group
echo '127.0.0.15 guest' >/etc/hosts

port=
while [ -z "$port" ]; do
    for one in /sys/class/virtio-ports/*; do
        [ "$(cat "$one/name" 2>&1)" = shell ] && port=/dev/${one##*/}
    done
done
exec 3<>"$port"
echo ready >&3
while read -r length <&3; do
    head -c "$length" <&3 >/tmp/script
    sh /tmp/script >/tmp/output 2>&1 </dev/null 3>&-
    code=$?
    printf '%s %s\n' "$code" "$(stat -c %s /tmp/output)" >&3
    cat /tmp/output >&3
done
poweroff -f
