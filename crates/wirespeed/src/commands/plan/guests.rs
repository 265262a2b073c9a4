//! Guests in a dry run: what each would be, and what all of them would take of this machine. It starts none.

use crate::guests::{self, BOOT_S, OVERHEAD};
use scenario::{Scenario, Vm};
use serde_json::{Value, json};
use std::time::Duration;

/// The section on guests; nothing where no plan loads any.
pub(super) fn text(scenario: &Scenario) -> Vec<String> {
    let vms = guests::machines(scenario);
    if vms.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["\nguests".to_owned()];
    let mut last = (String::new(), 0);
    for vm in &vms {
        let what = what(vm);
        match last.0 == what {
            true => last.1 += 1,
            false => last = (what.clone(), 1),
        }
        lines.push(format!("  {:<12} {}", vm.name, if last.1 > 1 { "the same" } else { &what }));
    }
    let memory: u64 = vms.iter().map(|vm| guests::memory(vm) + OVERHEAD).sum();
    let vcpus: u32 = vms.iter().map(|vm| vm.vcpus.unwrap_or(1)).sum();
    let (guests, boot) = match vms.len() {
        1 => ("1 guest takes".to_owned(), "it boots"),
        many => (format!("{many} guests take"), "they boot"),
    };
    let many = if vcpus == 1 { "" } else { "s" };
    lines.push(format!(
        "  {guests} about {} of memory with QEMU's own, and {vcpus} virtual processor{many} on {} of this machine",
        units::binary_bytes(memory),
        processors()
    ));
    let [kvm, tcg] = BOOT_S.map(|seconds| units::duration(boot_time(vms.len(), seconds)));
    lines.push(format!("  {boot} before the first step: about {kvm} with KVM, {tcg} without"));
    lines
}

/// `a guest of QEMU: 1 virtual processor, 112 MiB of memory, disks behind pvscsi`.
fn what(vm: &Vm) -> String {
    let vcpus = vm.vcpus.unwrap_or(1);
    let many = if vcpus == 1 { "" } else { "s" };
    let scsi = match vm.scsi.as_slice() {
        [] => Vm::GUEST_ADAPTER.to_owned(),
        all => all.join(", "),
    };
    let memory = units::binary_bytes(guests::memory(vm));
    let by_kernel = vm.disks.iter().filter(|disk| disk.by_kernel).count();
    let disks = match (by_kernel, vm.disks.len() - by_kernel) {
        (0, _) => format!("disks behind {scsi}"),
        (_, 0) => "disks by its kernel's own iSCSI initiator".to_owned(),
        (some, _) => format!("disks behind {scsi}, and {some} by its kernel's own iSCSI initiator"),
    };
    format!("a guest of QEMU: {vcpus} virtual processor{many}, {memory} of memory, {disks}")
}

/// How long so many guests take to boot, at so many seconds of a processor each.
fn boot_time(guests: usize, seconds: f64) -> Duration {
    let rounds = (guests as f64 / processors() as f64).max(1.0);
    Duration::from_secs_f64((seconds * rounds).ceil())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The guests for other programs.
pub(super) fn as_json(scenario: &Scenario) -> Vec<Value> {
    let guest = |vm: &&Vm| {
        json!({
            "name": vm.name,
            "machine": "qemu",
            "vcpus": vm.vcpus.unwrap_or(1),
            "memory_bytes": guests::memory(vm),
            "scsi": vm.scsi,
        })
    };
    guests::machines(scenario).iter().map(guest).collect()
}
