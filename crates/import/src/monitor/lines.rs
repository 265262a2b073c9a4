//! Lines of a file of any encoding: UTF-8, UTF-16 with or without its mark, and Windows-1252; where names tell, also pages of consoles and of
//! Cyrillic.
//!
//! Of `encoding_rs` only the conversions of memory are used: its decoders bring the tables of every language with them.

use super::error::ReadError;
use encoding_rs::mem::convert_utf16_to_utf8;
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
    wide: Option<Utf16>,
    line: Vec<u8>,
    converted: Vec<u8>,
    /// Where the rest of `converted` begins.
    at: usize,
    number: u64,
    ended: bool,
}

/// Turns UTF-16 into UTF-8, a piece after the other.
struct Utf16 {
    /// Whether the first of two bytes is the greater one.
    big: bool,
    /// Whether nothing was converted yet: a mark may stand there.
    new: bool,
    /// What waits for the bytes behind it.
    rest: Vec<u8>,
}

impl Utf16 {
    /// Where the first bytes show that a file has two bytes a character.
    fn of(first: &[u8]) -> Option<Utf16> {
        let big = match first {
            [0xff, 0xfe, ..] => false,
            [0xfe, 0xff, ..] => true,
            [a, 0, b, 0, ..] if *a != 0 && *b != 0 => false,
            [0, a, 0, b, ..] if *a != 0 && *b != 0 => true,
            _ => return None,
        };
        Some(Utf16 { big, new: true, rest: Vec::new() })
    }

    /// Converts a piece; what is no character becomes U+FFFD.
    fn convert(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) {
        self.rest.extend_from_slice(bytes);
        let unit = |pair: &[u8]| match self.big {
            true => u16::from_be_bytes([pair[0], pair[1]]),
            false => u16::from_le_bytes([pair[0], pair[1]]),
        };
        let mut units: Vec<u16> = self.rest.chunks_exact(2).map(unit).collect();
        // Half of a pair waits for the other half.
        if !last && matches!(units.last(), Some(0xd800..=0xdbff)) {
            units.pop();
        }
        self.rest.drain(..units.len() * 2);
        if last && !self.rest.is_empty() {
            units.push(0xfffd);
        }
        let marked = self.new && units.first() == Some(&0xfeff);
        self.new &= units.is_empty();
        let units = &units[usize::from(marked)..];
        let begin = out.len();
        out.resize(begin + units.len() * 3, 0);
        let written = convert_utf16_to_utf8(units, &mut out[begin..]);
        out.truncate(begin + written);
    }
}

/// A text of two bytes a character as UTF-8; `None` where it is none.
pub(super) fn utf16(bytes: &[u8]) -> Option<String> {
    let mut out = Vec::new();
    Utf16::of(bytes)?.convert(bytes, true, &mut out);
    String::from_utf8(out).ok()
}

/// What Windows-1252 has where Latin-1 has no characters.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Bytes of Windows-1252 as text.
fn western(bytes: &[u8]) -> String {
    let of = |byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        other => char::from(*other),
    };
    bytes.iter().map(of).collect()
}

impl<R: BufRead> Lines<R> {
    /// The lines of a file; what is not UTF-8 is taken for Windows-1252.
    pub fn new(mut from: R) -> Result<Lines<R>, ReadError> {
        let first = from.fill_buf()?;
        let wide = Utf16::of(first);
        if wide.is_none() && first.starts_with(&[0xef, 0xbb, 0xbf]) {
            from.consume(3);
        }
        Ok(Lines {
            from,
            wide,
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
        let got = match self.wide {
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
        Ok(self.next()?.map(|(number, bytes)| (number, text(bytes))))
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
            let Some(wide) = &mut self.wide else { return Ok(false) };
            let bytes = self.from.fill_buf()?;
            let taken = bytes.len().min(CHUNK);
            self.ended = taken == 0;
            wide.convert(&bytes[..taken], self.ended, &mut self.converted);
            self.from.consume(taken);
        }
    }
}

/// What code pages have above ASCII.
pub(super) const PAGES: &[&str] = &[
    // 850: what consoles of Western Europe write into files.
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒ\
     áíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
     └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀\
     ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    // Windows-1251 and code page 866: Cyrillic, of files and of consoles.
    "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{fffd}™љ›њќћџ\
     \u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї°±Ііґµ¶·ё№є»јЅѕї\
     АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ\
     абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ\
     абвгдежзийклмноп░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
     └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
     рстуфхцчшщъыьэюяЁёЄєЇїЎў°∙·√№¤■\u{a0}",
];

/// Bytes of such a code page as text.
pub(super) fn paged(bytes: &[u8], page: &str) -> String {
    let upper: Vec<char> = page.chars().collect();
    let of = |byte: &u8| match byte.checked_sub(0x80) {
        Some(at) => upper.get(usize::from(at)).copied().unwrap_or(char::REPLACEMENT_CHARACTER),
        None => char::from(*byte),
    };
    bytes.iter().map(of).collect()
}

/// Whether a line is a shell's prompt, with a command or without: `[root@db1 ~]# iostat -x 5`, `me@db1:~$`, `# iostat -x`.
pub(super) fn is_prompt(line: &str) -> bool {
    let line = line.trim();
    let (before, behind) = match line.find(['#', '$']) {
        Some(at) => line.split_at(at),
        None => return false,
    };
    let ends = behind.len() == 1 || behind[1..].starts_with(' ');
    let at_host = before.split_once('@').is_some_and(|(user, host)| {
        let user = user.trim_start_matches('[');
        let word =
            |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let host = host.split([' ', ':', ']']).next().unwrap_or_default();
        !user.is_empty() && word(user) && !host.is_empty() && word(host)
    });
    let bare = before.is_empty() && behind.split_whitespace().nth(1).is_some_and(is_command);
    ends && (at_host || bare)
}

/// Whether a word is a command that prints what is read here.
pub(super) fn is_command(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(
        name,
        "iostat" | "sadf" | "cat" | "grep" | "snmpwalk" | "sudo" | "curl" | "fio" | "iperf3"
    )
}

/// Bytes as text: UTF-8, or else Windows-1252.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| Cow::Owned(western(bytes)), Cow::Borrowed)
}

/// A whole file as text, of at most so many bytes.
pub(super) fn whole(from: impl BufRead, most: u64) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("a file of this format with more than {} MiB is not read", most >> 20);
        return Err(ReadError::new(1, 1, text));
    }
    if let Some(text) = utf16(&bytes) {
        return Ok(text);
    }
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| western(error.as_bytes())))
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
            assert_eq!(whole(&bytes[..], 100).unwrap(), text, "{bytes:x?}");
        }
    }

    /// Gives a reader one byte after the other.
    struct Bytewise<'a>(&'a [u8]);

    impl std::io::Read for Bytewise<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = usize::from(!self.0.is_empty() && !out.is_empty());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn pieces_of_utf16_are_put_together_and_what_is_no_character_is_marked() {
        let text = "a😀b\nü\n";
        for big in [false, true] {
            let unit = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
            let bytes: Vec<u8> =
                std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(unit).collect();
            let mut out = Vec::new();
            let mut wide = Utf16 { big, new: true, rest: Vec::new() };
            let mut from = std::io::BufReader::with_capacity(1, Bytewise(&bytes));
            while let Some(byte) = from.fill_buf().unwrap().first().copied() {
                from.consume(1);
                wide.convert(&[byte], false, &mut out);
            }
            wide.convert(&[], true, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
            // Cut within a character, and half of a pair alone.
            assert_eq!(utf16(&bytes[..bytes.len() - 1]).unwrap(), "a😀b\nü\u{fffd}");
            let half: Vec<u8> = [0xfeff, 0xd83d, 0x61].into_iter().flat_map(unit).collect();
            assert_eq!(utf16(&half).unwrap(), "\u{fffd}a");
        }
        assert_eq!(western(&[0x80, 0x9f, 0xe4, b'x']), "€Ÿäx");
    }
}
