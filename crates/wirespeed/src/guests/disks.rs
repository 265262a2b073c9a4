//! The disks of guests on their host: made, filled and granted as those of workers are, then handed to QEMU.

use clock::Ns;
use disk::DiskEngine;
use engine::{Engine, Pinning, StepSpec, Stop, TargetSpec, WorkerSpec};
use fleet::GuestDisk;
use guest::{Adapter, Backing, Drive};
use scenario::Vm;
use std::path::PathBuf;
use std::sync::mpsc;
use workload::{Arrivals, Regions, Row, Spec};

/// Bytes of the I/O by which the host shows that it may use a target: a multiple of every block.
const BLOCK: u32 = 4096;

/// Makes and fills what guests' disks are to lie on, where those are files or devices, and holds what they write: the
/// engine keeps its grants.
pub fn prepare(disks: &[GuestDisk]) -> Result<Option<DiskEngine>, String> {
    let local = |disk: &&GuestDisk| fleet::scheme(&disk.backing.url).is_empty();
    let local: Vec<&GuestDisk> = disks.iter().filter(local).collect();
    if local.is_empty() {
        return Ok(None);
    }
    let worker = |(n, disk): (u16, &&GuestDisk)| {
        let read = if disk.writes { 0.0 } else { 100.0 };
        let rows = vec![Row::new(BLOCK, read, 100.0)];
        let spec = Spec::access(rows, Arrivals::closed(1), Regions::Shared);
        WorkerSpec::new(n.into(), format!("host of {}", disk.backing.name), vec![n], spec)
    };
    let step = StepSpec {
        index: 0,
        seed: 0,
        warmup: Ns::ZERO,
        measure: Ns::secs(1),
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        targets: local.iter().map(|disk| disk.backing.clone()).collect(),
        workers: (0..).zip(&local).map(worker).collect(),
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    };
    let (notes, _heard) = mpsc::channel();
    let mut engine = DiskEngine::new(Pinning::Never);
    let prepared = engine.prepare(&step, &notes, &Stop::default());
    drop(prepared.map_err(|why| why.to_string())?);
    Ok(Some(engine))
}

/// A disk as QEMU gets it.
pub fn drive(
    vm: &Vm,
    disk: &GuestDisk,
    adapter: Adapter,
    controller: u32,
) -> Result<Drive, String> {
    let read_only = !disk.writes;
    if read_only && !adapter.may_be_read_only() {
        return Err(format!(
            "{} is only read, and {adapter} has no read-only disks: take another adapter",
            disk.backing.name
        ));
    }
    let backing = backing(vm, &disk.backing, disk.writes)?;
    Ok(Drive { adapter, controller, serial: disk.serial.clone(), backing, read_only })
}

fn backing(vm: &Vm, spec: &TargetSpec, writes: bool) -> Result<Backing, String> {
    let own = spec.made_as.is_some();
    match fleet::scheme(&spec.url) {
        "" => Ok(Backing::File { path: PathBuf::from(&spec.url), direct: !spec.buffered }),
        "null" => Ok(Backing::Null { size: spec.size.unwrap_or(1 << 40) }),
        san::initiator::SCHEME if own || !writes => lun(vm, &spec.url).ok_or_else(|| {
            format!(
                "{}: QEMU's initiator takes one portal, no user, and a LUN: {}",
                spec.name, spec.url
            )
        }),
        san::initiator::SCHEME => Err(format!(
            "{}: a guest writes LUNs of embedded arrays only; it may read this one",
            spec.name
        )),
        other => Err(format!("{}: a guest has no disks of the kind `{other}:`", spec.name)),
    }
}

/// The LUN of a URL with one portal and without a user.
fn lun(vm: &Vm, url: &str) -> Option<Backing> {
    let (address, _) = url.split_once('?').unwrap_or((url, ""));
    let mut parts = address.strip_prefix("iscsi://")?.split('/');
    let (portal, target, lun) = (parts.next()?, parts.next()?, parts.next()?);
    if portal.contains([',', '@']) || parts.next().is_some() {
        return None;
    }
    Some(Backing::Iscsi {
        portal: portal.to_owned(),
        target: target.to_owned(),
        lun: lun.parse().ok()?,
        initiator: initiator_of(&vm.name),
    })
}

/// The name of the initiator of a guest.
pub fn initiator_of(vm: &str) -> String {
    let letters = vm.to_lowercase();
    let letters = letters.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("iqn.2026-11.localhost:wirespeed-guest-{}", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lun_of_one_portal_is_for_qemus_initiator() {
        let vm = Vm { name: "Web 1".to_owned(), ..Vm::default() };
        let found = lun(&vm, "iscsi://127.0.0.1:3260/iqn.2026-11.x:a/3?policy=fixed");
        let wanted = Backing::Iscsi {
            portal: "127.0.0.1:3260".to_owned(),
            target: "iqn.2026-11.x:a".to_owned(),
            lun: 3,
            initiator: "iqn.2026-11.localhost:wirespeed-guest-web-1".to_owned(),
        };
        assert_eq!(found, Some(wanted));
        for url in ["iscsi://a,b/iqn/0", "iscsi://u@a/iqn/0", "iscsi://a/iqn", "iscsi://a/iqn/x"] {
            assert_eq!(lun(&vm, url), None, "{url}");
        }
    }
}
