//! A block device in memory for both tools: a zram of our own, filled with pseudo-random data before anything is read,
//! because a page that was never written costs a memset and not a read. Removed in the end.

use crate::tools::Problem;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const CONTROL: &str = "/sys/class/zram-control";

/// Its size in bytes.
pub const SIZE: u64 = 256 << 20;

/// A zram device. Dropping it removes it.
pub struct Zram {
    number: u32,
    /// Its block device.
    pub path: PathBuf,
}

impl Zram {
    /// Makes and fills one; `None` where this is not root's Linux with zram.
    pub fn new() -> Result<Option<Zram>, Problem> {
        let Ok(text) = fs::read_to_string(Path::new(CONTROL).join("hot_add")) else {
            return Ok(None);
        };
        let Ok(number) = text.trim().parse() else { return Ok(None) };
        let zram = Zram { number, path: PathBuf::from(format!("/dev/zram{number}")) };
        let size = PathBuf::from(format!("/sys/block/zram{number}/disksize"));
        fs::write(&size, SIZE.to_string()).map_err(|e| Problem::file(&size, e))?;
        zram.fill().map_err(|e| Problem::file(&zram.path, e))?;
        Ok(Some(zram))
    }

    /// `major:minor`, as control groups name it.
    pub fn device_number(&self) -> Result<String, Problem> {
        let path = PathBuf::from(format!("/sys/block/zram{}/dev", self.number));
        let text = fs::read_to_string(&path).map_err(|e| Problem::file(&path, e))?;
        Ok(text.trim().to_owned())
    }

    fn fill(&self) -> std::io::Result<()> {
        let mut device = fs::OpenOptions::new().write(true).open(&self.path)?;
        let mut random = clock::Rng::keyed(1, &[]);
        let mut block = vec![0; 1 << 20];
        for _ in 0..SIZE / block.len() as u64 {
            random.fill(&mut block);
            device.write_all(&block)?;
        }
        device.sync_all()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(Path::new(CONTROL).join("hot_remove"), self.number.to_string());
    }
}
