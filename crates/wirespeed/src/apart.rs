//! At a terminal a run that loads disks is a process apart from the one that the shell waits for.
//!
//! A thread that the kernel does not let go (a frozen file system, a device that hangs) holds up the end of its process, though
//! all else of it is over, and with it the terminal. The process here has no such threads: it passes on signals, waits, and
//! leaves behind what only the kernel can end. Both are in the terminal's foreground, so that it stops and goes on with them.

use crate::cli::{AgentKind, Cli, Command};
use crate::out;
use clock::Ns;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitCode, ExitStatus};

/// Set in the process that does the work.
const WORKS: &str = "WIRESPEED_APART";

/// How often to look.
const LOOK: Ns = Ns::millis(20);

/// How long a process that has ended may take to be gone.
const GONE: Ns = Ns::secs(1);

/// The terminal sent it, to all processes in its foreground (SI_KERNEL).
const BY_TERMINAL: i32 = 0x80;

/// Has the command carried out by a process apart, where that serves; how that ended.
pub fn carried_out(cli: &Cli) -> Option<ExitCode> {
    if !loads_disks(cli) {
        return None;
    }
    if std::env::var_os(WORKS).is_some() {
        // The other one waits for them, and a child has its parent's mask.
        let _ = passed_on().thread_unblock();
        // Without the other one nobody sees its results.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
        return None;
    }
    out::notes_are_seen().then(apart).flatten()
}

/// Whether threads of the process of this command wait for disks.
fn loads_disks(cli: &Cli) -> bool {
    let threads = |kind: AgentKind| kind != AgentKind::Child;
    match &cli.command {
        Command::Disk(args) => threads(args.recording.agent) && !args.plan,
        Command::Run(args) => {
            threads(args.recording.agent) && !args.plan && args.fleet.fleet.is_none()
        }
        _ => false,
    }
}

/// `None` where no process can be started: this one then does the work.
fn apart() -> Option<ExitCode> {
    let mask = passed_on();
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
    let signals = signals.ok()?;
    mask.thread_block().ok()?;
    let mut words = std::env::args_os();
    let started = std::env::current_exe().and_then(|program| {
        let mut command = std::process::Command::new(program);
        if let Some(name) = words.next() {
            command.arg0(name);
        }
        command.args(words).env(WORKS, "1").spawn()
    });
    let Ok(child) = started else {
        let _ = mask.thread_unblock();
        return None;
    };
    Some(attended(child, &signals))
}

/// The signals that end a run in order.
fn passed_on() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect()
}

/// Waits for the child, or until only the kernel keeps it.
fn attended(mut child: Child, signals: &SignalFd) -> ExitCode {
    let mut ended: Option<(Ns, ExitStatus)> = None;
    loop {
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_code != BY_TERMINAL {
                pass_on(&child, signal.ssi_signo);
            }
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return code(status),
            Err(_) => return ExitCode::from(3),
        }
        let now = clock::now();
        ended = kept(child.id()).map(|status| ended.map_or((now, status), |(at, _)| (at, status)));
        if let Some((at, status)) = ended
            && now.since(at) >= GONE
        {
            out::note(format_args!(
                "wirespeed: process {} is left behind: it ends when the kernel lets its threads go",
                child.id()
            ));
            return code(status);
        }
        clock::sleep_until(now.plus(LOOK));
    }
}

fn pass_on(child: &Child, signal: u32) {
    let signal = match signal as i32 {
        of if of == Signal::SIGINT as i32 => rustix::process::Signal::INT,
        of if of == Signal::SIGHUP as i32 => rustix::process::Signal::HUP,
        _ => rustix::process::Signal::TERM,
    };
    // It has not been waited for, so that nobody else has its number.
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
}

/// How a process ended that is still there, since threads of it wait in the kernel.
fn kept(process: u32) -> Option<ExitStatus> {
    status_of(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The exit status of a process that is a zombie, by its `stat`.
fn status_of(stat: &str) -> Option<ExitStatus> {
    // Its name is in parentheses and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if fields.next()? != "Z" {
        return None;
    }
    fields.last()?.parse().ok().map(ExitStatus::from_raw)
}

/// The exit code of a process, as a shell has it.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_the_kernel_keeps_says_how_it_ended() {
        let stat = |state: &str, code: i32| {
            format!("7 (a) Z (b) {state} 1 7 7 34816 7 4228364 90 0 0 0 0 17 {code}\n")
        };
        let status = |state: &str, code: i32| status_of(&stat(state, code)).map(|of| of.into_raw());
        assert_eq!(status("Z", 3 << 8), Some(768));
        assert_eq!(status("D", 0), None);
        assert_eq!(status("S", 3 << 8), None);
        assert_eq!(status_of(""), None);
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        let shown = |raw: i32| format!("{:?}", code(ExitStatus::from_raw(raw)));
        assert_eq!(shown(3 << 8), format!("{:?}", ExitCode::from(3)));
        assert_eq!(shown(9), format!("{:?}", ExitCode::from(137)));
        assert_eq!(shown(0), format!("{:?}", ExitCode::SUCCESS));
    }
}
