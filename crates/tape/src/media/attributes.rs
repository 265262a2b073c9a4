//! The medium auxiliary memory (SPC-4, 7.4): attributes of a cartridge, kept in a text file beside it, which is replaced as a
//! whole. A file that is missing or damaged is an empty memory; the records of the cartridge do not depend on it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// Bytes that the attributes of hosts may take.
const ROOM: usize = 8 << 10;

/// One attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// 0 binary, 1 ASCII, 2 text.
    pub format: u8,
    /// Its value.
    pub value: Vec<u8>,
}

/// The attributes that hosts wrote, and the counters of the medium.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// By their identifiers.
    pub hosts: BTreeMap<u16, Attribute>,
    /// Times that it was loaded.
    pub loads: u64,
    /// Bytes that were written in its life.
    pub written: u64,
    /// Bytes that were read in its life.
    pub read: u64,
    /// Serial numbers of the drives of the last four loads, the latest first.
    pub drives: Vec<String>,
}

/// Host attributes by identifier: format and longest value (SPC-4, table 374).
const HOSTS: [(u16, u8, usize); 12] = [
    (0x0800, 1, 8),
    (0x0801, 1, 32),
    (0x0802, 1, 8),
    (0x0803, 2, 160),
    (0x0804, 1, 12),
    (0x0805, 0, 1),
    (0x0806, 1, 32),
    (0x0807, 2, 80),
    (0x0808, 2, 160),
    (0x0809, 1, 16),
    (0x080b, 1, 16),
    (0x080c, 0, 1023),
];

impl Attributes {
    /// Reads a file.
    pub fn load(path: &Path) -> Attributes {
        fs::read_to_string(path).ok().and_then(|text| Attributes::parse(&text)).unwrap_or_default()
    }

    /// Replaces the file.
    /// # Errors
    /// It cannot be written.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        crate::library::replace(path, self.text().as_bytes())
    }

    /// Format and longest value of an attribute that hosts may write.
    pub fn hosts_may_write(identifier: u16) -> Option<(u8, usize)> {
        HOSTS.iter().find(|host| host.0 == identifier).map(|host| (host.1, host.2))
    }

    /// Bytes that the attributes of hosts may take.
    pub fn room() -> usize {
        ROOM
    }

    /// Whether there is room for the host attributes.
    pub fn fits(&self) -> bool {
        self.taken() <= ROOM
    }

    /// Bytes that the host attributes take.
    pub fn taken(&self) -> usize {
        self.hosts.values().map(|one| one.value.len() + 5).sum()
    }

    fn text(&self) -> String {
        let mut text = format!(
            "wirespeed-mam 1\nloads {}\nwritten {}\nread {}\n",
            self.loads, self.written, self.read
        );
        for drive in &self.drives {
            // A String takes every line.
            let _ = writeln!(text, "drive {drive}");
        }
        for (identifier, one) in &self.hosts {
            let hex: String = one.value.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(text, "attribute {identifier:04x} {} {hex}", one.format);
        }
        let crc = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "crc {crc:08x}");
        text
    }

    fn parse(text: &str) -> Option<Attributes> {
        let (body, crc) = text.trim_end().rsplit_once('\n')?;
        let crc = u32::from_str_radix(crc.strip_prefix("crc ")?, 16).ok()?;
        let body = format!("{body}\n");
        if crc32c::crc32c(body.as_bytes()) != crc {
            return None;
        }
        let mut lines = body.lines();
        lines.next().filter(|line| *line == "wirespeed-mam 1")?;
        let mut read = Attributes::default();
        for line in lines {
            let (word, rest) = line.split_once(' ')?;
            match word {
                "loads" => read.loads = rest.parse().ok()?,
                "written" => read.written = rest.parse().ok()?,
                "read" => read.read = rest.parse().ok()?,
                "drive" => read.drives.push(rest.to_owned()),
                "attribute" => {
                    let mut parts = rest.splitn(3, ' ');
                    let identifier = u16::from_str_radix(parts.next()?, 16).ok()?;
                    let format = parts.next()?.parse().ok()?;
                    let value = unhex(parts.next().unwrap_or_default())?;
                    read.hosts.insert(identifier, Attribute { format, value });
                }
                _ => return None,
            }
        }
        Some(read)
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        let mut one = Attributes { loads: 3, written: 1 << 40, ..Attributes::default() };
        one.drives.push("WS0001".to_owned());
        one.hosts.insert(0x0801, Attribute { format: 1, value: b"Bacula".to_vec() });
        one.hosts.insert(0x0805, Attribute { format: 0, value: vec![0x81] });
        one.hosts.insert(0x0803, Attribute { format: 2, value: Vec::new() });
        assert_eq!(Attributes::parse(&one.text()), Some(one.clone()));
        let torn = one.text().replace("loads 3", "loads 4");
        assert_eq!(Attributes::parse(&torn), None);
        assert_eq!(Attributes::parse(""), None);
    }
}
