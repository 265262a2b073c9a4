//! Results of load generators: fio, iperf3, Iometer, vdbench, diskspd, NTttcp and HCIBench, each in a module of its own. Each test
//! of a file is a window.

pub(super) mod fio;
pub(super) mod hcibench;
pub(super) mod iometer;
pub(super) mod iperf3;
pub(super) mod vdbench;
pub(super) mod windows;

use super::error::ReadError;
use super::format::MonitorFormat;
use super::json::{Json, Mended, documents};
use super::lines::whole;
use super::model::{Feed, Span};
use record::Level;
use std::io::BufRead;

/// Bytes of a file at most.
const MOST: u64 = 256 << 20;

fn read(
    name: &str,
    format: MonitorFormat,
    from: impl BufRead,
) -> Result<(Feed, Vec<Json>), ReadError> {
    let (all, mended) = documents(&whole(from, MOST)?)?;
    let mut feed = Feed::new(name, format);
    noted(&mut feed, &mended);
    // A script may have gathered documents in a list.
    let each = |json: Json| match json {
        Json::List(all) => all,
        one => vec![one],
    };
    Ok((feed, all.into_iter().flat_map(each).collect()))
}

fn noted(feed: &mut Feed, mended: &Mended) {
    if let Some(told) = mended.told() {
        let text = format!("{}: the JSON was broken and has been mended: {told}", feed.name);
        feed.note(Level::Warning, "json-mended", text);
    }
}

/// The span behind all rows that there are.
fn behind(feed: &Feed, span: Span) -> Span {
    let from = feed.rows.last().map_or(span.from, |last| span.from.max(last.to));
    Span { from, to: span.to.max(from.saturating_add(1)) }
}

/// Adds the row of a test that has no other, behind those before it; the test is a window.
fn alone(feed: &mut Feed, span: Span, test: &str) -> usize {
    let span = behind(feed, span);
    feed.tests.push((test.to_owned(), span));
    feed.rows.push(span);
    feed.rows.len() - 1
}

/// Adds a row of a test, behind those before it; the test is a window.
fn follow(feed: &mut Feed, span: Span, test: &str) -> usize {
    let span = behind(feed, span);
    match feed.tests.last_mut().filter(|(name, _)| name == test) {
        Some((_, whole)) => whole.to = span.to,
        None => feed.tests.push((test.to_owned(), span)),
    }
    feed.rows.push(span);
    feed.rows.len() - 1
}

fn number(json: &Json, path: &str) -> Option<f64> {
    json.path(path).and_then(Json::number)
}
