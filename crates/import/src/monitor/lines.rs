//! Lines of a file of any encoding: UTF-8, UTF-16 with or without its mark, and code pages of one byte a character.

use super::error::ReadError;
use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::borrow::Cow;
use std::io::{BufRead, Read};

/// Bytes of one line at most.
const LINE_MAX: usize = 64 << 20;
/// Bytes that are converted at once.
const CHUNK: usize = 1 << 16;

/// The lines of a file, one after the other, in memory for one.
pub(super) struct Lines<R> {
    from: R,
    /// Converts UTF-16, which has no lines of bytes; `None` where bytes are passed on.
    decoder: Option<Decoder>,
    /// The code page of what is not UTF-8.
    page: &'static Encoding,
    line: Vec<u8>,
    converted: Vec<u8>,
    /// Where the rest of `converted` begins.
    at: usize,
    number: u64,
    ended: bool,
}

/// The encoding that the first bytes show, where it is one of two bytes a character.
fn wide(first: &[u8]) -> Option<&'static Encoding> {
    match first {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        [a, 0, b, 0, ..] if *a != 0 && *b != 0 => Some(UTF_16LE),
        [0, a, 0, b, ..] if *a != 0 && *b != 0 => Some(UTF_16BE),
        _ => None,
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of a file; what is not UTF-8 is taken for Windows-1252.
    pub fn new(mut from: R) -> Result<Lines<R>, ReadError> {
        let first = from.fill_buf()?;
        let decoder = wide(first).map(Encoding::new_decoder_with_bom_removal);
        if decoder.is_none() && first.starts_with(&[0xef, 0xbb, 0xbf]) {
            from.consume(3);
        }
        Ok(Lines {
            from,
            decoder,
            page: WINDOWS_1252,
            line: Vec::new(),
            converted: Vec::new(),
            at: 0,
            number: 0,
            ended: false,
        })
    }

    /// The next line without its end, with its number from 1; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>, ReadError> {
        self.line.clear();
        let got = match self.decoder {
            None => {
                let limit = LINE_MAX as u64 + 1;
                (&mut self.from).take(limit).read_until(b'\n', &mut self.line)? > 0
            }
            Some(_) => self.convert()?,
        };
        if !got {
            return Ok(None);
        }
        self.number += 1;
        if self.line.len() > LINE_MAX {
            return Err(ReadError::new(self.number, 1, "a line of more than 64 MiB is not read"));
        }
        while matches!(self.line.last(), Some(b'\n' | b'\r')) {
            self.line.pop();
        }
        Ok(Some((self.number, &self.line)))
    }

    /// The next line as text.
    pub fn text(&mut self) -> Result<Option<(u64, Cow<'_, str>)>, ReadError> {
        let page = self.page;
        Ok(self.next()?.map(|(number, bytes)| (number, text(bytes, page))))
    }

    /// Takes a line of UTF-16.
    fn convert(&mut self) -> Result<bool, ReadError> {
        loop {
            let rest = &self.converted[self.at..];
            if let Some(end) = rest.iter().position(|b| *b == b'\n') {
                self.line.extend_from_slice(&rest[..=end]);
                self.at += end + 1;
                return Ok(true);
            }
            self.line.extend_from_slice(rest);
            self.converted.clear();
            self.at = 0;
            if self.line.len() > LINE_MAX {
                return Ok(true);
            }
            if self.ended {
                return Ok(!self.line.is_empty());
            }
            let Some(decoder) = &mut self.decoder else { return Ok(false) };
            let bytes = self.from.fill_buf()?;
            let taken = bytes.len().min(CHUNK);
            let last = taken == 0;
            let mut out = String::with_capacity(taken * 3 + 16);
            let (_, read, _) = decoder.decode_to_string(&bytes[..taken], &mut out, last);
            self.from.consume(read);
            self.converted.extend_from_slice(out.as_bytes());
            self.ended = last;
        }
    }
}

/// Bytes as text: UTF-8, or else of a code page.
pub(super) fn text<'a>(bytes: &'a [u8], page: &'static Encoding) -> Cow<'a, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => page.decode_without_bom_handling(bytes).0,
    }
}

/// A whole file as text, of at most so many bytes.
pub(super) fn whole(from: impl BufRead, most: u64) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("a file of this format with more than {} MiB is not read", most >> 20);
        return Err(ReadError::new(1, 1, text));
    }
    let (encoding, skip) = match Encoding::for_bom(&bytes) {
        Some((encoding, skip)) => (encoding, skip),
        None => (wide(&bytes).unwrap_or(UTF_8), 0),
    };
    let (text, _, wrong) = encoding.decode(&bytes[skip..]);
    Ok(match wrong {
        false => text.into_owned(),
        true => WINDOWS_1252.decode(&bytes[skip..]).0.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(bytes).unwrap();
        let mut out = Vec::new();
        while let Some((_, text)) = lines.text().unwrap() {
            out.push(text.into_owned());
        }
        out
    }

    #[test]
    fn every_encoding_has_the_same_lines() {
        let text = "größe;1\r\nzwei\n";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        let page: Vec<u8> = text.chars().map(|c| c as u8).collect();
        for bytes in [
            text.as_bytes().to_vec(),
            marked(&[0xef, 0xbb, 0xbf], text.as_bytes()),
            marked(&[0xff, 0xfe], &utf16),
            marked(&[0xfe, 0xff], &big),
            utf16,
            page,
        ] {
            assert_eq!(lines(&bytes), ["größe;1", "zwei"], "{bytes:x?}");
        }
    }
}
