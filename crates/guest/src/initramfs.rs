//! The initial file system of a guest: a cpio archive of the kernel's `newc` form (`buffer-format.rst` of the kernel's
//! documentation), packed so that a guest boots soon, or so that it needs little memory.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// How a compressed image begins: LZ4's first frame format, the only one that kernels read.
const LZ4_MAGIC: u32 = 0x184C_2102;
/// Bytes of one of its blocks, decompressed.
const LZ4_BLOCK: usize = 8 << 20;
/// How hard gzip tries, of 9: more takes the host longer and saves little.
const LEVEL: u32 = 6;

/// Type and permission bits of what an archive holds.
const DIRECTORY: u32 = 0o040_755;
const CHARACTER_DEVICE: u32 = 0o020_600;
const REGULAR: u32 = 0o100_000;

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// In the kernel's own frame of LZ4, which takes a guest least time.
    Lz4,
    /// By gzip: smaller, and unpacked without a buffer, but a second or more later where each instruction is translated.
    Gzip,
}

impl Packing {
    /// Writes an archive compressed.
    /// # Errors
    /// It cannot be written.
    pub fn write(self, archive: &[u8], out: &mut impl Write) -> io::Result<()> {
        match self {
            Packing::Lz4 => lz4(archive, out),
            Packing::Gzip => {
                let mut packed = GzEncoder::new(out, Compression::new(LEVEL));
                packed.write_all(archive)?;
                packed.finish()?.flush()
            }
        }
    }

    /// Bytes of memory that a kernel takes to unpack it, beside the archive in both forms.
    pub fn buffer(self) -> u64 {
        match self {
            Packing::Lz4 => LZ4_BLOCK as u64,
            Packing::Gzip => 0,
        }
    }
}

fn lz4(archive: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(&LZ4_MAGIC.to_le_bytes())?;
    for block in archive.chunks(LZ4_BLOCK) {
        let packed = lz4_flex::block::compress(block);
        let length = u32::try_from(packed.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&packed)?;
    }
    out.flush()
}

/// An archive under construction. Directories must come before what is in them.
pub struct Initramfs<W: Write> {
    out: W,
    /// Bytes so far; entries are aligned to four.
    written: u64,
    entries: u32,
}

impl<W: Write> Initramfs<W> {
    /// An empty archive.
    pub fn new(out: W) -> Initramfs<W> {
        Initramfs { out, written: 0, entries: 0 }
    }

    /// Adds a directory, by its path without a leading slash.
    /// # Errors
    /// The archive cannot be written.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY, (0, 0), &[])
    }

    /// Adds a file with these permission bits.
    /// # Errors
    /// The archive cannot be written, or a file is longer than the form can say: 4 GiB.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.entry(path, REGULAR | permissions, (0, 0), content)
    }

    /// Adds a character device by its numbers.
    /// # Errors
    /// The archive cannot be written.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE, (major, minor), &[])
    }

    /// Ends the archive and hands it back.
    /// # Errors
    /// The archive cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(
        &mut self,
        path: &str,
        mode: u32,
        (major, minor): (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        let long = || io::Error::new(io::ErrorKind::InvalidInput, format!("{path} is too long"));
        let size = u32::try_from(content.len()).map_err(|_| long())?;
        let name = u32::try_from(path.len() + 1).map_err(|_| long())?;
        self.entries += 1;
        let links = if mode & 0o170_000 == DIRECTORY & 0o170_000 { 2 } else { 1 };
        // Inode, mode, owner, group, links, time, size, device, device numbers, length of the name, checksum.
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, major, minor, name, 0];
        let mut header = String::from("070701");
        fields.iter().for_each(|field| header.push_str(&format!("{field:08x}")));
        header.push_str(path);
        header.push('\0');
        self.aligned(header.as_bytes())?;
        self.aligned(content)
    }

    fn aligned(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        let padding = (self.written.next_multiple_of(4) - self.written) as usize;
        self.written += padding as u64;
        self.out.write_all(&[0; 3][..padding])
    }
}
