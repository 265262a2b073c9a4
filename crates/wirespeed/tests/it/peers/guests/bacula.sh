# Bacula of Debian 12 with our tape library: two drives with a changer at port A, $CARTRIDGES cartridges for $MEGABYTES of files.
# Two jobs at once, each with a pool of its own and so with a drive of its own; each goes on from cartridge to cartridge.

conf=/tmp/bacula
half=$((CARTRIDGES / 2))

changer() {
    for one in /sys/class/scsi_generic/sg*; do
        [ "$(cat "$one/device/type")" = 8 ] && echo "/dev/${one##*/}"
    done
}

attach() {
    inside
    iscsiadm -m discovery -t st -p "127.0.0.1:$A"
    iscsiadm -m node --login
    within 60 test -e /dev/nst1
    within 60 test -n "$(changer)"
    mtx -f "$(changer)" status | grep "2 Drives"
}

# The daemons speak to each other inside the guest; 127.0.0.1 stays the host's.
inside() {
    ip link set lo up
    ip address del 127.0.0.1/8 dev lo
    ip address add 10.0.0.1/32 dev lo
    ip route replace 127.0.0.0/8 dev eth0
}

data() {
    mkdir -p /tmp/data/one/deep /tmp/data/two /tmp/restored
    random /tmp/base 64
    files=$((MEGABYTES / 8))
    for n in $(seq $files); do
        if [ $((n % 2)) = 0 ]; then to=/tmp/data/one/deep; else to=/tmp/data/two; fi
        { echo "file $n"; cat /tmp/base; seq "$n" "$((n + 50))"; cat /tmp/base; } >$to/$n
    done
    ln -s deep /tmp/data/one/link
    : >/tmp/data/two/empty
    chmod 600 /tmp/data/two/empty
    du -sm /tmp/data
}

job() {
    echo "Job { Name = $1; Type = Backup; Level = Full; Client = fd; FileSet = $1; Storage = library; Pool = $1; Messages = all }"
    echo "FileSet { Name = $1; Include { Options { signature = SHA1 }; File = /tmp/data/$1 } }"
    echo "Pool { Name = $1; Pool Type = Backup; Recycle = no; AutoPrune = no }"
}

drive() {
    cat <<X
Device {
  Name = drive$1; Media Type = LTO; Archive Device = /dev/nst$1; Drive Index = $1; Autochanger = yes
  Automatic Mount = yes; Always Open = yes; Removable Media = yes; Random Access = no; Maximum Block Size = 262144
}
X
}

configure() {
    data
    mkdir -p $conf /var/lib/bacula /run/bacula /usr/bin
    ln -sf "$(command -v mt-st)" /usr/bin/mt
    chmod +x /etc/bacula/scripts/mtx-changer
    sed 's/XXX_DBNAME_XXX/bacula/' /usr/share/bacula-director/make_sqlite3_tables | sh
    dirs='Working Directory = /var/lib/bacula; Pid Directory = /run/bacula'
    cat >$conf/dir.conf <<X
Director { Name = dir; DIRport = 9101; DirAddress = 10.0.0.1; Password = p; QueryFile = /etc/bacula/scripts/query.sql
  $dirs; Maximum Concurrent Jobs = 4; Messages = all }
Catalog { Name = catalog; dbname = bacula; user = root; password = "" }
Messages { Name = all; catalog = all; append = "/tmp/bacula.log" = all }
Client { Name = fd; Address = 10.0.0.1; FDPort = 9102; Password = p; Catalog = catalog; Maximum Concurrent Jobs = 4 }
Autochanger { Name = library; Address = 10.0.0.1; SDPort = 9103; Password = p; Device = library; Media Type = LTO
  Autochanger = library; Maximum Concurrent Jobs = 4 }
Job { Name = restore; Type = Restore; Client = fd; FileSet = one; Storage = library; Pool = one; Messages = all
  Where = /tmp/restored }
$(job one)
$(job two)
X
    cat >$conf/sd.conf <<X
Storage { Name = sd; SDPort = 9103; SDAddress = 10.0.0.1; $dirs; Maximum Concurrent Jobs = 8 }
Director { Name = dir; Password = p }
Messages { Name = all; director = dir = all }
Autochanger { Name = library; Device = drive0, drive1; Changer Device = $(changer)
  Changer Command = "/etc/bacula/scripts/mtx-changer %c %o %S %a %d" }
$(drive 0)
$(drive 1)
X
    cat >$conf/fd.conf <<X
FileDaemon { Name = fd; FDport = 9102; FDAddress = 10.0.0.1; $dirs; Maximum Concurrent Jobs = 8 }
Director { Name = dir; Password = p }
Messages { Name = all; director = dir = all }
X
    echo 'Director { Name = dir; DIRport = 9101; address = 10.0.0.1; Password = p }' >$conf/console.conf
    bacula-sd -c $conf/sd.conf
    bacula-fd -c $conf/fd.conf
    bacula-dir -c $conf/dir.conf
    within 60 says "status client=fd" "fd Version"
    within 60 says "status storage=library" "sd Version"
}

# Commands of the console, one a line; what it says.
console() { printf '%s\n' "$@" | bconsole -c $conf/console.conf; }
says() { console "$1" | grep -i "$2"; }

label() {
    console "label barcodes storage=library pool=one drive=0 slots=1-$half" yes
    console "label barcodes storage=library pool=two drive=0 slots=$((half + 1))-$CARTRIDGES" yes
    console "list volumes" >/tmp/volumes
    cat /tmp/volumes
    [ "$(grep -c 'WSP0.*Append' /tmp/volumes)" = "$CARTRIDGES" ]
    console "unmount storage=library drive=0"
    console "mount storage=library drive=0 slot=1"
}

query() { sqlite3 /var/lib/bacula/bacula.db "$1"; }

# Both run at the same time, each on its drive.
backup() {
    console "run job=one yes" "run job=two yes" "wait"
    cat /tmp/bacula.log
    query "SELECT JobId, Name, JobStatus, JobErrors, JobFiles, JobBytes FROM Job"
    [ "$(query "SELECT count(*) FROM Job WHERE JobStatus = 'T' AND JobErrors = 0 AND Type = 'B'")" = 2 ]
    grep 'drive0' /tmp/bacula.log
    grep 'drive1' /tmp/bacula.log
    # More than one cartridge each: the end of a medium was passed.
    for pool in one two; do
        used=$(query "SELECT count(*) FROM Media JOIN Pool USING (PoolId) WHERE Pool.Name = '$pool' AND VolBytes > 1000000")
        [ "$used" -ge 2 ]
    done
    [ "$(query "SELECT count(*) FROM Media WHERE VolErrors > 0")" = 0 ]
}

restore() {
    for id in $(query "SELECT JobId FROM Job WHERE Type = 'B'"); do
        console "restore jobid=$id client=fd restorejob=restore where=/tmp/restored all done yes" wait
    done
    tail -n 60 /tmp/bacula.log
    [ "$(query "SELECT count(*) FROM Job WHERE JobStatus = 'T' AND JobErrors = 0 AND Type = 'R'")" = 2 ]
    diff -r /tmp/data /tmp/restored/tmp/data
    [ "$(readlink /tmp/restored/tmp/data/one/link)" = deep ]
    [ "$(stat -c %a /tmp/restored/tmp/data/two/empty)" = 600 ]
}

all() {
    initiator
    mount -o remount,size="$((MEGABYTES * 5 / 2 + 128))m" /tmp
    check "the changer and both drives attach" strict attach
    check "the director, storage and file daemons start, with an autochanger of two drives" strict configure
    check "cartridges labelled by their barcodes" strict label
    check "two full backups at once, each on a drive of its own and over several cartridges" strict backup
    check "restored, and identical" strict restore
    return $failed
}
