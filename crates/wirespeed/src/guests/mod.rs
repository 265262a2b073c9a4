//! Virtual machines of a run on their host: what they boot, their disks, and their end.
//!
//! A guest boots this program ([`inside`]). It is started once the arrays stand, since QEMU's own initiator needs their
//! addresses, by a keeper: a process that becomes QEMU and that the kernel kills with this one. What is behind its disks is
//! made and granted here; QEMU opens for writing only what the write guard granted to this process, or what the run made.

mod body;
mod changes;
mod disks;
pub mod hops;
pub mod inside;

use crate::cli::GuestKeeperArgs;
use crate::exit::{Exit, Failure};
use crate::live::AGENT;
use body::{GuestBody, Plan};
pub use changes::GuestOrders;
use fleet::carrier::CoordinatorEnd;
use fleet::{AgentLink, GuestDisk, Joined, Joining};
use guest::{Accelerator, Adapter, Guest, Image, KeptMemory, Kernel, Machine, Network};
use guest::{initiator, program};
use record::Fact;
use scenario::{MachineKind, Scenario, Vm};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The port that carries the messages between a guest's agent and its coordinator.
const PORT: &str = "wirespeed.agent";

/// The variable that chooses how processors of guests run: `kvm` or `tcg`.
pub const ACCELERATOR: &str = "WIRESPEED_ACCELERATOR";

/// Bytes of memory that QEMU takes beside its guest's: its own, and translated code without KVM.
pub const OVERHEAD: u64 = 100 << 20;

/// Bytes that a guest has for what it must know after its machine has lost its power: the verification states of 32 GiB of blocks
/// of 512 bytes. What is not used takes no memory.
const KEPT: u64 = 256 << 20;

/// Seconds of a processor that a guest takes to boot, with KVM and without.
pub const BOOT_S: [f64; 2] = [1.5, 8.0];

/// The VMs that are guests and that some plan loads.
pub fn machines(scenario: &Scenario) -> Vec<&Vm> {
    let stages = scenario.stages();
    let steps = || stages.iter().flat_map(|stage| stage.examples());
    let loaded =
        |vm: &&Vm| steps().any(|step| step.loads.iter().any(|load| load.on.contains(&vm.name)));
    let guests = scenario.lab.vms.iter().filter(|vm| vm.machine == Some(MachineKind::Qemu));
    guests.filter(loaded).collect()
}

/// What all guests of a run have in common.
struct Boot {
    kernel: Kernel,
    accelerator: Accelerator,
    why: String,
    qemu: String,
}

/// The agents of a scenario's guests; each is started once its disks are there, and takes `orders` from then on. All that can be
/// found wrong before is.
/// # Errors
/// QEMU, a kernel or a driver is missing, or a guest cannot be what the scenario asks for.
pub fn links(scenario: &Scenario, orders: &GuestOrders) -> Result<Vec<AgentLink>, Failure> {
    let vms = machines(scenario);
    if vms.is_empty() {
        return Ok(Vec::new());
    }
    enough_memory(&vms)?;
    let boot = Arc::new(boot().map_err(Failure::usage)?);
    let executable = std::env::current_exe().map_err(Failure::incomplete)?;
    let mut images: BTreeMap<(Vec<&str>, u64), Arc<Image>> = BTreeMap::new();
    let mut links = Vec::new();
    for vm in vms {
        if vm.name == AGENT {
            return Err(Failure::usage(format!(
                "a guest cannot be called `{AGENT}`: name it otherwise"
            )));
        }
        let mut machine = machine(vm, boot.accelerator);
        if scenario.switches_guests_off() {
            machine.kept = Some(KeptMemory::new(KEPT).map_err(Failure::incomplete)?);
        }
        let mut modules = machine.modules();
        modules.extend(adapters(vm).flat_map(Adapter::modules));
        if by_kernel(vm) {
            machine.network = Some(Network::default());
            modules.extend(Network::MODULES);
            modules.extend(initiator::MODULES);
        }
        modules.sort_unstable();
        modules.dedup();
        let kind = (modules, machine.memory);
        let image = match images.get(&kind) {
            Some(image) => image.clone(),
            None => {
                let image = image(&boot.kernel, &executable, by_kernel(vm), &kind.0, kind.1);
                let image = Arc::new(image.map_err(|why| {
                    Failure::usage(format!("the guest `{}` cannot boot: {why}", vm.name))
                })?);
                images.insert(kind, image.clone());
                image
            }
        };
        if machine.memory < image.memory() {
            return Err(Failure::usage(format!(
                "the guest `{}` has {} of memory and needs {} to boot this program: give it more `memory`",
                vm.name,
                units::binary_bytes(machine.memory),
                units::binary_bytes(image.memory())
            )));
        }
        let (boot, vm, orders) = (boot.clone(), vm.clone(), orders.clone());
        let name = vm.name.clone();
        let start: Joining =
            Box::new(move |disks| start(&boot, image, &vm, machine, disks, &orders));
        links.push(AgentLink::guest(&name, start));
    }
    Ok(links)
}

/// Whether a guest's kernel reaches a disk by its own initiator.
fn by_kernel(vm: &Vm) -> bool {
    vm.disks.iter().any(|disk| disk.by_kernel)
}

/// What guests with so much memory boot: this program, and the kernel's initiator where some disk is reached by it.
fn image(
    kernel: &Kernel,
    executable: &Path,
    by_kernel: bool,
    modules: &[&str],
    room: u64,
) -> Result<Image, String> {
    if !by_kernel {
        return Image::new(kernel, executable, modules, room).map_err(|why| why.to_string());
    }
    let mut files = program::libraries(executable).map_err(|why| why.to_string())?;
    files.extend(initiator::files().map_err(|why| why.to_string())?);
    let first = program::loadable(executable).map_err(|why| why.to_string())?;
    Image::of_files(kernel, &first, &files, modules, room).map_err(|why| why.to_string())
}

/// Refuses guests that this machine has no memory for.
fn enough_memory(vms: &[&Vm]) -> Result<(), Failure> {
    let wanted: u64 = vms.iter().map(|vm| memory(vm) + OVERHEAD).sum();
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    match free.map(|kib| kib << 10) {
        Some(free) if free < wanted => Err(Failure::usage(format!(
            "{} guests take {} of memory, and {} are free: give them less `memory`, or take fewer",
            vms.len(),
            units::binary_bytes(wanted),
            units::binary_bytes(free)
        ))),
        _ => Ok(()),
    }
}

/// The kernel, and how processors run: found out once, since the latter takes seconds.
fn boot() -> Result<Boot, String> {
    static BEST: OnceLock<(Accelerator, String)> = OnceLock::new();
    let qemu = guest::process::qemu_version().map_err(|why| why.to_string())?;
    let kernel = Kernel::find(None).map_err(|why| why.to_string())?;
    let asked = std::env::var(ACCELERATOR).ok();
    let (accelerator, why) = match asked.as_deref() {
        Some("kvm") => (Accelerator::Kvm, format!("{ACCELERATOR} says so")),
        Some("tcg") => (Accelerator::Tcg, format!("{ACCELERATOR} says so")),
        Some(other) => return Err(format!("{ACCELERATOR} is `{other}`; it is `kvm` or `tcg`")),
        None => BEST.get_or_init(|| Accelerator::best(&kernel)).clone(),
    };
    Ok(Boot { kernel, accelerator, why, qemu })
}

/// The virtual adapters of a VM's disks.
fn adapters(vm: &Vm) -> impl Iterator<Item = Adapter> + '_ {
    let behind_adapters = vm.disks.iter().filter(|disk| !disk.by_kernel);
    behind_adapters.map(|disk| adapter(vm, disk.controller.unwrap_or(0)))
}

fn adapter(vm: &Vm, controller: u32) -> Adapter {
    let name = vm.scsi.get(controller as usize).map_or(Vm::GUEST_ADAPTER, String::as_str);
    Adapter::of(name).expect("the language knows no other adapters of guests")
}

/// A guest without its disks.
fn machine(vm: &Vm, accelerator: Accelerator) -> Machine {
    Machine {
        name: vm.name.clone(),
        memory: memory(vm),
        vcpus: vm.vcpus.unwrap_or(1),
        accelerator,
        drives: Vec::new(),
        ports: vec![PORT.to_owned()],
        network: None,
        kept: None,
    }
}

/// Bytes of memory that a guest has.
pub fn memory(vm: &Vm) -> u64 {
    vm.memory.map_or(Vm::GUEST_MEMORY, |size| size.0)
}

/// Starts a guest with its disks.
fn start(
    boot: &Boot,
    image: Arc<Image>,
    vm: &Vm,
    mut machine: Machine,
    disks: &[GuestDisk],
    orders: &GuestOrders,
) -> Result<Joined, String> {
    let held = disks::prepare(disks)?;
    for disk in disks.iter().filter(|disk| !disk.by_kernel) {
        let controller = vm.disks.get(disk.number).and_then(|of| of.controller).unwrap_or(0);
        machine.drives.push(disks::drive(vm, disk, adapter(vm, controller), controller)?);
    }
    let keeper = keeper()?;
    let mut guest = Guest::start(&machine, &image, &keeper).map_err(|why| why.to_string())?;
    let carrier = carrier(&mut guest)?;
    let facts = facts(boot, &machine, disks);
    let disks = disks.iter().filter(|disk| !disk.by_kernel).map(|disk| disk.number).collect();
    let plan = Plan { machine, disks, image, keeper };
    let body = GuestBody::new(guest, plan, held, facts).map_err(|why| why.to_string())?;
    orders.add(&vm.name, vm.host.as_deref(), body.orders());
    Ok(Joined { carrier, body: Box::new(body) })
}

/// The coordinator's end of what leads to the agent of a guest that has just started.
fn carrier(guest: &mut Guest) -> Result<CoordinatorEnd, String> {
    let port = guest.port(0).ok_or("QEMU has no port for it")?;
    fleet::carrier::coordinator_socket(port).map_err(|why| why.to_string())
}

/// What the record is to know of a guest.
fn facts(boot: &Boot, machine: &Machine, all: &[GuestDisk]) -> Vec<Fact> {
    let fact = |key: &str, value: String| Fact {
        subject: machine.name.clone(),
        key: key.to_owned(),
        value,
    };
    let of_disk = |drive: &guest::Drive| {
        let read_only = if drive.read_only { ", read-only" } else { "" };
        format!("{} behind {}{read_only}", drive.serial, drive.adapter)
    };
    let mut disks: Vec<String> = machine.drives.iter().map(of_disk).collect();
    let by_kernel = all.iter().filter(|disk| disk.by_kernel);
    disks.extend(by_kernel.map(|disk| format!("{} by the kernel's initiator", disk.serial)));
    vec![
        fact("machine", format!("QEMU {}", boot.qemu)),
        fact("guest-kernel", boot.kernel.version.clone()),
        fact("accelerator", format!("{}: {}", boot.accelerator.name(), boot.why)),
        fact("guest-memory", units::binary_bytes(machine.memory)),
        fact("vcpus", machine.vcpus.to_string()),
        fact("disks", disks.join("; ")),
    ]
}

/// The command that becomes QEMU and ends with this process.
fn keeper() -> Result<Vec<OsString>, String> {
    let own = std::env::current_exe().map_err(|why| why.to_string())?;
    Ok(vec![own.into(), "guest-keeper".into(), "--".into()])
}

/// `wirespeed guest-keeper -- PROGRAM ARGUMENTS`.
pub fn keep(args: &GuestKeeperArgs) -> Result<Exit, Failure> {
    let [program, arguments @ ..] = &args.command[..] else {
        return Err(Failure::usage("it needs the command of a guest"));
    };
    Err(Failure::incomplete(guest::become_kept(program, arguments)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_has_the_adapters_that_guests_can_have() {
        assert_eq!(Adapter::ALL.map(Adapter::name), scenario::QEMU_ADAPTERS);
        assert!(Adapter::of(Vm::GUEST_ADAPTER).is_some());
    }
}
