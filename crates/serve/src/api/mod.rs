//! Which address is answered by what.

mod document;
mod form;
mod live;
mod openapi;
mod records;
mod scenarios;

use crate::app::App;
use crate::http::gate::{cookie, gate};
use crate::http::reply::{self, Refusal};
use crate::metrics;
use crate::pages;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post, put};
use form::fields;
use std::sync::Arc;

pub(crate) type Shared = State<Arc<App>>;

/// All addresses, behind the gate.
pub(crate) fn router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/", get(records::library))
        .route("/library", get(records::results))
        .route("/library/changes", get(records::changes))
        .route("/records/{id}", get(records::page))
        .route("/records/{id}/review", get(records::review))
        .route("/records/{id}/download/{form}", get(records::download))
        .route("/records/{id}/notes", post(records::note))
        .route("/compare", get(records::compare))
        .route("/trend", get(records::trend))
        .route("/live", get(live::list))
        .route("/live/{id}", get(live::page))
        .route("/live/{id}/parts", get(live::parts))
        .route("/live/{id}/stop", post(live::stop_page))
        .route("/start", get(scenarios::start).post(scenarios::started))
        .route("/explore", get(scenarios::explore))
        .route("/login", get(login).post(logged_in))
        .route("/logout", post(logout))
        .route("/assets/serve.css", get(style))
        .route("/assets/serve.js", get(script))
        .route("/metrics", get(metrics_page))
        .merge(documents())
        .fallback(async || Refusal::not_found("page").page())
        .layer(from_fn_with_state(Arc::clone(app), gate))
        .with_state(Arc::clone(app))
}

/// The addresses for programs.
fn documents() -> Router<Arc<App>> {
    Router::new()
        .route("/api/v1/openapi.json", get(async || reply::raw_json(openapi::TEXT.to_owned())))
        .route("/api/v1/records", get(document::records))
        .route("/api/v1/records/{id}", get(document::record))
        .route("/api/v1/records/{id}/analysis", get(document::analysis))
        .route("/api/v1/records/{id}/notes", put(document::note))
        .route("/api/v1/live", get(document::live))
        .route("/api/v1/live/{id}", get(document::live_one))
        .route("/api/v1/live/{id}/seconds", get(document::seconds))
        .route("/api/v1/live/{id}/events", get(live::events))
        .route("/api/v1/live/{id}/stop", post(live::stop))
        .route("/api/v1/scenarios", get(document::scenarios))
        .route("/api/v1/scenarios/{id}", get(document::scenario))
        .route("/api/v1/plan", post(document::plan))
        .route("/api/v1/estimate", post(document::estimate))
        .route("/api/v1/explore", get(document::explore))
        .route("/api/v1/runs", get(document::runs).post(document::start))
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", pages::style())
}

async fn script() -> Response {
    asset("text/javascript; charset=utf-8", pages::SCRIPT.to_owned())
}

fn asset(kind: &'static str, text: String) -> Response {
    // They change with the program alone, which is restarted for that.
    let kept = (header::CACHE_CONTROL, "private, max-age=300");
    ([(header::CONTENT_TYPE, kind), kept], text).into_response()
}

async fn login(State(app): Shared) -> Response {
    if !app.access.needs_login() {
        return Redirect::to("/").into_response();
    }
    reply::page(&pages::login::page(false))
}

async fn logged_in(State(app): Shared, body: Bytes) -> Response {
    let fields = fields(&body);
    let token = fields.iter().find(|(key, _)| key == "token").map_or("", |(_, value)| value);
    let Some(cookie) = app.access.log_in(token) else {
        let mut response = reply::page(&pages::login::page(true));
        *response.status_mut() = axum::http::StatusCode::UNAUTHORIZED;
        return response;
    };
    let seconds = crate::http::access::LASTS.0 / 1_000_000_000;
    with_cookie(&app, &cookie, seconds)
}

async fn logout(State(app): Shared, headers: HeaderMap) -> Response {
    if let Some(cookie) = cookie(&headers) {
        app.access.log_out(cookie);
    }
    with_cookie(&app, "", 0)
}

fn with_cookie(app: &App, value: &str, seconds: u64) -> Response {
    let secure = if app.access.scheme == "https" { "; Secure" } else { "" };
    let name = crate::http::access::COOKIE;
    let cookie =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut response = Redirect::to("/").into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

async fn metrics_page(State(app): Shared, asked: HeaderMap) -> Response {
    match crate::app::aside(move || Ok(metrics::of_page(&app))).await {
        Ok(sheet) => metrics::answered(sheet, &asked),
        Err(refusal) => refusal.into_response(),
    }
}
