//! The text of `blkparse` in its default format: `8,16 5 2 0.000001850 18615 Q R 1444645666 + 256 [java]`.

use crate::block::{BlockAction, BlockEvent, BlockMatcher, Layer, SECTOR};
use crate::error::shown;
use crate::io::{DEVICES_MANY, Devices};
use crate::lines::Lines;
use crate::numbers::{decimal, integer};
use crate::{Place, Tally, TraceError, TraceIo, TraceReader};
use clock::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use workload::Dir;

/// Events that are kept to put others before them.
const KEPT: usize = 1 << 14;

/// Whether a line is an event.
pub(crate) fn is_event(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next().is_some_and(is_device)
        && words.next().is_some_and(|cpu| cpu.parse::<u32>().is_ok())
        && words.next().is_some_and(|number| number.parse::<u64>().is_ok())
        && words.next().is_some_and(|at| at.contains('.') && decimal(at, 1).is_some())
}

/// `8,16`
fn is_device(word: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().is_ok();
    word.split_once(',').is_some_and(|(major, minor)| number(major) && number(minor))
}

/// What blkparse printed.
pub(crate) struct Blkparse<R> {
    lines: Lines<R>,
    devices: Devices,
    /// Events by time, then by line.
    window: BinaryHeap<Reverse<(Ns, u64, Event)>>,
    latest: Ns,
    left: Ns,
    read_all: bool,
    ended: bool,
    matcher: BlockMatcher,
    tally: Tally,
}

/// An event that takes no part in the order.
struct Event(BlockEvent);

impl PartialEq for Event {
    fn eq(&self, _: &Event) -> bool {
        true
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, _: &Event) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<R: Read> Blkparse<R> {
    pub fn new(input: R, layer: Layer) -> Blkparse<R> {
        Blkparse {
            lines: Lines::new(input),
            devices: Devices::default(),
            window: BinaryHeap::new(),
            latest: Ns::ZERO,
            left: Ns::ZERO,
            read_all: false,
            ended: false,
            matcher: BlockMatcher::new(layer),
            tally: Tally::default(),
        }
    }

    /// Reads one line into the window; whether there was one that belongs to the events.
    fn read(&mut self) -> Result<bool, TraceError> {
        let Some(line) = self.lines.next()?.map(str::to_owned) else { return Ok(false) };
        if line.trim().is_empty() {
            return Ok(true);
        }
        let place = self.lines.place();
        if !is_event(&line) {
            // The sums that end the text.
            if self.tally.records > 0 && (line.starts_with("CPU") || line.starts_with("Total")) {
                return Ok(false);
            }
            let problem = format!("`{}` is no event of blkparse", shown(&line));
            return Err(TraceError::new(place, problem).help(
                "its default format is read: device, CPU, number, time, process, action, kind, `SECTOR + SECTORS`",
            ));
        }
        self.tally.records += 1;
        match self.event(&line, place)? {
            Some(event) => {
                self.tally.disordered += u64::from(event.at < self.latest);
                self.latest = self.latest.max(event.at);
                self.tally.clamped += u64::from(event.at < self.left);
                let at = event.at.max(self.left);
                self.window.push(Reverse((
                    at,
                    self.tally.records,
                    Event(BlockEvent { at, ..event }),
                )));
            }
            None => self.tally.other += 1,
        }
        Ok(true)
    }

    fn event(&mut self, line: &str, place: Place) -> Result<Option<BlockEvent>, TraceError> {
        let wrong = |problem: String| TraceError::new(place, problem);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [device, _, _, at, pid, action, rest @ ..] = &words[..] else {
            return Err(wrong("an event ends before its action".to_owned()));
        };
        let action = match *action {
            "Q" => BlockAction::Queue,
            "M" | "F" => BlockAction::Merge,
            "D" => BlockAction::Issue,
            "R" => BlockAction::Requeue,
            "X" => BlockAction::Split,
            "C" => BlockAction::Complete,
            _ => return Ok(None),
        };
        let [kind, range @ ..] = rest else {
            return Err(wrong(format!("`{}` ends before its kind", shown(line))));
        };
        let at = decimal(at, 1_000_000_000).ok_or_else(|| wrong(format!("`{at}` is no time")))?;
        let device = self.devices.number(device).ok_or_else(|| wrong(DEVICES_MANY.to_owned()))?;
        let (sector, sectors) = match range {
            [sector, "+", sectors, ..] => (integer(sector), integer(sectors)),
            // Flushes have no range; where a request is split its second part begins.
            [sector, "/", _, ..] if action == BlockAction::Split => (integer(sector), Some(0)),
            _ => (Some(0), Some(0)),
        };
        let (Some(sector), Some(sectors)) = (sector, sectors) else {
            return Err(wrong(format!("`{}` has no range `SECTOR + SECTORS`", shown(line))));
        };
        let bytes = sectors.saturating_mul(SECTOR);
        let failed = action == BlockAction::Complete
            && words.last().is_some_and(|last| last.starts_with('[') && *last != "[0]");
        let event = BlockEvent {
            at: Ns(at),
            action,
            dir: dir_of(kind, bytes),
            fua: kind.get(1..).is_some_and(|rest| rest.contains('F')),
            device,
            sector,
            bytes,
            pid: pid.parse().unwrap_or(0),
            failed,
        };
        Ok(Some(event))
    }
}

/// The kind of a request by its letters: `R`, `WS`, `FWS`, `D`.
pub(crate) fn dir_of(kind: &str, bytes: u64) -> Option<Dir> {
    let plain = kind.trim_start_matches('F');
    match plain.chars().next() {
        _ if kind.starts_with('F') && bytes == 0 => Some(Dir::Flush),
        _ if bytes == 0 => None,
        Some('D') => Some(Dir::Trim),
        Some('R') => Some(Dir::Read),
        Some('W') => Some(Dir::Write),
        _ => None,
    }
}

impl<R: Read> TraceReader for Blkparse<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        loop {
            if let Some(io) = self.matcher.pop(self.ended) {
                return Ok(Some(io));
            }
            if self.ended {
                return Ok(None);
            }
            if !self.read_all && self.window.len() <= KEPT {
                self.read_all = !self.read()?;
                continue;
            }
            match self.window.pop() {
                Some(Reverse((at, _, Event(event)))) => {
                    self.left = at;
                    self.matcher.push(event);
                }
                None => self.ended = true,
            }
        }
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn tally(&self) -> Tally {
        let of = self.matcher.tally();
        Tally {
            records: self.tally.records,
            disordered: self.tally.disordered,
            clamped: of.clamped + self.tally.clamped,
            other: of.other + self.tally.other,
            ..of.clone()
        }
    }
}
