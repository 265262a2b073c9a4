//! A child process that is an agent: its start, the end of its standard error, its exit.
//!
//! The child exits when the socket closes, which also happens when the coordinator dies, and is killed otherwise. Its own
//! process group keeps a Ctrl-C at the terminal from it: the coordinator receives that alone and ends the run in order.

use crate::kernel_wait::KernelWait;
use crate::link::Body;
use clock::Ns;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{io, thread};

/// How long a child may take to leave before it is killed.
const GRACE: Ns = Ns::secs(10);

/// How long a killed child may take to end. One that waits in the kernel, for a frozen file system or a device that
/// hangs, is left behind: nothing can end it before that answers.
const KILLED: Ns = Ns::secs(1);
const STUCK: &str = "it was killed, but waits in the kernel (a frozen file system, a device that hangs; see dmesg) and ends when that answers";

/// How long one that waits in the kernel may take to release what it holds, before it is killed.
const RELEASE: Ns = Ns::secs(1);

/// How often to look whether it has left.
const POLL: Ns = Ns::millis(5);

/// Bytes of standard error that are kept, the last ones.
const LAST_OUTPUT_MAX: usize = 2048;

/// How long to read the pipe after the process has ended, since a grandchild may hold it open.
const LAST_OUTPUT_WAIT: Duration = Duration::from_millis(500);

pub(crate) struct Child {
    process: process::Child,
    last_output: Receiver<Vec<u8>>,
    status: Option<ExitStatus>,
    kernel: KernelWait,
    /// It was killed, and has not ended: it is not waited for again.
    left_behind: bool,
}

impl Child {
    /// Starts the command with `socket` as its standard input.
    pub fn spawn(mut command: Command, socket: UnixStream) -> io::Result<Child> {
        command.stdin(OwnedFd::from(socket)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.process_group(0).spawn()?;
        let (tx, last_output) = mpsc::channel();
        let stderr = process.stderr.take();
        let kernel = KernelWait::new(Path::new("/proc"), process.id());
        let child = Child { process, last_output, status: None, kernel, left_behind: false };
        let listen = move || {
            let words = stderr.map(listen).unwrap_or_default();
            // The last output matters only after a failure.
            let _ = tx.send(words);
        };
        thread::Builder::new().name("agent-stderr".to_owned()).spawn(listen)?;
        Ok(child)
    }

    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        if self.left_behind {
            return Err(io::Error::other(STUCK));
        }
        let begun = clock::now();
        let (mut killed, mut deadline) = (false, begun.plus(GRACE));
        let status = loop {
            let now = clock::now();
            match self.process.try_wait()? {
                Some(status) => break status,
                None if !killed && (now >= deadline || self.is_lost(begun, now)) => {
                    self.process.kill()?;
                    (killed, deadline) = (true, now.plus(KILLED));
                }
                None if now < deadline => clock::sleep_until(now.plus(POLL)),
                None => {
                    self.left_behind = true;
                    return Err(io::Error::other(STUCK));
                }
            }
        };
        self.status = Some(status);
        Ok(status)
    }

    /// Whether it waits in the kernel, and has had its time to release what it holds.
    fn is_lost(&mut self, begun: Ns, now: Ns) -> bool {
        self.kernel.look(now).is_some() && now.since(begun) >= RELEASE
    }
}

impl Body for Child {
    fn process(&self) -> Option<u32> {
        Some(self.process.id())
    }

    fn stuck(&mut self, now: Ns) -> Option<String> {
        self.kernel.look(now)
    }

    fn await_end(&mut self) -> String {
        let status = self.end();
        let words = match self.left_behind {
            // It holds the pipe open.
            true => Vec::new(),
            false => self.last_output.recv_timeout(LAST_OUTPUT_WAIT).unwrap_or_default(),
        };
        let words = String::from_utf8_lossy(&words);
        let how = match status {
            Ok(status) => format!("its process ended with {status}"),
            Err(error) => format!("its process could not be waited for: {error}"),
        };
        match words.trim() {
            "" => how,
            words => format!("{how}; last output: {words}"),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A child that cannot be waited for has been reaped already.
        let _ = self.end();
    }
}

/// Reads a child's standard error to the end and keeps its last bytes.
fn listen(mut stderr: impl Read) -> Vec<u8> {
    let mut words = Vec::new();
    let mut chunk = [0; 512];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        words.extend_from_slice(&chunk[..count]);
        let surplus = words.len().saturating_sub(LAST_OUTPUT_MAX);
        words.drain(..surplus);
    }
    words
}
