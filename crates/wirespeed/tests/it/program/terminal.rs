//! A terminal for tests: a pseudo-terminal with the program at its other end, and what a user would see on it.

use crate::program::support::Bench;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::process::{Child, Stdio};

/// Looks at the terminal, a tenth of a second each, before a test gives up.
const LOOKS: u32 = 600;

/// The program on a terminal.
pub struct Terminal {
    master: File,
    pub child: Child,
    bytes: Vec<u8>,
    /// How many columns it had, from which byte on.
    columns: Vec<(usize, usize)>,
    /// What is seen.
    pub seen: Emulator,
}

/// What a user sees: rows of characters, the oldest first, and what was done with them.
#[derive(Clone, Debug, Default)]
pub struct Emulator {
    pub rows: Vec<String>,
    row: usize,
    column: usize,
    columns: usize,
    /// Lines that were longer than the terminal is wide.
    pub wrapped: usize,
    /// How often the cursor went back over lines.
    pub redrawn: usize,
    /// Colours that were set.
    pub colours: usize,
}

impl Terminal {
    /// Starts the program on a terminal of so many rows and columns; all its output goes there.
    pub fn start(
        bench: &Bench,
        args: &[&str],
        (rows, columns): (u16, u16),
        env: &[(&str, &str)],
    ) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it is ours");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("a path");
        let slave = File::options().read(true).write(true).open(name).expect("the other end");
        let mut command = bench.command(args);
        command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
        command.envs(env.iter().copied());
        command.stdout(slave.try_clone().expect("a descriptor"));
        command.stderr(Stdio::from(slave));
        let mut terminal = Terminal {
            columns: vec![(0, columns.into())],
            child: {
                resized(&master, rows, columns);
                command.spawn().expect("the program starts")
            },
            master: File::from(master),
            bytes: Vec::new(),
            seen: Emulator::default(),
        };
        terminal.look();
        // Its copies of the other end would keep the terminal open.
        drop(command);
        terminal
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        resized(&self.master, rows, columns);
        self.columns.push((self.bytes.len(), columns.into()));
    }

    /// Reads until what is seen is as it is meant to be, or the program has ended; whether it is.
    pub fn until(&mut self, meant: impl Fn(&Emulator) -> bool) -> bool {
        for _ in 0..LOOKS {
            if meant(&self.seen) {
                return true;
            }
            if !self.more() {
                return meant(&self.seen);
            }
        }
        panic!("it has not come:\n{}", self.seen.rows.join("\n"))
    }

    /// Reads to the end; the exit code.
    pub fn end(mut self) -> (i32, Emulator) {
        for _ in 0..LOOKS * 2 {
            if !self.more() {
                let code = self.child.wait().expect("it has ended").code();
                return (code.unwrap_or(-1), self.seen.clone());
            }
        }
        panic!("it does not end:\n{}", self.seen.rows.join("\n"))
    }

    /// Reads what there is, within a tenth of a second; `false` when nothing will come any more.
    fn more(&mut self) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).unwrap_or(0) == 0 {
            return true;
        }
        let mut chunk = [0; 4096];
        // The other end is closed: EIO.
        let Ok(got @ 1..) = self.master.read(&mut chunk) else { return false };
        self.bytes.extend_from_slice(&chunk[..got]);
        self.look();
        true
    }

    fn look(&mut self) {
        self.seen = Emulator::of(&self.bytes, &self.columns);
    }
}

fn resized(terminal: &impl std::os::fd::AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a terminal has a size");
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a test that failed: it has ended otherwise.
        let _ = self.child.kill();
    }
}

impl Emulator {
    /// What these bytes leave on a terminal.
    pub fn of(bytes: &[u8], columns: &[(usize, usize)]) -> Emulator {
        let mut seen = Emulator { rows: vec![String::new()], ..Emulator::default() };
        let ends = columns.iter().skip(1).map(|(at, _)| *at).chain([bytes.len()]);
        for ((from, columns), to) in columns.iter().zip(ends) {
            seen.reflow(*columns);
            seen.read(&bytes[*from..to]);
        }
        seen
    }

    /// Takes another width: rows that are longer go on in the next.
    fn reflow(&mut self, columns: usize) {
        self.columns = columns;
        let mut rows = Vec::new();
        for (n, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if n == self.row {
                self.row = rows.len();
            }
            let chars: Vec<char> = row.chars().collect();
            rows.extend(chars.chunks(columns).map(String::from_iter));
            if chars.is_empty() {
                rows.push(String::new());
            }
        }
        self.rows = rows;
    }

    fn read(&mut self, bytes: &[u8]) {
        let seen = self;
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // A character has come in part.
            Err(e) => std::str::from_utf8(&bytes[..e.valid_up_to()]).expect("so far it is text"),
        };
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\r' => seen.column = 0,
                '\n' => seen.line_feed(),
                '\x1b' => {
                    let Some(last) = seen.sequence(&mut rest) else { break };
                    assert!("AJKm".contains(last), "an unknown sequence ends with {last:?}");
                }
                c => seen.put(c),
            }
        }
    }

    fn sequence(&mut self, rest: &mut std::str::Chars<'_>) -> Option<char> {
        assert_eq!(rest.next()?, '[', "only control sequences are known");
        let mut number = String::new();
        let last = loop {
            match rest.next()? {
                c @ ('0'..='9' | ';') => number.push(c),
                c => break c,
            }
        };
        let number = number.parse::<usize>().unwrap_or(0);
        match last {
            'A' => {
                self.redrawn += 1;
                self.row = self.row.checked_sub(number.max(1)).expect("not above the first row");
            }
            'J' => {
                self.cut();
                self.rows.truncate(self.row + 1);
            }
            'K' => self.cut(),
            'm' => self.colours += usize::from(number != 0),
            _ => {}
        }
        Some(last)
    }

    fn cut(&mut self) {
        let kept: String = self.rows[self.row].chars().take(self.column).collect();
        self.rows[self.row] = kept;
    }

    fn line_feed(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(String::new());
        }
    }

    fn put(&mut self, c: char) {
        if self.column == self.columns {
            self.wrapped += 1;
            self.column = 0;
            self.line_feed();
        }
        let mut row: Vec<char> = self.rows[self.row].chars().collect();
        row.resize(row.len().max(self.column + 1), ' ');
        row[self.column] = c;
        self.rows[self.row] = row.into_iter().collect();
        self.column += 1;
    }

    /// All that is seen.
    pub fn text(&self) -> String {
        self.rows.join("\n")
    }
}

#[test]
fn what_is_redrawn_is_seen_once() {
    let seen = Emulator::of(b"a\r\nlong\r\n\r\x1b[1A\x1b[Jb\r\n\x1b[36mcc\x1b[0m", &[(0, 10)]);
    assert_eq!((seen.text().as_str(), seen.redrawn, seen.colours), ("a\nb\ncc", 1, 1));
    let seen = Emulator::of(b"abcdef", &[(0, 4)]);
    assert_eq!((seen.text().as_str(), seen.wrapped), ("abcd\nef", 1));
    let seen = Emulator::of(b"abcdef\r\nx\r\n\x1b[3A\x1b[Jy", &[(0, 9), (11, 4)]);
    assert_eq!(
        (seen.text().as_str(), seen.wrapped),
        ("y", 0),
        "a narrower terminal wraps what it has"
    );
}
