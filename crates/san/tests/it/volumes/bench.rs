//! One thread's executor, driven until a command is over.

use crate::prelude::*;
use rustix::event::{PollFd, PollFlags, poll};
use san::volume::{
    Buffer, Data, FinishedCommand, Handle, IoConfig, Volume, VolumeExecutor, VolumeJob, VolumeSpec,
};

/// An executor and the one volume that most tests need.
pub struct Bench {
    pub io: VolumeExecutor,
    pub volume: Handle,
}

/// Without the pace that SANITIZE has for people who watch it.
pub fn quick() -> IoConfig {
    IoConfig { sanitize: clock::Ns(0), ..IoConfig::default() }
}

/// A volume by its text, which must open.
#[track_caller]
pub fn open(text: &str) -> Arc<Volume> {
    let spec: VolumeSpec = text.parse().unwrap_or_else(|e| panic!("{e}"));
    Volume::open(&spec, "WS-TEST").unwrap_or_else(|e| panic!("{text}: {e}"))
}

pub fn extent(lba: u64, blocks: u64) -> BlockRange {
    BlockRange { lba, blocks }
}

impl Bench {
    pub fn new(volume: Arc<Volume>, config: IoConfig) -> Bench {
        Bench { io: VolumeExecutor::new(config).expect("an executor"), volume: Handle::new(volume) }
    }

    #[track_caller]
    pub fn of(text: &str) -> Bench {
        Bench::new(open(text), quick())
    }

    /// A buffer with these bytes.
    pub fn buffer(&self, bytes: &[u8]) -> Buffer {
        let mut buffer = self.io.buffer(bytes.len()).expect("memory");
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Does a command to its end.
    #[track_caller]
    pub fn run(&mut self, medium: Medium, data: Data) -> FinishedCommand {
        let job = VolumeJob { token: 7, volume: self.volume.clone(), medium, data };
        if let Some(done) = self.io.start(job) {
            return done;
        }
        let mut done = Vec::new();
        self.until(1, &mut done);
        done.remove(0)
    }

    /// Waits as a server does, on the descriptor, until so many commands are over.
    #[track_caller]
    pub fn until(&mut self, many: usize, done: &mut Vec<FinishedCommand>) {
        let limit = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
        while done.len() < many {
            self.io.submit();
            let fd = self.io.fd();
            let told = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)).expect("polled");
            assert!(told > 0, "nothing happens any more; {} commands are open", self.io.open());
            self.io.reap(done);
        }
    }

    /// Does a command that sends bytes and must succeed.
    #[track_caller]
    pub fn good(&mut self, medium: Medium, bytes: &[u8]) -> FinishedCommand {
        let data = if bytes.is_empty() { Data::None } else { Data::Buffer(self.buffer(bytes)) };
        let done = self.run(medium, data);
        assert_eq!(done.ending, Ending::GOOD);
        done
    }

    #[track_caller]
    pub fn read(&mut self, lba: u64, blocks: u64) -> Vec<u8> {
        bytes(&self.good(Medium::Read(extent(lba, blocks)), &[]).data)
    }

    #[track_caller]
    pub fn write(&mut self, lba: u64, data: &[u8]) {
        let blocks = data.len() as u64 / u64::from(self.volume.attributes().block);
        self.good(Medium::Write { to: extent(lba, blocks), durable: false }, data);
    }
}

/// What is sent, as `sendmsg` would take it: by the pieces, which must agree with a copy.
#[track_caller]
pub fn bytes(data: &Data) -> Vec<u8> {
    let mut pieces = Vec::new();
    data.pieces(0, data.len(), &mut pieces);
    let mut out = Vec::new();
    for piece in pieces {
        // SAFETY: valid while `data` lives, by the contract of `pieces`; nobody writes there in these tests.
        out.extend_from_slice(unsafe {
            std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len)
        });
    }
    let mut copy = vec![0xee; data.len()];
    assert_eq!(data.copy_to(0, &mut copy), data.len());
    assert!(copy == out, "the pieces are not what a copy holds");
    out
}

/// A block device over a file, gone when it is dropped. `None` where there are none to be had.
pub struct Loop(pub String);

impl Loop {
    pub fn over(file: &std::path::Path, block: u32) -> Option<Loop> {
        let made = std::process::Command::new("losetup")
            .args(["--find", "--show", "--sector-size", &block.to_string()])
            .arg(file)
            .output()
            .ok()?;
        if !made.status.success() {
            println!("skipped: no loop device ({})", String::from_utf8_lossy(&made.stderr).trim());
            return None;
        }
        Some(Loop(String::from_utf8_lossy(&made.stdout).trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// The token by which a target may be written.
#[track_caller]
pub fn token(path: &str) -> String {
    let report = disk::inspect(&engine::TargetSpec::new("t", path), true);
    report.examined.expect("not ours").expect("examined").token
}
