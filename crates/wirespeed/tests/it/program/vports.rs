//! `wirespeed vport` on a tree of sysfs made by hand.

use crate::prelude::*;
use crate::program::support::Bench;

/// A Fibre Channel port, a virtual one below it, and a disk behind that, as lpfc shows them in sysfs.
fn fibre_channel(root: &Path) {
    let write = |file: PathBuf, text: &str| {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    };
    let port = root.join("devices/pci0/host4/fc_host/host4");
    let virtual_port = root.join("devices/pci0/host4/vport-4:0-0/host9/fc_host/host9");
    for (node, wwpn) in [(&port, "0x10000000c9123456"), (&virtual_port, "0xc0507600a1b20001")] {
        for (file, text) in [
            ("port_name", wwpn),
            ("node_name", "0x20000000c9123456"),
            ("port_state", "Online"),
            ("speed", "8 Gbit"),
        ] {
            write(node.join(file), &format!("{text}\n"));
        }
        let class = root.join("class/fc_host");
        std::fs::create_dir_all(&class).expect("a class");
        let link = class.join(node.file_name().expect("a name"));
        std::os::unix::fs::symlink(node, link).expect("a link");
    }
    write(port.join("vport_create"), "");
    write(port.join("vport_delete"), "");
}

#[test]
fn virtual_ports_are_listed_made_and_removed_unless_they_carry_disks() {
    let bench = Bench::new("");
    let sys = bench.path("sys");
    fibre_channel(&sys);
    let sys_arg = sys.display().to_string();
    let vport = |code: i32, args: &[&str]| {
        bench.expect(code, &[&["vport"][..], args, &["--sys", &sys_arg]].concat())
    };
    let listed = vport(0, &["ls", "--format", "json"]).stdout;
    let ports: Value = serde_json::from_str(&listed).expect("one document");
    let of: Vec<_> = (0..2)
        .map(|n| (&ports["ports"][n]["host"], &ports["ports"][n]["virtual_port_of"]))
        .collect();
    assert_eq!(of, [(&"host4".into(), &Value::Null), (&"host9".into(), &"host4".into())]);
    let wwnn = "20:00:00:00:c9:12:34:56";
    vport(0, &["create", "host4", "c0:50:76:00:a1:b2:00:02", wwnn]);
    let asked = |file: &str| {
        std::fs::read_to_string(sys.join("devices/pci0/host4/fc_host/host4").join(file))
            .expect("a file")
    };
    assert_eq!(asked("vport_create"), "c0507600a1b20002:20000000c9123456");
    for (args, code, says) in [
        (["create", "host5", "c0:50:76:00:a1:b2:00:02", wwnn], 2, "there are host4, host9"),
        (["create", "host4", "c0:50:76:00:a1:b2:00:01", wwnn], 2, "is the port host9 already"),
        (["create", "host4", "c0:50", wwnn], 2, "`c0:50` is no WWN"),
        (["create", "host9", "c0:50:76:00:a1:b2:00:03", wwnn], 3, "host9 carries no virtual ports"),
        (["delete", "host4", "10:00:00:00:c9:12:34:56", wwnn], 2, "is no virtual port of host4"),
        (["delete", "host4", "c0:50:76:00:a1:b2:00:09", wwnn], 2, "is no virtual port of host4"),
    ] {
        let ended = vport(code, &args);
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
    assert_eq!(asked("vport_delete"), "");
    // A disk behind it: nothing is asked of the driver.
    let disk =
        sys.join("devices/pci0/host4/vport-4:0-0/host9/rport-9:0-0/target9:0:0/9:0:0:0/block/sdq");
    std::fs::create_dir_all(&disk).expect("a disk");
    std::fs::create_dir_all(sys.join("block")).expect("a folder");
    std::os::unix::fs::symlink(&disk, sys.join("block/sdq")).expect("a link");
    let delete = ["delete", "host4", "c0:50:76:00:a1:b2:00:01", wwnn];
    let refused = vport(4, &delete).stderr;
    assert!(refused.contains("host9 carries sdq"), "{refused}");
    assert_eq!(asked("vport_delete"), "");
    std::fs::remove_file(sys.join("block/sdq")).expect("the disk goes");
    vport(0, &delete);
    assert_eq!(asked("vport_delete"), "c0507600a1b20001:20000000c9123456");
}
