//! Which records are shown: by words, verdict, kind, tag and date; and in which order.

use super::Entry;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Records on one page.
const PAGE: usize = 50;

/// What a reader looks for, as the address of the page says it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Query {
    /// Words, all of which must be there: in the title, the lab, the workloads, the name of the file, tags or notes.
    pub q: String,
    pub verdict: String,
    pub producer: String,
    pub tag: String,
    /// Dates, as `2026-11-23`; both count.
    pub from: String,
    pub to: String,
    /// `date` (the default), `title`, `iops`, `throughput`.
    pub sort: String,
    /// From 1.
    pub page: usize,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub entries: Vec<Entry>,
    /// How many there are on all pages.
    pub all: usize,
    pub page: usize,
    pub pages: usize,
}

impl Query {
    /// All that match, in no order.
    pub fn matching<'a>(&self, all: &'a BTreeMap<String, Entry>) -> Vec<&'a Entry> {
        let words: Vec<String> = self.q.split_whitespace().map(str::to_lowercase).collect();
        all.values().filter(|entry| self.matches(entry, &words)).collect()
    }

    /// One page of what matches.
    pub fn find(&self, all: &BTreeMap<String, Entry>) -> Found {
        let mut found = self.matching(all);
        let best = |entry: &Entry, of: fn(&super::Summary) -> f64| {
            entry.summary.as_ref().map_or(0.0, |summary| of(summary))
        };
        match self.sort.as_str() {
            "title" => found.sort_by_cached_key(|entry| entry.title().to_lowercase()),
            "iops" => {
                found.sort_by(|a, b| best(b, |s| s.best_iops).total_cmp(&best(a, |s| s.best_iops)))
            }
            "throughput" => found.sort_by(|a, b| {
                best(b, |s| s.best_bytes_per_s).total_cmp(&best(a, |s| s.best_bytes_per_s))
            }),
            _ => found.sort_by_key(|entry| (std::cmp::Reverse(entry.unix_s()), entry.name.clone())),
        }
        let pages = found.len().div_ceil(PAGE).max(1);
        let page = self.page.clamp(1, pages);
        let shown = found.iter().skip((page - 1) * PAGE).take(PAGE);
        Found {
            entries: shown.map(|entry| (*entry).clone()).collect(),
            all: found.len(),
            page,
            pages,
        }
    }

    fn matches(&self, entry: &Entry, words: &[String]) -> bool {
        let summary = entry.summary.as_deref();
        let is = |asked: &str, found: Option<&str>| asked.is_empty() || found == Some(asked);
        let day = crate::pages::figures::moment(entry.unix_s());
        let day = &day[..10.min(day.len())];
        if !is(&self.verdict, summary.map(|s| s.verdict.as_str()))
            || !is(&self.producer, summary.map(|s| s.producer.as_str()))
            || !(self.tag.is_empty() || entry.notes.tags.contains(&self.tag))
            || !(self.from.is_empty() || day >= self.from.as_str())
            || !(self.to.is_empty() || day <= self.to.as_str())
        {
            return false;
        }
        if words.is_empty() {
            return true;
        }
        let mut text = summary.map(super::Summary::words).unwrap_or_default();
        for more in [entry.name.as_str(), &entry.notes.tags.join(" "), &entry.notes.notes] {
            text.push(' ');
            text.push_str(&more.to_lowercase());
        }
        words.iter().all(|word| text.contains(word.as_str()))
    }
}
