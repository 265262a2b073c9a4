//! fio's I/O logs: version 2, whose times are `wait` lines, and version 3, whose lines have times.
//!
//! fio carries a `wait` out as milliseconds since its start, whatever its manual says; version 3 has microseconds.

use crate::error::shown;
use crate::io::{DEVICES_MANY, Devices};
use crate::lines::Lines;
use crate::order::Reorder;
use crate::{Tally, TraceError, TraceIo, TraceReader};
use clock::Ns;
use std::io::Read;
use workload::Dir;

const ACTIONS: &str = "actions are read, write, trim, sync, datasync, wait, add, open, close";

/// A log of fio.
pub(crate) struct FioLog<R> {
    lines: Lines<R>,
    version: u8,
    /// The time of lines without one.
    now: Ns,
    devices: Devices,
    order: Reorder,
    ended: bool,
    tally: Tally,
}

impl<R: Read> FioLog<R> {
    pub fn new(input: R) -> Result<FioLog<R>, TraceError> {
        let mut lines = Lines::new(input);
        let version = match lines.next()?.map(str::trim) {
            Some("fio version 2 iolog") => 2,
            Some("fio version 3 iolog") => 3,
            Some(other) => {
                let problem = format!("`{}` is not the heading of a log of fio", shown(other));
                return Err(TraceError::new(lines.place(), problem)
                    .help("it is `fio version 2 iolog` or `fio version 3 iolog`"));
            }
            None => return Err(TraceError::new(lines.place(), "the file is empty")),
        };
        let mut tally = Tally::default();
        tally.note("fio's logs hold no latencies");
        if version == 2 {
            tally.note(
                "version 2 has times only where it has `wait` lines: milliseconds since the start",
            );
        }
        let (devices, order) = (Devices::default(), Reorder::default());
        Ok(FioLog { lines, version, now: Ns::ZERO, devices, order, ended: false, tally })
    }

    /// Reads one line into the window; whether there was one.
    fn read(&mut self) -> Result<bool, TraceError> {
        let place = {
            let crate::Place::Line(n) = self.lines.place() else { return Ok(false) };
            crate::Place::Line(n + 1)
        };
        let Some(line) = self.lines.next()? else { return Ok(false) };
        let mut words = line.split_ascii_whitespace();
        let wrong = |problem: String| TraceError::new(place, problem);
        let Some(first) = words.next() else { return Ok(true) };
        self.tally.records += 1;
        let file = match self.version {
            3 => {
                let us = crate::numbers::integer(first).and_then(|us| us.checked_mul(1000));
                let at = us.ok_or_else(|| {
                    wrong(format!("`{}` is no time in microseconds", shown(first)))
                })?;
                self.now = Ns(at);
                words.next().ok_or_else(|| wrong("the name of the file is missing".to_owned()))?
            }
            _ => first,
        };
        let action = words.next().ok_or_else(|| wrong("the action is missing".to_owned()))?;
        let mut number = |what: &str| {
            let word = words.next().ok_or_else(|| wrong(format!("the {what} is missing")))?;
            crate::numbers::integer(word)
                .ok_or_else(|| wrong(format!("the {what} `{}` is no number", shown(word))))
        };
        let dir = match action {
            "read" => Dir::Read,
            "write" => Dir::Write,
            "trim" => Dir::Trim,
            "sync" | "datasync" => Dir::Flush,
            "wait" if self.version == 2 => {
                let ms = number("time")?;
                let at = ms.checked_mul(1_000_000);
                self.now = Ns(at.ok_or_else(|| wrong(format!("{ms} ms is no time")))?);
                return Ok(true);
            }
            "wait" => {
                self.tally.other += 1;
                return Ok(true);
            }
            "add" | "open" | "close" => {
                self.devices.number(file).ok_or_else(|| wrong(DEVICES_MANY.to_owned()))?;
                self.tally.other += 1;
                return Ok(true);
            }
            other => {
                return Err(wrong(format!("unknown action `{}`", shown(other))).help(ACTIONS));
            }
        };
        let (offset, len) = match dir {
            Dir::Flush => (0, 0),
            _ => (number("offset")?, number("length")?),
        };
        let len = u32::try_from(len).map_err(|_| wrong(format!("{len} bytes in one I/O")))?;
        let device = self.devices.number(file).ok_or_else(|| wrong(DEVICES_MANY.to_owned()))?;
        let (at, fua, latency, issuer) = (self.now, false, None, 0);
        self.order.push(TraceIo { at, dir, fua, device, offset, len, latency, issuer });
        Ok(true)
    }
}

impl<R: Read> TraceReader for FioLog<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        loop {
            if let Some(io) = self.order.pop(self.ended) {
                return Ok(Some(io));
            }
            if self.ended {
                return Ok(None);
            }
            self.ended = !self.read()?;
        }
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn tally(&self) -> Tally {
        let (disordered, clamped) = (self.order.disordered, self.order.clamped);
        Tally { disordered, clamped, ..self.tally.clone() }
    }
}
