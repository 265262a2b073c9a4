//! Runs in progress: their list, the page of each, what it hears, and the way to stop one.

use super::Shared;
use crate::app::{App, aside};
use crate::http::reply::{self, PageRefusal, Refusal};
use crate::http::stream::{self, Said};
use crate::live::parts::Parts;
use crate::live::writer::{self, Written};
use crate::live::{Frame, Viewer};
use crate::pages::live::{Titled, ended, list as page_of_list, page as page_of_run};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use record::Follower;
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// How long a page waits for the first look at a record.
const FIRST: Duration = Duration::from_secs(3);
/// How long a page waits for a run that was just started to begin its record.
const BEGINS: Duration = Duration::from_secs(5);

type Paged = Result<Response, PageRefusal>;

/// All runs in progress with their titles.
pub(crate) fn titled(app: &App) -> Vec<Titled> {
    let entries = app.library.entries();
    let title = |id: &str, path: &std::path::Path| {
        let known = entries.get(id).filter(|entry| entry.summary.is_some());
        let known = known.map(|entry| entry.title().to_owned());
        let read = || Follower::open(path).ok().map(|one| review::clean(&one.head().title));
        known.or_else(read).filter(|title| !title.is_empty()).unwrap_or_else(|| "A run".to_owned())
    };
    let running = app.running().into_iter();
    running.map(|run| Titled { title: title(&run.id, &run.path), run }).collect()
}

pub(crate) async fn list(State(app): Shared) -> Paged {
    let page = aside(move || Ok(page_of_list(&titled(&app), &app.jobs.all())));
    Ok(reply::page(&page.await?))
}

/// Follows a run, also one that this page has just started and that has no record yet.
async fn viewer(app: &App, id: &str) -> Result<Viewer, Refusal> {
    let until = clock::now().plus(clock::Ns(BEGINS.as_nanos() as u64));
    loop {
        let refusal = match app.follow(id) {
            Ok(viewer) => return Ok(viewer),
            Err(refusal) => refusal,
        };
        let job = app.jobs.all().into_iter().find(|job| job.id == id);
        match job {
            Some(job) if job.exit.is_some_and(|exit| exit != 0) => {
                let why = format!("It {}", ended(&job));
                return Err(Refusal::new(StatusCode::CONFLICT, "job-failed", why));
            }
            Some(job) if clock::now() < until => {
                if job.record.exists() {
                    // The library has not looked yet.
                    let followed = app.hub.follow(id, &job.record);
                    return followed.ok_or(refusal);
                }
                // Nothing to wait on: the run makes its file when it is ready.
                let _ = timeout(Duration::from_millis(100), std::future::pending::<()>()).await;
            }
            _ => return Err(refusal),
        }
    }
}

pub(crate) async fn page(State(app): Shared, Path(id): Path<String>) -> Paged {
    let mut viewer = viewer(&app, &id).await?;
    // Something is known at once, or soon.
    let known = timeout(FIRST, viewer.frames.wait_for(|frame| frame.version > 0)).await;
    let frame = known.ok().and_then(Result::ok).map(|frame| frame.clone()).unwrap_or_default();
    if let Some(why) = frame.failure {
        let why = review::clean(&why);
        return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", why).into());
    }
    let title = viewer.run.with_state(|state| review::clean(&state.head.title));
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| "A run".to_owned());
    let parts = Parts::read(&frame.parts);
    let markup = page_of_run(&id, &title, parts.as_ref(), frame.over, !app.read_only);
    Ok(reply::page(&markup))
}

fn say(frame: &Frame, name: &'static str, data: &std::sync::Arc<str>) -> Option<Said> {
    let name = if frame.over { "end" } else { name };
    let data = match &frame.failure {
        None => data.clone(),
        Some(_) => "{}".into(),
    };
    (frame.version > 0).then_some(Said { name, id: frame.version, data, last: frame.over })
}

/// What the page of a run hears: its parts, as they change.
pub(crate) async fn parts(State(app): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    let place = app.viewer()?;
    let Viewer { run, frames } = viewer(&app, &id).await?;
    Ok(stream::events(frames, |frame| say(frame, "parts", &frame.parts), place, run))
}

/// What a program hears: the figures.
pub(crate) async fn events(
    State(app): Shared,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let place = app.viewer()?;
    let Viewer { run, frames } = viewer(&app, &id).await?;
    Ok(stream::events(frames, |frame| say(frame, "live", &frame.document), place, run))
}

/// Asks the process that writes a record to end its run.
fn stopped(app: &App, id: &str) -> Result<Written, Refusal> {
    app.writable()?;
    let run = app.running().into_iter().find(|run| run.id == id);
    let run = run.ok_or_else(|| Refusal::not_found("run in progress"))?;
    let written = Written { path: run.path, pid: run.pid };
    match writer::stop(&written) {
        Ok(true) => Ok(written),
        Ok(false) => Err(Refusal::not_found("run in progress")),
        Err(error) => Err(Refusal::failed(format!("The run cannot be stopped: {error}."))),
    }
}

pub(crate) async fn stop(State(app): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    let written = aside(move || stopped(&app, &id)).await?;
    Ok(reply::document(&json!({ "version": 1, "stopping": true, "pid": written.pid })))
}

pub(crate) async fn stop_page(State(app): Shared, Path(id): Path<String>) -> Paged {
    let to = format!("/live/{id}");
    aside(move || stopped(&app, &id)).await?;
    Ok(Redirect::to(&to).into_response())
}
