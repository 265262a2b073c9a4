//! Page-aligned buffers for the kernel's copies, so that the allocator does not decide alignment; and unnamed files.

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use std::fs::File;
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

/// Where a buffer begins is a multiple of this.
const PAGE: usize = 4096;

pub(crate) struct ZeroPages {
    bytes: Vec<u8>,
    from: usize,
    len: usize,
}

impl ZeroPages {
    pub(crate) fn zeroed(len: usize) -> ZeroPages {
        let bytes = vec![0; len + PAGE];
        let from = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        ZeroPages { bytes, from, len }
    }
}

impl Deref for ZeroPages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.from..self.from + self.len]
    }
}

impl DerefMut for ZeroPages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.len]
    }
}

/// An unnamed file of these bytes, for `sendfile`: in the directory of temporary files, whose file system keeps its pages
/// together, or else in memory.
pub(crate) fn nameless(bytes: &[u8]) -> io::Result<File> {
    let there = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = open(std::env::temp_dir(), there, Mode::RUSR | Mode::WUSR)
        .or_else(|_| memfd_create("net-message", MemfdFlags::CLOEXEC))?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    #[test]
    fn buffers_begin_on_a_page() {
        for len in [0, 1, 4095, 4096, 131_072] {
            let mut pages = ZeroPages::zeroed(len);
            assert_eq!((pages.len(), pages.as_ptr() as usize % PAGE), (len, 0));
            pages.fill(7);
            assert!(pages.iter().all(|byte| *byte == 7));
        }
    }

    #[test]
    fn a_nameless_file_holds_what_it_was_given() {
        let mut file = nameless(b"message").unwrap();
        let mut back = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut back).unwrap();
        assert_eq!(back, "message");
    }
}
