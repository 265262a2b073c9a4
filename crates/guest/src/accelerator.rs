//! Whether the processor's virtualization can be used.
//!
//! That `/dev/kvm` opens says little: inside another virtual machine guests may hang at their first instructions. So a kernel is
//! booted without anything to run, which ends in a panic within a second or two where virtualization works.

use crate::kernel::Kernel;
use crate::process::QEMU;
use clock::Ns;
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

/// How long such a boot may take.
const BOOTS: Ns = Ns::secs(4);
const POLL: Ns = Ns::millis(10);

/// How a guest's processors run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// By the machine's own, at full speed.
    Kvm,
    /// Emulated: slow, and as true.
    Tcg,
}

impl Accelerator {
    /// KVM where a kernel boots with it, else emulation; with the reason.
    pub fn best(kernel: &Kernel) -> (Accelerator, String) {
        match kvm(kernel) {
            Ok(()) => (Accelerator::Kvm, "a kernel boots with KVM".to_owned()),
            Err(why) => (Accelerator::Tcg, why),
        }
    }

    /// How QEMU calls it.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

/// Whether a kernel boots with KVM, or why not.
fn kvm(kernel: &Kernel) -> Result<(), String> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    opened.map_err(|why| format!("/dev/kvm cannot be opened: {why}"))?;
    let mut command = Command::new(QEMU);
    command.args(["-accel", "kvm", "-cpu", "host", "-m", "128", "-display", "none"]);
    command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-append", "quiet panic=-1"]);
    command.arg("-kernel").arg(&kernel.image);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|why| format!("{QEMU} cannot be started: {why}"))?;
    let deadline = clock::now().plus(BOOTS);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("QEMU with KVM ended with {status}")),
            Ok(None) if clock::now() < deadline => clock::sleep_until(clock::now().plus(POLL)),
            Ok(None) | Err(_) => break,
        }
    }
    // Errors mean that it has ended.
    let _ = child.kill();
    let _ = child.wait();
    Err("/dev/kvm is there, but a kernel does not boot with it".to_owned())
}
