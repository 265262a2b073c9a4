//! Both ends of one transfer: what the one sends the other receives, and it is one load. The first file's counts.

use super::format::MonitorFormat;
use super::model::{Feed, Flow, Measure};
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::ops::Range;

/// Rates and durations of two ends differ by less, where nothing names the transfer.
const ALIKE: f64 = 0.05;

/// A transfer that a file saw one end of: what names it, where it was counted, and in which rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// What both ends name it.
    pub name: String,
    /// The number of its place.
    pub place: usize,
    /// Its rows.
    pub rows: Range<usize>,
}

/// Leaves out what a later file counts of a transfer that one before has counted.
pub(super) fn count_once(feeds: &mut [Feed]) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for feed in feeds.iter_mut() {
        let transfers = std::mem::take(&mut feed.transfers);
        let mut other = None;
        for of in &transfers {
            match seen.get(&of.name).filter(|first| **first != feed.name) {
                Some(first) => {
                    other = Some(first.clone());
                    blank(feed, of.place, of.rows.clone());
                }
                None => {
                    seen.entry(of.name.clone()).or_insert_with(|| feed.name.clone());
                }
            }
        }
        feed.transfers = transfers;
        if let Some(first) = other {
            let text = format!(
                "{} and {first} are of both ends of one transfer, which is counted once",
                feed.name
            );
            feed.note(Level::Info, "both-ends", text);
        }
    }
    senders(feeds);
}

/// NTttcp names no transfer: one sender and one receiver that moved as much in as long are taken for its ends.
fn senders(feeds: &mut [Feed]) {
    let end = |feed: &Feed, flow: Flow| {
        let pairs = feed.places.iter().enumerate().filter(|(_, p)| p.kind == HopKind::NetworkPair);
        let all: Vec<usize> = pairs.map(|(at, _)| at).collect();
        let [place] = all[..] else { return None };
        let rate = feed.mean(place, Measure::Bytes(flow), 0..feed.rows.len())?;
        let seconds = feed.rows.iter().map(|row| row.seconds()).sum::<f64>();
        (feed.format == MonitorFormat::NtttcpXml).then_some((place, rate, seconds))
    };
    let of = |flow: Flow| {
        let all = feeds.iter().enumerate().filter_map(|(at, feed)| Some((at, end(feed, flow)?)));
        let all: Vec<(usize, (usize, f64, f64))> = all.collect();
        if let [one] = all[..] { Some(one) } else { None }
    };
    let (Some((sender, (_, sent, one))), Some((receiver, (place, received, other)))) =
        (of(Flow::Write), of(Flow::Read))
    else {
        return;
    };
    let alike = |a: f64, b: f64| (a - b).abs() <= ALIKE * a.max(b);
    if sender != receiver && alike(sent, received) && alike(one, other) {
        let name = feeds[sender].name.clone();
        let feed = &mut feeds[receiver];
        let rows = 0..feed.rows.len();
        blank(feed, place, rows);
        let text = format!(
            "{} and {name} are taken for both ends of one transfer, which is counted once: they moved as much in as long",
            feed.name
        );
        feed.note(Level::Warning, "both-ends", text);
    }
}

/// Takes back the bytes of some rows.
fn blank(feed: &mut Feed, place: usize, rows: Range<usize>) {
    for flow in [Flow::Read, Flow::Write, Flow::Any] {
        feed.blank(place, Measure::Bytes(flow), rows.clone());
    }
}
