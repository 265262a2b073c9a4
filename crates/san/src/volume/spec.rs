//! The syntax of `--volume`: `ram:SIZE`, `file:PATH`, `block:PATH`, each with options after commas. Pure text: nothing is
//! opened here. An error gives its position, what was expected, and the nearest word.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use units::Bytes;

/// Every option with what it takes, for suggestions.
const OPTIONS: [&str; 8] =
    ["thin", "ro", "block", "serial", "write-through", "size", "write-token", "overwrite"];

/// The kinds of volumes.
const KINDS: [&str; 3] = ["ram", "file", "block"];

/// The longest unit serial number, in characters; one longer would not fit into fixed fields of initiators.
const SERIAL_MAX: usize = 32;

/// What is to be served, as the user says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// What holds the bytes.
    pub kind: VolumeKind,
    /// Space is allocated by writes and freed by UNMAP.
    pub thin: bool,
    /// Nothing may be written.
    pub read_only: bool,
    /// Bytes of a logical block: 512 or 4096.
    pub block: u32,
    /// The unit serial number; without one the target makes it of its name and the LUN.
    pub serial: Option<String>,
    /// Writes are acknowledged when they are on the backing store.
    pub write_through: bool,
    /// The token that allows writing, where Wirespeed did not create the target.
    pub write_token: Option<String>,
    /// What it carries may be lost.
    pub overwrite: bool,
}

/// What holds the bytes of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// Memory of this process.
    Ram {
        /// Bytes.
        size: u64,
    },
    /// A file.
    File {
        /// Where.
        path: String,
        /// Bytes, for one that is made.
        size: Option<u64>,
    },
    /// A block device.
    Block {
        /// Where.
        path: String,
    },
}

/// A mistake in a `--volume`, shown with the text and a mark under the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SpecError {
    /// The whole text.
    pub text: String,
    /// Which bytes of it are meant.
    pub span: Range<usize>,
    /// What is wrong, what is expected, what may have been meant.
    pub problem: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.span.start).map_or(0, |t| t.chars().count());
        let marked = self.text.get(self.span.clone()).map_or(0, |t| t.chars().count());
        let marks = "^".repeat(marked.max(1));
        write!(f, "{}\n  {}\n  {:before$}{marks}", self.problem, self.text, "")
    }
}

impl FromStr for VolumeSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<VolumeSpec, SpecError> {
        let fields = fields(text);
        let (first, options) = fields.split_first().ok_or_else(|| empty(text))?;
        let mut spec = VolumeSpec {
            kind: kind(text, first)?,
            thin: false,
            read_only: false,
            block: 512,
            serial: None,
            write_through: false,
            write_token: None,
            overwrite: false,
        };
        let mut seen: Vec<&str> = Vec::new();
        for field in options {
            let name = spec.option(text, field)?;
            if seen.contains(&name) {
                return Err(field.error(text, format!("`{name}` is given twice; remove one")));
            }
            seen.push(name);
        }
        spec.whole(text, first)?;
        Ok(spec)
    }
}

impl VolumeSpec {
    /// Takes one option; returns its name.
    fn option(&mut self, text: &str, field: &SpecField) -> Result<&'static str, SpecError> {
        let (name, value) = match field.value.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (field.value.as_str(), None),
        };
        let Some(known) = OPTIONS.into_iter().find(|known| *known == name) else {
            let problem = format!(
                "`{name}` is no option of a volume{}; there are {}",
                nearest(name, &OPTIONS),
                list(&OPTIONS)
            );
            return Err(field.error(text, problem));
        };
        let flag = match known {
            "thin" => Some(&mut self.thin),
            "ro" => Some(&mut self.read_only),
            "write-through" => Some(&mut self.write_through),
            "overwrite" => Some(&mut self.overwrite),
            _ => None,
        };
        match (flag, value) {
            (Some(flag), None) => *flag = true,
            (Some(_), Some(_)) => {
                return Err(field.error(text, format!("`{known}` takes no value")));
            }
            (None, None | Some("")) => {
                let example = example(known);
                return Err(
                    field.error(text, format!("`{known}` needs a value, as in `{example}`"))
                );
            }
            (None, Some(value)) => self.valued(text, field, known, value)?,
        }
        Ok(known)
    }

    fn valued(
        &mut self,
        text: &str,
        field: &SpecField,
        name: &str,
        value: &str,
    ) -> Result<(), SpecError> {
        match name {
            "block" => {
                self.block = match value {
                    "512" => 512,
                    "4096" => 4096,
                    _ => {
                        let problem = "a logical block has 512 or 4096 bytes: `block=4096`";
                        return Err(field.error(text, problem.to_owned()));
                    }
                }
            }
            "serial" => {
                let fine = |c: char| c.is_ascii_graphic();
                if value.len() > SERIAL_MAX || !value.chars().all(fine) {
                    let problem = format!(
                        "a serial number has at most {SERIAL_MAX} characters of ASCII without spaces"
                    );
                    return Err(field.error(text, problem));
                }
                self.serial = Some(value.to_owned());
            }
            "size" => match &mut self.kind {
                VolumeKind::File { size, .. } => *size = Some(bytes(text, field, value)?),
                VolumeKind::Ram { .. } => {
                    let problem = "the size of memory stands behind `ram:`; leave `size` out";
                    return Err(field.error(text, problem.to_owned()));
                }
                VolumeKind::Block { .. } => {
                    let problem = "a block device has a size of its own; leave `size` out";
                    return Err(field.error(text, problem.to_owned()));
                }
            },
            _ => self.write_token = Some(value.to_owned()),
        }
        Ok(())
    }

    /// What only shows when all is read.
    fn whole(&self, text: &str, first: &SpecField) -> Result<(), SpecError> {
        let error = |problem: String| Err(first.error(text, problem));
        let size = match &self.kind {
            VolumeKind::Ram { size } => Some(*size),
            VolumeKind::File { size, .. } => *size,
            VolumeKind::Block { .. } => None,
        };
        if matches!(self.kind, VolumeKind::Ram { .. }) {
            if self.write_token.is_some() || self.overwrite {
                return error("memory needs no leave to be written; `write-token` and `overwrite` are for files and \
                              devices"
                    .to_owned());
            }
            if self.read_only {
                return error(
                    "memory that may only be read holds nothing but zeros; leave `ro` out"
                        .to_owned(),
                );
            }
        }
        if self.read_only && (self.write_token.is_some() || self.overwrite) {
            return error("`ro` contradicts a write permission; remove one".to_owned());
        }
        if self.overwrite && self.write_token.is_none() {
            return error("`overwrite` opens nothing without `write-token=`".to_owned());
        }
        match size {
            Some(size) if size < u64::from(self.block) => {
                error(format!("{size} bytes are less than one block of {}", self.block))
            }
            Some(size) if !size.is_multiple_of(u64::from(self.block)) => {
                let below = size - size % u64::from(self.block);
                error(format!(
                    "{size} bytes are not whole blocks of {}; {below} would be",
                    self.block
                ))
            }
            _ => Ok(()),
        }
    }
}

/// One part between commas, with its place.
struct SpecField {
    /// The text with doubled commas made single.
    value: String,
    span: Range<usize>,
}

impl SpecField {
    fn error(&self, text: &str, problem: String) -> SpecError {
        SpecError { text: text.to_owned(), span: self.span.clone(), problem }
    }
}

/// The parts between commas. A doubled comma is a comma of the text, as in qemu's options.
fn fields(text: &str) -> Vec<SpecField> {
    let mut all = Vec::new();
    let mut field = SpecField { value: String::new(), span: 0..0 };
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if c == ',' && rest.next_if(|(_, next)| *next == ',').is_none() {
            field.span.end = at;
            all.push(std::mem::replace(
                &mut field,
                SpecField { value: String::new(), span: at + 1..at + 1 },
            ));
            continue;
        }
        field.value.push(c);
    }
    field.span.end = text.len();
    all.push(field);
    all
}

fn kind(text: &str, first: &SpecField) -> Result<VolumeKind, SpecError> {
    let Some((kind, rest)) = first.value.split_once(':') else {
        return Err(empty(text));
    };
    let place = || first.error(text, format!("`{kind}:` needs {}", wanted(kind)));
    match kind {
        _ if rest.is_empty() && KINDS.contains(&kind) => Err(place()),
        "ram" => Ok(VolumeKind::Ram { size: bytes(text, first, rest)? }),
        "file" => Ok(VolumeKind::File { path: rest.to_owned(), size: None }),
        "block" => Ok(VolumeKind::Block { path: rest.to_owned() }),
        _ => {
            let span = 0..kind.len();
            let problem = format!(
                "`{kind}` is no kind of volume{}; there are {}",
                nearest(kind, &KINDS),
                list(&KINDS)
            );
            Err(SpecError { text: text.to_owned(), span, problem })
        }
    }
}

fn wanted(kind: &str) -> &'static str {
    match kind {
        "ram" => "a size, as in `ram:1GiB`",
        "file" => "a path, as in `file:/srv/disk.img,size=10GiB`",
        _ => "a device, as in `block:/dev/sdb`",
    }
}

fn example(option: &str) -> &'static str {
    match option {
        "block" => "block=4096",
        "serial" => "serial=WS0001",
        "size" => "size=10GiB",
        _ => "write-token=ws-vg04y-mx10r",
    }
}

fn bytes(text: &str, field: &SpecField, value: &str) -> Result<u64, SpecError> {
    match Bytes::parse(value) {
        Ok(Bytes(size)) if size <= 1 << 46 => Ok(size),
        Ok(_) => Err(field.error(text, "no volume is larger than 64 TiB".to_owned())),
        Err(e) => Err(field.error(text, e.to_string())),
    }
}

fn empty(text: &str) -> SpecError {
    let problem =
        "a volume is `ram:SIZE`, `file:PATH` or `block:PATH`, with options after commas".to_owned();
    SpecError { text: text.to_owned(), span: 0..text.len(), problem }
}

fn nearest(word: &str, known: &[&str]) -> String {
    let best = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(word, k), k))
        .min_by_key(|(distance, _)| *distance);
    match best {
        Some((distance, known)) if distance <= 2 => format!("; did you mean `{known}`?"),
        _ => String::new(),
    }
}

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
