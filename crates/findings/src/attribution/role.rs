//! What a hop is, told by its name, and which hops are alike.
//!
//! Names follow the rules of the lab's language (`esx.hba:0`, `vm1.cpu`, `ssd1.controller0`); a live run's devices have names
//! of the kernel's, which are devices. A name alone is enough, so that a record whose scenario cannot be read is judged too.

/// What a hop is, as far as attribution needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Processors.
    Cpu,
    /// What a path consists of between a host's queues and an array's controllers: adapters, ports, links.
    Path,
    /// A queue before a device: virtual adapters and disks, LUN queues.
    Queue,
    /// Everything behind the ports: controllers, caches, disks, drives, devices.
    Device,
}

/// Endings of names after the last dot that tell a role; the digits that follow are left out.
const ENDINGS: [(&str, Role); 9] = [
    ("cpu", Role::Cpu),
    ("scsi", Role::Queue),
    ("disk", Role::Queue),
    ("datastore", Role::Device),
    ("controller", Role::Device),
    ("cache", Role::Device),
    ("backend", Role::Device),
    ("disks", Role::Device),
    ("drive", Role::Device),
];

/// The role of a hop.
pub(super) fn role(name: &str) -> Role {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let stem = ending.trim_end_matches(|c: char| c.is_ascii_digit());
    if let Some((_, role)) = ENDINGS.iter().find(|(known, _)| name.contains('.') && *known == stem)
    {
        return *role;
    }
    match (name.find('.'), name.find('/')) {
        // `esx.hba.ssd1/lun0`: the queue of a LUN at an adapter.
        (Some(dot), Some(slash)) if dot < slash => Role::Queue,
        // `store/data`: a volume of an embedded array.
        (None, Some(_)) => Role::Device,
        (Some(_), _) => Role::Path,
        (None, None) if name.contains([':', '-']) => Role::Path,
        (None, None) => Role::Device,
    }
}

/// A name with its numbers left out, by which hops of one sort are found: `fabric:#` of `fabric:12`.
pub(super) fn pattern(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Role, alike: &str) {
        assert_eq!((role(name), pattern(name).as_str()), (expected, alike), "{name}");
    }

    #[test]
    fn a_name_tells_what_it_is() {
        check("vm12.cpu", Role::Cpu, "vm#.cpu");
        check("esx.cpu", Role::Cpu, "esx.cpu");
        check("vm1.scsi0", Role::Queue, "vm#.scsi#");
        check("vm1.disk0", Role::Queue, "vm#.disk#");
        check("esx.hba.ssd1/lun0", Role::Queue, "esx.hba.ssd#/lun#");
        check("ssd1/lun0.datastore", Role::Device, "ssd#/lun#.datastore");
        check("ssd1/lun0.disks", Role::Device, "ssd#/lun#.disks");
        check("ssd1.controller1", Role::Device, "ssd#.controller#");
        check("vtl.drive0", Role::Device, "vtl.drive#");
        check("esx.hba", Role::Path, "esx.hba");
        check("esx.hba:0", Role::Path, "esx.hba:#");
        check("esx.hba:0-fabric", Role::Path, "esx.hba:#-fabric");
        check("fabric:12", Role::Path, "fabric:#");
        check("store.p1", Role::Path, "store.p#");
        check("store/data", Role::Device, "store/data");
        check("nvme0n1", Role::Device, "nvme#n#");
        check("", Role::Device, "");
    }
}
