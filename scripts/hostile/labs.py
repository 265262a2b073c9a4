"""Emulated labs and guests whose names are commands, and state files that name strangers."""

import fcntl, json, os, subprocess, time
from ways import Broke, Folder, Skip, alive, demand, run, way, ways

LAB = """scenario.title = "x"
[[host]]
name = {host}
emulate = true
cpus = 1
adapters = [{{ name = {nic} }}]
[[switch]]
name = {switch}
emulate = true
[[array]]
name = "store"
emulate = true
embedded = {{ ports = [{{ name = "p1" }}] }}
[[volume]]
name = "d"
array = "store"
size = "1MiB"
[[vm]]
name = {vm}
host = {host}
disks = [{{ lun = "store/d" }}]
[[link]]
from = {link}
to = {switch}
rate = "40 MB/s"
[[link]]
from = {switch}
to = "store"
rate = "20 MB/s"
[workload.w]
block = "4KiB"
[plan]
workload = "w"
on = {vm}
warmup = "0s"
measure = "100ms"
"""
NAMES = [
    ("a command", "$(touch owned)"), ("a command in quotes", "`touch owned`"), ("two commands", "x; touch owned"), ("a path", "../../owned"),
    ("an option", "--help"), ("a line end", "x\ntouch owned"), ("a thousand letters", "x" * 1000), ("an escape", "\x1b[31m"),
    ("a slash", "a/b"), ("dots", ".."), ("nothing", ""), ("a blank", " "), ("letters of another script", "\u0445\u043e\u0441\u0442\u202e"),
]


@ways("labs: names", [(f"a host, a switch and a VM named {word}", name) for word, name in NAMES])
def named(name):
    with Folder() as folder:
        quoted = json.dumps(name)
        for kind in ("host", "switch", "vm", "nic"):
            words = {key: json.dumps(value) for key, value in dict(host="esx", switch="sw", vm="vm1", nic="nic").items()}
            words[kind] = quoted
            words["link"] = json.dumps(f"{json.loads(words['host'])}.{json.loads(words['nic'])}")
            path = folder.write("s.toml", LAB.format(**words))
            run("plan", path, cwd=folder.path)
            if os.geteuid() == 0:
                up = run("lab", "up", path, cwd=folder.path, env={"XDG_RUNTIME_DIR": folder.path})
                if up.code == 0:
                    own = [at for at, _, _ in os.walk("/sys/fs/cgroup") if "wirespeed-lab-" in at]
                    quotas = [one for one in own if os.path.basename(one).startswith("node-")]
                    demand(not own or quotas, "the quota of a name is elsewhere")
                    run("lab", "down", path, cwd=folder.path, codes=(0,), env={"XDG_RUNTIME_DIR": folder.path})
            demand(not os.path.exists(folder("owned")) and not os.path.exists(folder("../owned")), f"a name is run as a command: {kind}")


def lab_states(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder.path) for name in names if name.endswith(".lab")]


@ways("labs: state files", [
    ("one that names a stranger's process, locked by another program", "victim", True), ("the same, not locked", "victim", False),
    ("one whose tag leads elsewhere", "../../victim", True), ("one that is noise", None, True), ("one that names the first process", 1, True),
    ("one that is a link to another file", "link", False),
])
def forged(victim, locked):
    if os.geteuid():
        raise Skip("root is needed")
    with Folder() as folder:
        stranger = subprocess.Popen(["sleep", "60"])
        path = folder.write("s.toml", LAB.format(host='"esx"', switch='"sw"', vm='"vm1"', nic='"nic"', link='"esx.nic"'))
        env = {"XDG_RUNTIME_DIR": folder.path}
        try:
            up = run("lab", "up", path, env=env)
            if up.code:
                raise Skip("no lab stands here: " + up.err.strip()[-100:])
            state = lab_states(folder)[0]
            with open(state) as file:
                known = json.load(file)
            run("lab", "down", path, codes=(0,), env=env)
            os.makedirs(os.path.dirname(state), exist_ok=True)
            forged = {**known, "guardian": victim if isinstance(victim, int) else stranger.pid, "nodes": [["x", stranger.pid]]}
            if victim == "../../victim":
                forged["tag"] = "../../victim"
                folder.write("victim.lab", "precious")
            precious = folder.write("precious", "precious")
            if victim == "link":
                os.symlink(precious, state)
            else:
                with open(state, "w") as file:
                    file.write("\0noise" if victim is None else json.dumps(forged))
            holder = open(state, "r+")
            if locked:
                fcntl.flock(holder, fcntl.LOCK_EX)
            run("lab", "ls", env=env)
            run("lab", "down", path, env=env, seconds=60)
            run("lab", "ls", env=env)
            holder.close()
            demand(stranger.poll() is None, "a stranger's process was ended")
            demand(open(precious).read() == "precious", "a stranger's file was changed")
            demand(victim != "../../victim" or os.path.exists(folder("victim.lab")), "a file elsewhere was removed")
        finally:
            stranger.kill()
            stranger.wait()


GUEST = """scenario.title = "x"
[[target]]
name = "t"
file = {file}
create = "1MiB"
[[vm]]
name = {vm}
machine = "qemu"
memory = "144MiB"
scsi = [{adapter}]
disks = [{{ target = "t" }}]
[workload.w]
block = "4KiB"
read = 0
[plan]
workload = "w"
on = {vm}
warmup = "0s"
measure = "100ms"
"""


@ways("guests", [
    ("a VM whose name holds options of QEMU", "vm,id=x,readonly=on", "t.img", "virtio-scsi", True),
    ("a VM whose name is a path", "../../owned", "t.img", "virtio-scsi", False), ("a VM whose name is a command", "$(touch owned)", "t.img", "pvscsi", False),
    ("a disk whose file holds options of QEMU", "vm1", "t,file.driver=host_device,readonly=off.img", "nvme", True),
    ("a disk whose file begins like a protocol", "vm1", "json:{}", "virtio-scsi", True), ("an adapter that is an option of QEMU", "vm1", "t.img", "virtio-scsi,iothread=x", False),
    ("an adapter that is none", "vm1", "t.img", "-monitor", False), ("a VM whose name has 5,000 letters", "vm" + "x" * 5000, "t.img", "ahci", False),
])
def guests(vm, file, adapter, boots):
    with Folder() as folder:
        path = folder.write("s.toml", GUEST.format(file=json.dumps(file), vm=json.dumps(vm), adapter=json.dumps(adapter)))
        run("plan", path, cwd=folder.path)
        if boots:
            done = run("run", path, "--quiet", "--out", folder("r.wsr"), cwd=folder.path, seconds=200)
            demand("option" not in done.err or done.code == 2, f"QEMU takes a name for an option: {done.err[-300:]}")
        demand(not os.path.exists(folder("owned")) and not os.path.exists(folder("../owned")), "a name is run as a command")
        strange = [name for name in os.listdir(folder.path) if name not in ("s.toml", "r.wsr", "r.wsr-wal", "r.wsr-shm", file)]
        demand(not strange, f"files of other names: {strange}")
