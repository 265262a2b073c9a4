//! Scenarios: what a form holds is checked, estimated, and started; sliders are answered.

use super::Shared;
use super::form::{field, fields};
use crate::app::{App, aside};
use crate::http::reply::{self, PageRefusal, Refusal};
use crate::jobs::{Job, Kind, NotStarted};
use crate::pages::explore::{self, Answer};
use crate::pages::start::{self, Checked, Guarded, Typed, offered};
use crate::program::Unsolved;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use scenario::{Scenario, Step};
use serde_json::{Value, json};

/// Steps that are estimated at most, at equal distances.
const STEPS: usize = 64;

type Paged = Result<Response, PageRefusal>;

pub(crate) async fn start(State(app): Shared, RawQuery(said): RawQuery) -> Paged {
    let said = fields(said.unwrap_or_default().as_bytes());
    let page = aside(move || {
        let id = field(&said, "scenario");
        if id.is_empty() {
            let all = crate::folder::scenarios(&app.library.folder, &*app.program);
            return Ok(start::list(&all, "Start"));
        }
        let listed = app.scenario(id)?;
        let typed = Typed { id: listed.id, name: listed.name, text: listed.text, sets: Vec::new() };
        let checked = checked(&app, &typed);
        Ok(start::page(&typed, &checked, None, app.read_only))
    });
    Ok(reply::page(&page.await?))
}

/// Everything that can be said of what was typed, without doing any of it.
pub(crate) fn checked(app: &App, typed: &Typed) -> Checked {
    let source = app.program.source(&typed.name, typed.text.clone(), typed.sets.clone());
    let scenario = match scenario::load(&source) {
        Ok(scenario) => scenario,
        Err(mistakes) => {
            // The form still offers what the scenario has without the settings.
            let plain = app.program.source(&typed.name, typed.text.clone(), Vec::new());
            let offered = scenario::load(&plain).map(|s| offered(&s)).unwrap_or_default();
            return Checked { mistakes: Some(mistakes), offered, ..Checked::default() };
        }
    };
    let plan = app.program.plan(&scenario);
    let estimate = match app.program.estimate(&scenario, &some(scenario.steps())) {
        Ok(steps) => Ok(steps),
        Err(Unsolved::Lab(mistakes)) => {
            let first = mistakes.iter().next().map(|one| one.message.clone()).unwrap_or_default();
            Err(format!("There is no estimate: {first}."))
        }
        Err(Unsolved::Other(why)) => Err(format!("There is no estimate: {why}.")),
    };
    Checked {
        mistakes: None,
        title: scenario.head.title.clone(),
        offered: offered(&scenario),
        plan: review::plain(&plan.text),
        guarded: guarded(&plan.document),
        estimate: Some(estimate),
    }
}

/// Steps that are estimated.
pub(crate) fn some(all: Vec<Step>) -> Vec<Step> {
    let each = all.len().div_ceil(STEPS).max(1);
    all.into_iter().step_by(each).collect()
}

/// The targets that a run would write to with a token: those that the guard examined, and that steps write.
pub(crate) fn guarded(plan: &Value) -> Vec<Guarded> {
    let targets = plan["targets"].as_array().into_iter().flatten();
    let one = |target: &Value| {
        let token = target["examined"]["token"].as_str()?;
        (target["writes"] == json!(true)).then(|| Guarded {
            name: target["name"].as_str().unwrap_or_default().to_owned(),
            what: target["what"].as_str().unwrap_or_default().to_owned(),
            token: token.to_owned(),
        })
    };
    targets.filter_map(one).collect()
}

/// What a form says.
fn typed(fields: &[(String, String)]) -> Result<Typed, Refusal> {
    let mut sets: Vec<(String, String)> = Vec::new();
    for (key, value) in fields {
        if let Some(key) = key.strip_prefix("set:").filter(|_| !value.trim().is_empty()) {
            sets.push((key.to_owned(), value.trim().to_owned()));
        }
    }
    for line in field(fields, "set").lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once('=').ok_or_else(|| {
            Refusal::bad(format!("Expected KEY=VALUE, as in plan.measure=2s, not {line:?}."))
        })?;
        sets.push((key.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(Typed {
        id: field(fields, "id").to_owned(),
        name: field(fields, "name").to_owned(),
        text: field(fields, "text").replace("\r\n", "\n"),
        sets,
    })
}

pub(crate) async fn started(State(app): Shared, body: Bytes) -> Paged {
    let fields = fields(&body);
    let done = aside(move || {
        let typed = typed(&fields)?;
        let kind = match field(&fields, "action") {
            "run" => Kind::Run,
            "simulate" => Kind::Simulate,
            _ => {
                let checked = checked(&app, &typed);
                return Ok(Err(start::page(&typed, &checked, None, app.read_only)));
            }
        };
        let token = |name: &str| field(&fields, &format!("token:{name}")).trim().to_owned();
        match begin(&app, kind, &typed, &token) {
            Ok(job) => Ok(Ok(job)),
            Err(refusal) => {
                let checked = checked(&app, &typed);
                let problem = Some(refusal.message.as_str());
                Ok(Err(start::page(&typed, &checked, problem, app.read_only)))
            }
        }
    });
    Ok(match done.await? {
        Ok(job) => Redirect::to(&format!("/live/{}", job.id)).into_response(),
        Err(page) => {
            let mut response = reply::page(&page);
            *response.status_mut() = StatusCode::OK;
            response
        }
    })
}

/// Starts what was typed, if it may be: without mistakes, and with the token of every target that it would write to.
pub(crate) fn begin(
    app: &App,
    kind: Kind,
    typed: &Typed,
    token: &dyn Fn(&str) -> String,
) -> Result<Job, Refusal> {
    app.writable()?;
    let source = app.program.source(&typed.name, typed.text.clone(), typed.sets.clone());
    let scenario = scenario::load(&source).map_err(|mistakes| mistaken(&mistakes))?;
    let mut sets = typed.sets.clone();
    if kind == Kind::Run {
        scenario.live().map_err(|mistakes| mistaken(&mistakes))?;
        sets.extend(permitted(app, &scenario, token)?);
    }
    let stem =
        std::path::Path::new(&typed.name).file_stem().map(|s| s.to_string_lossy().into_owned());
    let named = (stem.as_deref().unwrap_or("run"), scenario.head.title.as_str());
    app.jobs.start(kind, named, &typed.text, &sets).map_err(|not| match not {
        NotStarted::Busy(why) => Refusal::new(StatusCode::CONFLICT, "busy", why),
        NotStarted::Failed(error) => Refusal::failed(format!("It cannot be started: {error}.")),
    })
}

/// The settings that pass the typed tokens on; refused where one is missing or is another's.
fn permitted(
    app: &App,
    scenario: &Scenario,
    token: &dyn Fn(&str) -> String,
) -> Result<Vec<(String, String)>, Refusal> {
    let mut sets = Vec::new();
    for Guarded { name, what, token: wanted } in guarded(&app.program.plan(scenario).document) {
        if token(&name) != wanted {
            let why = format!(
                "The run would write to {} ({}): type the token that the plan prints for it.",
                review::clean(&name),
                review::clean(&what)
            );
            return Err(Refusal::new(StatusCode::FORBIDDEN, "token-needed", why));
        }
        if scenario.lab.targets.iter().any(|target| target.name == name) {
            sets.push((format!("target.\"{name}\".write_token"), wanted));
        }
    }
    Ok(sets)
}

/// Mistakes of a scenario, for programs: each with its place.
pub(crate) fn mistaken(mistakes: &scenario::Diagnostics) -> Refusal {
    let all: Vec<Value> = mistakes
        .iter()
        .map(|one| {
            json!({
                "source": mistakes.name(one.place.origin), "line": one.place.line, "column": one.place.column,
                "from": one.place.span.start, "to": one.place.span.end,
                "message": one.message, "label": one.label, "help": one.help,
            })
        })
        .collect();
    let first = mistakes.to_string();
    let first = first.lines().next().unwrap_or_default();
    let mut refusal =
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "scenario", review::clean(first));
    refusal.more = json!({ "mistakes": all, "omitted": mistakes.omitted() });
    refusal
}

pub(crate) async fn explore(State(app): Shared, RawQuery(said): RawQuery) -> Paged {
    let said = fields(said.unwrap_or_default().as_bytes());
    let page = aside(move || {
        let id = field(&said, "scenario");
        if id.is_empty() {
            let all = crate::folder::scenarios(&app.library.folder, &*app.program);
            return Ok(start::list(&all, "Explore"));
        }
        let listed = app.scenario(id)?;
        let source = app.program.source(&listed.name, listed.text.clone(), Vec::new());
        let scenario = scenario::load(&source).map_err(|mistakes| mistaken(&mistakes))?;
        let plan = plan_of(&scenario, &said)?;
        let axes = explore::axes(&scenario, &plan, &said);
        let answer = answer(&app, &scenario, &plan, &said).map_err(|refusal| refusal.message);
        Ok(explore::page(&listed, &scenario, &plan, &axes, &answer))
    });
    Ok(reply::page(&page.await?))
}

/// The plan that an address names; where it names none the first that sweeps over something, so that there is a slider.
pub(crate) fn plan_of(scenario: &Scenario, said: &[(String, String)]) -> Result<String, Refusal> {
    let asked = field(said, "plan");
    let plans = || scenario.plans.iter();
    let found = match asked.is_empty() {
        true => plans().find(|plan| !plan.sweep.is_empty()).or_else(|| plans().next()),
        false => plans().find(|plan| plan.name == asked),
    };
    found.map(|plan| plan.name.clone()).ok_or_else(|| Refusal::not_found("plan"))
}

/// What the estimator says of the step that sliders choose.
pub(crate) fn answer(
    app: &App,
    scenario: &Scenario,
    plan: &str,
    said: &[(String, String)],
) -> Result<Answer, Refusal> {
    let axes = explore::axes(scenario, plan, said);
    let is = |step: &Step| {
        step.plan == plan
            && step.repetition == 0
            && axes.iter().all(|axis| {
                let value = &axis.values[axis.chosen];
                step.settings.iter().any(|(key, now)| *key == axis.key && now == value)
            })
    };
    let step = scenario.steps().into_iter().find(is);
    let step =
        step.ok_or_else(|| Refusal::bad("This plan has no such step: it is searched for."))?;
    let solved = app.program.estimate(scenario, std::slice::from_ref(&step));
    let steps = solved.map_err(|unsolved| match unsolved {
        Unsolved::Lab(mistakes) => mistaken(&mistakes),
        Unsolved::Other(why) => Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "unsolved", why),
    })?;
    let step = steps.first().ok_or_else(|| Refusal::failed("The estimate is empty."))?;
    Ok(Answer::of(plan, axes, step))
}
