//! What the program prints: results on standard output and nothing else there, notes on standard error. Names and messages
//! of peers, targets and files may hold anything, so all of it passes one filter here before a terminal sees it.

use crate::exit::Failure;
use console::{Term, measure_text_width, truncate_str};
use review::{plain, printable};
use std::fmt::Display;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};

/// Writes a result without colours.
pub fn result(text: &str) -> Result<(), Failure> {
    page(&plain(text))
}

/// Writes a result that we coloured, and whose words of others were cleaned.
pub fn coloured(text: &str) -> Result<(), Failure> {
    page(&printable(text))
}

/// Writes a page for a browser as it is: its templates have cleaned every word of others. A reader that has seen enough
/// (`| head`) is no failure; a full disk behind a redirection is.
pub fn page(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::incomplete(format!("the result could not be written: {e}")))
        }
        _ => Ok(()),
    }
}

/// Where results go that are too large to be held: lines, each filtered as it is written.
pub fn rows() -> impl Write {
    Rows { out: BufWriter::new(std::io::stdout().lock()), line: Vec::new() }
}

struct Rows<W> {
    out: W,
    /// The beginning of a line.
    line: Vec<u8>,
}

impl<W: Write> Write for Rows<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let whole = std::mem::replace(&mut self.line, rest);
            self.out.write_all(plain(&String::from_utf8_lossy(&whole)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let rest = std::mem::take(&mut self.line);
        self.out.write_all(plain(&String::from_utf8_lossy(&rest)).as_bytes())?;
        self.out.flush()
    }
}

/// Writes a line of a note.
pub fn note(line: impl Display) {
    part(format_args!("{line}\n"));
}

/// Writes a part of a line of a note. Where standard error is closed, nothing reads them.
pub fn part(text: impl Display) {
    let _ = std::io::stderr().lock().write_all(plain(&text.to_string()).as_bytes());
}

/// Writes a note that we coloured, and whose words of others were cleaned.
pub fn drawn(text: &str) {
    let _ = std::io::stderr().lock().write_all(printable(text).as_bytes());
}

/// Begins the line of notes on a terminal again.
pub fn begin_line() {
    let _ = std::io::stderr().lock().write_all(b"\r");
}

/// Whether notes are read on a terminal.
pub fn notes_are_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// Lines at the end of a terminal that are drawn again and again in place, each cut to its width.
pub struct Screen {
    term: Term,
    /// Columns of the lines that stand there.
    drawn: Vec<usize>,
}

impl Screen {
    /// On standard output; `None` where that is no terminal, or one that cannot move its cursor.
    pub fn of_results() -> Option<Screen> {
        Screen::on(Term::stdout())
    }

    /// On standard error, in the same way.
    pub fn of_notes() -> Option<Screen> {
        Screen::on(Term::stderr())
    }

    fn on(term: Term) -> Option<Screen> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        (term.is_term() && !dumb).then(|| Screen { term, drawn: Vec::new() })
    }

    /// Whether colours may be used.
    pub fn is_coloured(&self) -> bool {
        std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Columns that a line may have; the last of the terminal stays free, so that no line is wrapped.
    pub fn columns(&self) -> usize {
        usize::from(self.term.size().1).saturating_sub(1).max(10)
    }

    /// Draws these lines in place of those that stand there; what the terminal has no rows for is left out.
    pub fn draw(&mut self, lines: &[String]) {
        let text = self.erasing() + &self.standing(lines);
        self.write(&text);
    }

    /// Writes a text that stays, above lines that are drawn again.
    pub fn above(&mut self, text: &str, lines: &[String]) {
        let text = format!("{}{}\n{}", self.erasing(), plain(text), self.standing(lines));
        self.write(&text);
    }

    /// Removes the lines: results follow.
    pub fn clear(&mut self) {
        let text = self.erasing();
        self.write(&text);
    }

    /// The lines as they fit, each with its end.
    fn standing(&mut self, lines: &[String]) -> String {
        let (rows, columns) = (usize::from(self.term.size().0), self.columns());
        let fits = lines.iter().take(rows.saturating_sub(1).max(1)).map(|line| {
            let line = printable(&line.replace(['\n', '\t'], " "));
            truncate_str(&line, columns, "…").into_owned()
        });
        let fits: Vec<String> = fits.collect();
        self.drawn = fits.iter().map(|line| measure_text_width(line)).collect();
        fits.iter().map(|line| format!("{line}\n")).collect()
    }

    /// What moves back over the lines that stand there, and erases them. In a terminal that has become narrower since,
    /// they take more rows.
    fn erasing(&mut self) -> String {
        let columns = usize::from(self.term.size().1).max(1);
        let rows: usize = self.drawn.drain(..).map(|wide| wide.div_ceil(columns).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A\x1b[J") }
    }

    fn write(&self, text: &str) {
        // A terminal that has gone shows nothing.
        let _ = self.term.write_str(text).and_then(|()| self.term.flush());
    }
}
