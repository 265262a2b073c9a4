//! A run that loads disks is a process apart from the one that its caller waits for.
//!
//! A thread that the kernel does not let go (a frozen file system, a device that hangs) holds up the end of its process, though
//! all else of it is over, and with it who waits for it: a terminal, a script. The process here has no such threads: it passes on
//! signals, waits, and leaves behind what only the kernel can end. To others both are one: stopped, continued and killed together.

use crate::cli::{AgentKind, Cli, Command};
use crate::out;
use clock::Ns;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{
    Pid, Signal as Sent, getppid, kill_process, set_parent_process_death_signal,
};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitCode, ExitStatus};

/// Set in the process that does the work: the process that waits for it.
const WORKS: &str = "WIRESPEED_APART";

/// How often to look.
const LOOK: Ns = Ns::millis(20);

/// How often the process that works looks whether the other one is stopped.
const LOOK_BACK: Ns = Ns::millis(100);

/// How long a process that has ended may take to be gone.
const GONE: Ns = Ns::secs(3);

/// How long after it was continued the process here continues the other one, which may be about to stop.
const CONTINUES: Ns = Ns::secs(10);

/// The exit code of a process that was killed, as a shell has it.
const KILLED: u8 = 137;

/// The terminal sent it, to all processes in its foreground (SI_KERNEL).
const BY_TERMINAL: i32 = 0x80;

/// Has the command carried out by a process apart, where that serves; how that ended.
pub fn carried_out(cli: &Cli) -> Option<ExitCode> {
    if !loads_disks(cli) {
        return None;
    }
    match std::env::var(WORKS) {
        Ok(waiting) if attached(waiting.parse().ok()) => None,
        // It was killed before this one could know it.
        Ok(_) => Some(ExitCode::from(KILLED)),
        Err(_) => apart(),
    }
}

/// Binds the process that works to the one that waits; whether that is there.
fn attached(waiting: Option<i32>) -> bool {
    // The other one waits for them, and a child has its parent's mask.
    let _ = watched().thread_unblock();
    // Whoever kills the one that it knows means this one.
    let _ = set_parent_process_death_signal(Some(Sent::KILL));
    let Some(other) = getppid().filter(|parent| Some(parent.as_raw_nonzero().get()) == waiting)
    else {
        return false;
    };
    let stat = format!("/proc/{}/stat", other.as_raw_nonzero());
    let follow = move || {
        while let Ok(text) = fs::read_to_string(&stat) {
            // Continued by the other one, once that goes on.
            if matches!(field(&text, 0), Some("T" | "t")) {
                let _ = kill_process(rustix::process::getpid(), Sent::STOP);
            }
            clock::sleep_until(clock::now().plus(LOOK_BACK));
        }
    };
    // Without a thread it goes on while the other one is stopped.
    let _ = std::thread::Builder::new().name("apart".to_owned()).spawn(follow);
    true
}

/// Lets go of the pipes of a process that works, all of whose words are said: a thread that the kernel keeps would hold them open
/// for who reads them.
pub fn let_go() {
    if std::env::var_os(WORKS).is_some() {
        out::let_go();
    }
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
    let mask = watched();
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
    let signals = signals.ok()?;
    mask.thread_block().ok()?;
    let mut words = std::env::args_os();
    let started = std::env::current_exe().and_then(|program| {
        let mut command = std::process::Command::new(program);
        if let Some(name) = words.next() {
            command.arg0(name);
        }
        command.args(words).env(WORKS, std::process::id().to_string()).spawn()
    });
    let Ok(child) = started else {
        let _ = mask.thread_unblock();
        return None;
    };
    Some(attended(child, &signals))
}

/// The signals that end a run in order, and the one that continues it.
fn watched() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCONT].into_iter().collect()
}

/// Waits for the child, or until only the kernel keeps it.
fn attended(mut child: Child, signals: &SignalFd) -> ExitCode {
    let mut ended: Option<(Ns, ExitStatus)> = None;
    let mut continued = None;
    loop {
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo == Signal::SIGCONT as u32 {
                continued = Some(clock::now());
            } else if signal.ssi_code != BY_TERMINAL {
                send(&child, passed_on(signal.ssi_signo));
            }
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return code(status),
            Err(_) => return ExitCode::from(3),
        }
        let now = clock::now();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        if field(&stat, 0) == Some("T") && continued.is_some_and(|at| now.since(at) < CONTINUES) {
            send(&child, Sent::CONT);
        }
        let status = status_of(&stat);
        ended = status.map(|status| ended.map_or((now, status), |(at, _)| (at, status)));
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

fn passed_on(signal: u32) -> Sent {
    match signal as i32 {
        of if of == Signal::SIGINT as i32 => Sent::INT,
        of if of == Signal::SIGHUP as i32 => Sent::HUP,
        _ => Sent::TERM,
    }
}

fn send(child: &Child, signal: Sent) {
    // It has not been waited for, so that nobody else has its number.
    let _ = kill_process(Pid::from_child(child), signal);
}

/// A field of a process's `stat`, counted from its state.
fn field(stat: &str, number: usize) -> Option<&str> {
    // Its name is in parentheses and may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(number)
}

/// The exit status of a process that is a zombie, since threads of it wait in the kernel, by its `stat`.
fn status_of(stat: &str) -> Option<ExitStatus> {
    if field(stat, 0)? != "Z" {
        return None;
    }
    stat.split_whitespace().last()?.parse().ok().map(ExitStatus::from_raw)
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
