//! Files packed by gzip, as long logs of esxtop are: unpacked while they are read.

use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Result};
use std::rc::Rc;

/// Bytes that are unpacked at once: the head of a file must fit.
const BUFFER: usize = 1 << 20;

/// A file as its reader takes it.
pub struct Plain<'a> {
    /// Its bytes, unpacked.
    pub from: Box<dyn BufRead + 'a>,
    /// Whether the packed file ended before its end, once all has been read.
    pub cut: Rc<Cell<bool>>,
}

/// The bytes of a file, unpacked where it is packed.
/// # Errors
/// Where the file cannot be read.
pub fn plain<'a>(mut from: impl BufRead + 'a) -> Result<Plain<'a>> {
    let cut = Rc::new(Cell::new(false));
    if !from.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Plain { from: Box::new(from), cut });
    }
    let steady = Steady { from: MultiGzDecoder::new(from), cut: Rc::clone(&cut) };
    Ok(Plain { from: Box::new(BufReader::with_capacity(BUFFER, steady)), cut })
}

/// Fills what it is given, and takes a packed file that is cut off for one that ends there.
struct Steady<R> {
    from: R,
    cut: Rc<Cell<bool>>,
}

impl<R: Read> Read for Steady<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut got = 0;
        while got < out.len() && !self.cut.get() {
            match self.from.read(&mut out[got..]) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.cut.set(true),
                Err(error) => return Err(error),
            }
        }
        Ok(got)
    }
}
