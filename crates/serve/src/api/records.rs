//! The library's pages: search, a record, its review and its other forms, comparisons and trends.

use super::Shared;
use super::form::{field, fields};
use crate::app::{App, aside};
use crate::http::reply::{self, PageRefusal, REVIEW_POLICY, Refusal};
use crate::http::stream::{self, Said};
use crate::library::{Entry, Notes, Query};
use crate::pages;
use crate::pages::record::FORMS;
use crate::pages::trend::Member;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query as Asked, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use findings::Analysis;
use findings::comparison::CompareOptions;
use record::{Record, Status};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use tokio::sync::mpsc;

/// Records that are compared at once, and those of a trend.
const COMPARED: usize = 16;
const SERIES: usize = 400;
/// Bytes of a part of a download.
const PART: usize = 64 << 10;

type Paged = Result<Response, PageRefusal>;

fn running(app: &App) -> BTreeSet<String> {
    app.running().into_iter().map(|run| run.id).collect()
}

pub(crate) async fn library(State(app): Shared, Asked(query): Asked<Query>) -> Paged {
    let page =
        aside(move || Ok(pages::library::page(&query, &app.library.entries(), &running(&app))));
    Ok(reply::page(&page.await?))
}

/// The part of the library that changes.
pub(crate) async fn results(State(app): Shared, Asked(query): Asked<Query>) -> Paged {
    let part =
        aside(move || Ok(pages::library::results(&query, &app.library.entries(), &running(&app))));
    Ok(reply::page(&part.await?))
}

/// Says when the folder has changed.
pub(crate) async fn changes(State(app): Shared) -> Result<Response, Refusal> {
    let place = app.viewer()?;
    let say =
        |version: &u64| Some(Said { name: "change", id: *version, data: "{}".into(), last: false });
    Ok(stream::events(app.library.changes(), say, place, ()))
}

fn entry(app: &App, id: &str) -> Result<Entry, Refusal> {
    app.library.entry(id).ok_or_else(|| Refusal::not_found("record"))
}

pub(crate) async fn page(
    State(app): Shared,
    Path(id): Path<String>,
    RawQuery(said): RawQuery,
) -> Paged {
    let saved = said.as_deref() == Some("saved");
    let page = aside(move || {
        let entry = entry(&app, &id)?;
        let running = running(&app).contains(&id);
        Ok(pages::record::page(&entry, running, app.read_only, saved))
    });
    Ok(reply::page(&page.await?))
}

fn open(path: &std::path::Path) -> Result<Record, Refusal> {
    Record::open(path).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> Refusal {
    let why = review::clean(&error.to_string());
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", why)
}

/// A record with its findings.
pub(crate) fn analysed(app: &App, id: &str) -> Result<(Record, Analysis), Refusal> {
    let record = open(&app.record(id)?)?;
    let analysis = findings::analyse(&record).map_err(unreadable)?;
    Ok((record, analysis))
}

fn review_page(record: &Record, analysis: &Analysis) -> Result<String, Refusal> {
    let evidence = findings::evidence(record, analysis).map_err(unreadable)?;
    Ok(review::html(analysis, &evidence, &record.head().scenario))
}

/// A page that carries its own scripts, with the policy that names them.
fn whole(html: String) -> Response {
    let mut response = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    let policy = HeaderValue::from_static(REVIEW_POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

pub(crate) async fn review(State(app): Shared, Path(id): Path<String>) -> Paged {
    let html = aside(move || {
        let (record, analysis) = analysed(&app, &id)?;
        review_page(&record, &analysis)
    });
    Ok(whole(html.await?))
}

pub(crate) async fn download(
    State(app): Shared,
    Path((id, form)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let found = FORMS.iter().find(|(word, ..)| *word == form);
    let (word, _, ending, kind) = *found.ok_or_else(|| Refusal::not_found("form of a record"))?;
    aside(move || {
        let path = app.record(&id)?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = format!("{}.{ending}", stem.unwrap_or_default());
        let body = match word {
            "record" => file(&path)?,
            "intervals" => intervals(open(&path)?),
            "parquet" => table(app.as_ref(), &id)?,
            _ => {
                let (record, analysis) = analysed(&app, &id)?;
                Body::from(text(word, &record, &analysis)?)
            }
        };
        Ok(reply::download(&name, kind, body))
    })
    .await
}

/// A record as one of its small forms.
fn text(word: &str, record: &Record, analysis: &Analysis) -> Result<String, Refusal> {
    match word {
        "review" => review_page(record, analysis),
        "json" => Ok(format!("{:#}\n", review::json(analysis))),
        "csv" => export::csv::steps(analysis, None).map_err(unreadable),
        "markdown" => Ok(review::markdown(analysis)),
        _ => Ok(export::junit(analysis)),
    }
}

/// The file of a record; only a whole one can be taken along.
fn file(path: &std::path::Path) -> Result<Body, Refusal> {
    let log = std::fs::metadata(crate::library::with(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if log {
        let why = "The record is not one file yet: its run goes on, or was killed. Its other forms can be taken along.";
        return Err(Refusal::new(StatusCode::CONFLICT, "not-finished", why));
    }
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    Ok(pumped(move |to| {
        let mut part = vec![0; PART];
        while let Ok(n @ 1..) = file.read(&mut part) {
            if to.blocking_send(Bytes::copy_from_slice(&part[..n])).is_err() {
                return;
            }
        }
    }))
}

/// Every second of every worker as CSV, as it is read.
fn intervals(record: Record) -> Body {
    pumped(move |to| {
        let mut out = std::io::BufWriter::with_capacity(PART, Pipe(to));
        // What fails ends the download early, and a browser says so.
        let _ = export::csv::intervals(&record, None, &mut out).map(|()| out.flush());
    })
}

/// The same as a table of Parquet.
fn table(app: &App, id: &str) -> Result<Body, Refusal> {
    let (record, analysis) = analysed(app, id)?;
    Ok(pumped(move |to| {
        let mut out = std::io::BufWriter::with_capacity(PART, Pipe(to));
        let rows = export::Row::Interval;
        let _ = export::parquet(&record, &analysis, rows, None, &mut out).map(|()| out.flush());
    }))
}

/// A body that a thread makes, as fast as it is read.
fn pumped(make: impl FnOnce(mpsc::Sender<Bytes>) + Send + 'static) -> Body {
    let (to, body) = stream::fed(2);
    // Without a thread the body is empty.
    let _ = std::thread::Builder::new().name("download".to_owned()).spawn(move || make(to));
    body
}

struct Pipe(mpsc::Sender<Bytes>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map(|()| bytes.len()).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) async fn note(State(app): Shared, Path(id): Path<String>, body: Bytes) -> Paged {
    app.writable()?;
    let fields = fields(&body);
    let to = format!("/records/{id}?saved");
    aside(move || noted(&app, &id, field(&fields, "tags"), field(&fields, "notes"))).await?;
    Ok(Redirect::to(&to).into_response())
}

/// Writes the notes of a record.
pub(crate) fn noted(app: &App, id: &str, tags: &str, notes: &str) -> Result<Notes, Refusal> {
    entry(app, id)?;
    let notes = Notes::typed(tags, notes).map_err(Refusal::bad)?;
    app.library
        .note(id, notes.clone())
        .map_err(|error| Refusal::failed(format!("The notes cannot be written: {error}.")))?;
    Ok(notes)
}

/// The records that an address names, each once, at most so many.
fn chosen(app: &App, said: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
    let mut all: Vec<Entry> = Vec::new();
    for (key, id) in fields(said.unwrap_or_default().as_bytes()) {
        if key == "id" && all.iter().all(|known| known.id != id) {
            all.push(entry(app, &id)?);
        }
    }
    if !(2..=most).contains(&all.len()) {
        return Err(Refusal::bad(format!("Choose two records or more, at most {most}.")));
    }
    // The oldest is what the others are compared with.
    all.sort_by_key(Entry::unix_s);
    Ok(all)
}

pub(crate) async fn compare(State(app): Shared, RawQuery(said): RawQuery) -> Paged {
    let html = aside(move || {
        let entries = chosen(&app, said.as_deref(), COMPARED)?;
        let runs: Vec<(Record, Analysis)> =
            entries.iter().map(|entry| analysed(&app, &entry.id)).collect::<Result<_, _>>()?;
        let runs: Vec<(&Record, &Analysis)> = runs.iter().map(|(r, a)| (r, a)).collect();
        let options = CompareOptions {
            difference: 0.03,
            metrics: Vec::new(),
            names: entries.iter().map(|entry| entry.name.clone()).collect(),
            baseline: None,
        };
        let comparison = findings::compare(&runs, &options).map_err(unreadable)?;
        Ok(review::comparison_html(&comparison))
    });
    Ok(whole(html.await?))
}

/// The trend of the records that were chosen; where none was, of all that a search of the library finds.
pub(crate) async fn trend(
    State(app): Shared,
    Asked(query): Asked<Query>,
    RawQuery(said): RawQuery,
) -> Paged {
    let page = aside(move || {
        let member = |entry: &Entry, analysis: Analysis| Member {
            id: entry.id.clone(),
            title: entry.title().to_owned(),
            unix_s: entry.unix_s(),
            analysis,
        };
        let ids = fields(said.as_deref().unwrap_or_default().as_bytes());
        if ids.iter().any(|(key, _)| key == "id") {
            let entries = chosen(&app, said.as_deref(), SERIES)?;
            let all = entries.iter().map(|entry| Ok(member(entry, analysed(&app, &entry.id)?.1)));
            return Ok(pages::trend::page(&all.collect::<Result<Vec<_>, Refusal>>()?));
        }
        // The latest, the oldest of them first; what cannot be judged, or is not over, has no part in it.
        let entries = app.library.entries();
        let mut found = query.matching(&entries);
        found.sort_by_key(|entry| std::cmp::Reverse(entry.unix_s()));
        let judged = |entry: &&Entry| {
            let (record, analysis) = analysed(&app, &entry.id).ok()?;
            (record.status() == Status::Complete).then(|| member(entry, analysis))
        };
        let mut members: Vec<Member> = found.iter().take(SERIES).filter_map(judged).collect();
        members.reverse();
        Ok(pages::trend::page(&members))
    });
    Ok(reply::page(&page.await?))
}
