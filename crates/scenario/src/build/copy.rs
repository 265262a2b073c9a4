//! Copies from disk to disk: their descriptions, and whether their owner has the disks.

use super::{complain, count_u32, size_u32};
use crate::datum::Decoded;
use crate::diagnostics::{At, Sink};
use crate::directory::{Directory, NameKind};
use crate::load::CopyWorkload;
use crate::model::{Backing, Lab, VmDisk};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Bytes of a block unless given, as the description says.
const BLOCK_DEFAULT: u32 = 256 << 10;

/// A copy from disk to disk.
pub(crate) fn copy(
    name: &At<String>,
    record: &Decoded,
    directory: &mut Directory,
    sink: &mut Sink,
) -> CopyWorkload {
    let mut disks =
        |key| directory.find_all(&record.texts(key), &[NameKind::Volume, NameKind::Target], sink);
    let (from, to) = (disks("from"), disks("to"));
    if let Some(same) = from.iter().find(|disk| to.contains(disk)) {
        let problem = format!("`{same}` is also the source: a copy needs another disk");
        complain(record, "to", problem, sink);
    }
    let depth = count_u32(record, "depth").unwrap_or(1);
    let [reads, writes] = ["read_depth", "write_depth"].map(|key| {
        let given = count_u32(record, key);
        if given.is_some_and(|given| given > depth) {
            let problem = format!("is more than `depth`, the {depth} buffers of a worker");
            complain(record, key, problem, sink);
        }
        given
    });
    CopyWorkload {
        name: name.value.clone(),
        from,
        to,
        block: size_u32(record, "block").unwrap_or(BLOCK_DEFAULT),
        depth,
        read_depth: reads,
        write_depth: writes,
        workers: count_u32(record, "workers").unwrap_or(1),
        streams: count_u32(record, "streams"),
        files: record.flag("files").is_some_and(|at| at.value),
        verify: record.flag("verify").is_some_and(|at| at.value),
        retry: record.time("retry").map_or(Duration::ZERO, |at| at.value),
    }
}

/// The backing of the disks of every VM and host, by the owner's name.
pub(crate) type CopyDisks<'a> = BTreeMap<&'a str, BTreeSet<String>>;

/// The backing of a lab's disks.
pub(super) fn disks(lab: &Lab) -> CopyDisks<'_> {
    let on = |disks: &[VmDisk]| -> BTreeSet<String> {
        disks.iter().filter_map(|disk| backed_by(&disk.backing)).collect()
    };
    let vms = lab.vms.iter().map(|vm| (vm.name.as_str(), on(&vm.disks)));
    vms.chain(lab.hosts.iter().map(|host| (host.name.as_str(), on(&host.disks)))).collect()
}

/// A volume or target by its name; one that the array provides has none.
fn backed_by(backing: &Backing) -> Option<String> {
    match backing {
        Backing::Target(name) => Some(name.clone()),
        Backing::Lun { array, volume } => Some(format!("{array}/{}", volume.as_ref()?)),
    }
}
