//! `sadf -j` as a stream: one interval of a host at a time, however long the file is. What is around the intervals of a host, its
//! name and its processors, is read once as a document that is cut off.

use super::error::ReadError;
use super::json::{Json, Mended, documents};
use super::lines::Lines;
use std::io::BufRead;

/// Bytes of one interval, and of what stands before those of a host, at most.
const MOST: usize = 64 << 20;

/// Where the reading is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before the list of a host's intervals.
    Head,
    /// Between intervals; how many commas were seen since the last.
    Between(u64),
    /// Within one, at a depth of so many brackets.
    Within(usize),
}

/// Reads intervals from lines.
struct Scanner<'a> {
    state: State,
    /// What is collected: the head of a host, or an interval, with the line and column at which it begins.
    piece: String,
    begins: (u64, u64),
    quoted: bool,
    escaped: bool,
    host: Json,
    found: u64,
    mended: Mended,
    call: &'a mut dyn FnMut(&Json, &Json) -> Result<(), ReadError>,
}

/// Calls with host and interval for each interval; what was mended.
pub(super) fn intervals(
    from: impl BufRead,
    call: &mut dyn FnMut(&Json, &Json) -> Result<(), ReadError>,
) -> Result<Mended, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut scanner = Scanner {
        state: State::Head,
        piece: String::new(),
        begins: (1, 1),
        quoted: false,
        escaped: false,
        host: Json::Null,
        found: 0,
        mended: Mended::default(),
        call,
    };
    let mut last = (1, 1);
    while let Some((number, line)) = lines.text()? {
        scanner.line(number, &line)?;
        last = (number, line.chars().count() as u64 + 1);
    }
    // An interval that is cut off is left out; so are brackets that close nothing more.
    let open = matches!(scanner.state, State::Within(_) | State::Between(_));
    if open || scanner.found == 0 && !scanner.piece.trim().is_empty() {
        scanner.mended.cut_off = Some(last);
    }
    Ok(scanner.mended)
}

impl Scanner<'_> {
    fn line(&mut self, number: u64, line: &str) -> Result<(), ReadError> {
        for (column, byte) in (1_u64..).zip(line.chars()) {
            self.next(byte, (number, column))?;
        }
        self.next('\n', (number, line.chars().count() as u64 + 1))
    }

    fn next(&mut self, byte: char, at: (u64, u64)) -> Result<(), ReadError> {
        match self.state {
            State::Between(commas) => match byte {
                '{' => {
                    // One comma between two intervals; more or fewer have been mended.
                    self.mended.commas += u64::from(self.found > 0 && commas != 1);
                    self.state = State::Within(1);
                    (self.piece, self.begins) = (String::from('{'), at);
                }
                ',' => self.state = State::Between(commas + 1),
                ']' => {
                    self.state = State::Head;
                    self.piece.clear();
                    self.begins = at;
                }
                _ => {}
            },
            State::Within(depth) => {
                self.piece.push(byte);
                let inside = self.within_quotes(byte);
                let depth = match byte {
                    '{' | '[' if !inside => depth + 1,
                    '}' | ']' if !inside => depth - 1,
                    _ => depth,
                };
                self.state = State::Within(depth);
                if depth == 0 {
                    self.state = State::Between(0);
                    self.interval()?;
                }
            }
            State::Head => {
                self.piece.push(byte);
                let inside = self.within_quotes(byte);
                let list = byte == '[' && !inside && {
                    let before = self.piece[..self.piece.len() - 1].trim_end();
                    before
                        .strip_suffix(':')
                        .is_some_and(|b| b.trim_end().ends_with("\"statistics\""))
                };
                if list {
                    let (all, _) = documents(&self.piece)?;
                    let mut host = Json::Null;
                    for json in all {
                        host = host_of(json).unwrap_or(host);
                    }
                    (self.host, self.state, self.found) = (host, State::Between(0), 0);
                    self.piece.clear();
                }
            }
        }
        match self.piece.len() > MOST {
            true => Err(ReadError::new(at.0, at.1, "an interval of more than 64 MiB is not read")),
            false => Ok(()),
        }
    }

    /// Whether a byte is within quotes, or one of them.
    fn within_quotes(&mut self, byte: char) -> bool {
        let before = self.quoted;
        match byte {
            _ if self.escaped => self.escaped = false,
            '\\' if self.quoted => self.escaped = true,
            '"' => self.quoted = !self.quoted,
            // No text of sysstat goes over a line: quotes that are not closed end with it.
            '\n' => self.quoted = false,
            _ => {}
        }
        before || self.quoted
    }

    fn interval(&mut self) -> Result<(), ReadError> {
        let (line, column) = self.begins;
        let moved = |mut error: ReadError| {
            error.column += if error.line == 1 { column - 1 } else { 0 };
            error.line += line - 1;
            error
        };
        let (all, mended) = documents(&self.piece).map_err(moved)?;
        self.mended.decimal_commas += mended.decimal_commas;
        self.mended.commas += mended.commas;
        self.found += 1;
        self.piece.clear();
        all.iter().try_for_each(|report| (self.call)(&self.host, report)).map_err(moved)
    }
}

/// The last host of a document; of what stands behind the intervals of one, the next.
fn host_of(json: Json) -> Option<Json> {
    let hosts = json.path("sysstat/hosts").map(Json::items).unwrap_or_default();
    let last = hosts.last().cloned();
    last.or_else(|| json.get("nodename").is_some().then_some(json))
}
