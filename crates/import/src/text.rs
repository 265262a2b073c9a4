//! Bytes of a file to text: byte order marks, UTF-16 as Windows writes it, old code pages, line ends.

/// The largest file that is read. Hand-written workloads have some kilobytes.
pub const BYTES_MAX: usize = 1 << 20;

/// The text of a file with line feeds alone as line ends.
pub(crate) fn decode(bytes: &[u8]) -> Result<String, String> {
    if bytes.len() > BYTES_MAX {
        return Err("larger than 1 MiB: not a workload file".to_owned());
    }
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        // Without a mark: the first character of every format is ASCII.
        [first, 0, ..] if *first != 0 => utf16(bytes, u16::from_le_bytes)?,
        [0, first, ..] if *first != 0 => utf16(bytes, u16::from_be_bytes)?,
        _ => utf8(bytes),
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let strange = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\u{c}');
    if let Some((line, found)) = (1..)
        .zip(text.split('\n'))
        .find_map(|(line, t)| Some((line, t.chars().find(|c| strange(*c))?)))
    {
        return Err(format!("not text: line {line} holds the control character {found:?}"));
    }
    if text.trim().is_empty() {
        return Err("the file is empty".to_owned());
    }
    Ok(text)
}

/// UTF-8, or, where it is not, Windows' Western code page: in these files only names leave ASCII.
fn utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).map(printable).collect(),
    }
}

/// The second set of control characters, which code pages use for letters and quotation marks.
fn printable(c: char) -> char {
    if ('\u{80}'..='\u{9f}').contains(&c) { '\u{fffd}' } else { c }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    if !bytes.len().is_multiple_of(2) {
        return Err("cut off: UTF-16 text of an odd number of bytes".to_owned());
    }
    char::decode_utf16(units)
        .collect::<Result<String, _>>()
        .map_err(|_| "not text: neither UTF-8 nor UTF-16".to_owned())
}
