//! The same for programs: JSON in and out, described in `openapi.json`.

use super::Shared;
use super::form::{field, fields};
use super::live::titled;
use super::records::{analysed, noted};
use super::scenarios::{answer, begin, mistaken, plan_of, some};
use crate::app::{App, aside};
use crate::http::reply::{self, Refusal};
use crate::jobs::Kind;
use crate::library::{Entry, Query};
use crate::live::document::{Now, first};
use crate::pages::start::Typed;
use crate::program::Unsolved;
use axum::body::Bytes;
use axum::extract::{Path, Query as Asked, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;

type Answered = Result<Response, Refusal>;

/// Seconds that one answer has at most.
const SECONDS: usize = 3600;
/// How long an answer waits for the first look at a record.
const FIRST: Duration = Duration::from_secs(3);

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::bad(format!("The request is not understood: {error}.")))
}

fn entry(entry: &Entry) -> Value {
    json!({
        "id": entry.id, "name": entry.name, "title": entry.title(), "unix_s": entry.unix_s(),
        "bytes": entry.bytes, "tags": entry.notes.tags, "notes": entry.notes.notes,
        "summary": entry.summary.as_deref(),
    })
}

pub(crate) async fn records(State(app): Shared, Asked(query): Asked<Query>) -> Answered {
    let found = query.find(&app.library.entries());
    let all: Vec<Value> = found.entries.iter().map(entry).collect();
    Ok(reply::document(&json!({
        "version": 1, "count": found.all, "page": found.page, "pages": found.pages, "records": all,
    })))
}

pub(crate) async fn record(State(app): Shared, Path(id): Path<String>) -> Answered {
    let found = app.library.entry(&id).ok_or_else(|| Refusal::not_found("record"))?;
    Ok(reply::document(&json!({ "version": 1, "record": entry(&found) })))
}

pub(crate) async fn analysis(State(app): Shared, Path(id): Path<String>) -> Answered {
    let text = aside(move || Ok(review::json(&analysed(&app, &id)?.1).to_string()));
    Ok(reply::raw_json(text.await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotesSaid {
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    notes: String,
}

pub(crate) async fn note(State(app): Shared, Path(id): Path<String>, body: Bytes) -> Answered {
    app.writable()?;
    let said: NotesSaid = parsed(&body)?;
    let notes = aside(move || noted(&app, &id, &said.tags.join(","), &said.notes)).await?;
    Ok(reply::document(&json!({ "version": 1, "tags": notes.tags, "notes": notes.notes })))
}

pub(crate) async fn live(State(app): Shared) -> Answered {
    let all = aside(move || {
        let one = |one: &crate::pages::live::Titled| json!({ "id": one.run.id, "title": one.title, "pid": one.run.pid });
        Ok(titled(&app).iter().map(one).collect::<Vec<Value>>())
    });
    Ok(reply::document(&json!({ "version": 1, "runs": all.await? })))
}

pub(crate) async fn live_one(State(app): Shared, Path(id): Path<String>) -> Answered {
    let mut viewer = app.follow(&id)?;
    let known = timeout(FIRST, viewer.frames.wait_for(|frame| frame.version > 0)).await;
    let frame = known.ok().and_then(Result::ok).map(|frame| frame.clone()).unwrap_or_default();
    match frame.failure {
        Some(why) => {
            Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", review::clean(&why)))
        }
        None if frame.document.is_empty() => {
            Err(Refusal::failed("The record is still being read."))
        }
        None => Ok(reply::raw_json(frame.document.to_string())),
    }
}

/// The seconds of a run from one on, so that a program asks for what it has not seen.
pub(crate) async fn seconds(
    State(app): Shared,
    Path(id): Path<String>,
    RawQuery(said): RawQuery,
) -> Answered {
    let said = fields(said.unwrap_or_default().as_bytes());
    let from: u64 = field(&said, "from").parse().unwrap_or(0);
    let mut viewer = app.follow(&id)?;
    let _ = timeout(FIRST, viewer.frames.wait_for(|frame| frame.version > 0)).await;
    let all = viewer.run.with_state(|state| {
        let began = first(state);
        let later = state.seconds.range(began.saturating_add(from)..).take(SECONDS);
        let seconds: Vec<Value> = later.map(|(at, s)| json!(Now::of(at - began, s))).collect();
        json!({ "version": 1, "seconds": seconds })
    });
    all.map(|all| reply::document(&all))
        .ok_or_else(|| Refusal::failed("The record is still being read."))
}

pub(crate) async fn scenarios(State(app): Shared) -> Answered {
    let all = aside(move || {
        let all = crate::folder::scenarios(&app.library.folder, &*app.program);
        let one = |one: &crate::folder::Listed| json!({ "id": one.id, "name": one.name, "carried": one.carried });
        Ok(all.iter().map(one).collect::<Vec<Value>>())
    });
    Ok(reply::document(&json!({ "version": 1, "scenarios": all.await? })))
}

pub(crate) async fn scenario(State(app): Shared, Path(id): Path<String>) -> Answered {
    let one = aside(move || app.scenario(&id)).await?;
    Ok(reply::document(&json!({ "version": 1, "id": one.id, "name": one.name, "text": one.text })))
}

/// A scenario as a program names it: one of the folder, or a text; with settings.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    #[serde(default)]
    scenario: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
    /// For a start: `run` or `simulate`.
    #[serde(default)]
    kind: Option<String>,
    /// For a start: the tokens of targets that are written, by name.
    #[serde(default)]
    tokens: BTreeMap<String, String>,
}

fn typed(app: &App, said: Said) -> Result<Typed, Refusal> {
    let sets: Vec<(String, String)> = said.set.into_iter().collect();
    match (said.scenario, said.text) {
        (Some(id), None) => {
            let one = app.scenario(&id)?;
            Ok(Typed { id: one.id, name: one.name, text: one.text, sets })
        }
        (None, Some(text)) => {
            Ok(Typed { id: String::new(), name: "scenario.toml".to_owned(), text, sets })
        }
        _ => Err(Refusal::bad("Give either `scenario`, an identifier, or `text`.")),
    }
}

fn loaded(app: &App, typed: &Typed) -> Result<scenario::Scenario, Refusal> {
    let source = app.program.source(&typed.name, typed.text.clone(), typed.sets.clone());
    scenario::load(&source).map_err(|mistakes| mistaken(&mistakes))
}

pub(crate) async fn plan(State(app): Shared, body: Bytes) -> Answered {
    let said: Said = parsed(&body)?;
    let plan = aside(move || {
        let typed = typed(&app, said)?;
        Ok(app.program.plan(&loaded(&app, &typed)?))
    });
    let plan = plan.await?;
    Ok(reply::document(&json!({ "version": 1, "text": plan.text, "plan": plan.document })))
}

pub(crate) async fn estimate(State(app): Shared, body: Bytes) -> Answered {
    let said: Said = parsed(&body)?;
    let steps = aside(move || {
        let typed = typed(&app, said)?;
        let scenario = loaded(&app, &typed)?;
        app.program.estimate(&scenario, &some(scenario.steps())).map_err(
            |unsolved| match unsolved {
                Unsolved::Lab(mistakes) => mistaken(&mistakes),
                Unsolved::Other(why) => {
                    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unsolved", why)
                }
            },
        )
    });
    Ok(reply::document(&json!({ "version": 1, "steps": steps.await? })))
}

pub(crate) async fn explore(State(app): Shared, RawQuery(said): RawQuery) -> Answered {
    let said = fields(said.unwrap_or_default().as_bytes());
    let answer = aside(move || {
        let listed = app.scenario(field(&said, "scenario"))?;
        let typed = Typed { id: listed.id, name: listed.name, text: listed.text, sets: Vec::new() };
        let scenario = loaded(&app, &typed)?;
        let plan = plan_of(&scenario, &said)?;
        answer(&app, &scenario, &plan, &said)
    });
    Ok(reply::document(&json!(answer.await?)))
}

pub(crate) async fn runs(State(app): Shared) -> Answered {
    Ok(reply::document(&json!({ "version": 1, "runs": app.jobs.all() })))
}

pub(crate) async fn start(State(app): Shared, body: Bytes) -> Answered {
    let said: Said = parsed(&body)?;
    let kind = match said.kind.as_deref() {
        Some("run") => Kind::Run,
        Some("simulate") => Kind::Simulate,
        _ => return Err(Refusal::bad("`kind` is `run` or `simulate`.")),
    };
    let job = aside(move || {
        let tokens = said.tokens.clone();
        let typed = typed(&app, said)?;
        begin(&app, kind, &typed, &|name| tokens.get(name).cloned().unwrap_or_default())
    });
    let answer = reply::document(&json!({ "version": 1, "run": job.await? }));
    Ok((StatusCode::CREATED, answer).into_response())
}
