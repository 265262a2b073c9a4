//! Content of targets: their data, whether they are filled, and which plans precondition them.

use super::{complain, place};
use crate::datum::Decoded;
use crate::diagnostics::{Mistake, Sink};
use crate::model::{Backing, Fill, Lab, Plan, VmDisk};
use workload::{IoDemand, Reduction};

pub(super) fn data(target: &Decoded) -> Reduction {
    let ratio = |key| target.record("data").and_then(|data| data.number(key)).map(|at| at.value);
    let Reduction { compress, dedupe } = Reduction::default();
    Reduction {
        compress: ratio("compress").unwrap_or(compress),
        dedupe: ratio("dedupe").unwrap_or(dedupe),
    }
}

pub(super) fn fill(target: &Decoded, null: bool, sink: &mut Sink) -> Fill {
    if null && target.has("fill") {
        complain(target, "fill", "`null:` holds nothing", sink);
    }
    match target.word("fill").map(|at| at.value) {
        Some("always") => Fill::Always,
        Some("never") => Fill::Never,
        _ => Fill::Auto,
    }
}

/// Reports plans that would precondition a target without content.
pub(super) fn check(root: &Decoded, lab: &Lab, plans: &[Plan], sink: &mut Sink) {
    let null =
        |name: &str| lab.targets.iter().any(|target| target.name == name && target.is_null());
    let on_null = |name: &str| match lab.vms.iter().find(|vm| vm.name == name) {
        Some(vm) => {
            vm.disks.iter().any(|disk| matches!(&disk.backing, Backing::Target(t) if null(t)))
        }
        None => null(name),
    };
    for (plan, record) in plans.iter().zip(root.records("plan")).filter(|(p, _)| p.precondition) {
        let mut on = plan.disk_loads().flat_map(|load| load.on);
        if let Some(name) = on.find(|name| on_null(name)) {
            let message = format!("precondition: `{name}` is `null:`, which holds nothing");
            sink.push(|| Mistake::new(place(record, "precondition"), message));
        }
    }
    trims(root, lab, plans, sink);
}

/// Reports plans that trim volumes of embedded arrays that are not thin: their LUNs have no UNMAP.
fn trims(root: &Decoded, lab: &Lab, plans: &[Plan], sink: &mut Sink) {
    let thick = |disk: &VmDisk| -> Option<String> {
        let Backing::Lun { array, volume: Some(name) } = &disk.backing else { return None };
        lab.embedded(array)?;
        let volume = lab.volumes.iter().find(|of| &of.array == array && &of.name == name)?;
        (!volume.thin).then(|| name.clone())
    };
    for (plan, record) in plans.iter().zip(root.records("plan")) {
        let trimming = plan.disk_loads().filter(|load| {
            let [trims, ..] = IoDemand::of(&load.workload.spec).without_data;
            trims
        });
        for load in trimming {
            let vms = lab.vms.iter().filter(|vm| load.on.contains(&vm.name));
            let Some(volume) = vms.flat_map(|vm| &vm.disks).find_map(thick) else { continue };
            let key = if record.has("load") { "load" } else { "workload" };
            let name = &load.workload.name;
            let message = format!("`{name}` trims `{volume}`, which is not thin and has no trims");
            let help = "set `thin = true` for the volume, or leave `trim` out";
            sink.push(|| Mistake::new(place(record, key), message).help(help));
        }
    }
}
