//! What every request passes before anything is done for it. In this order: the name by which the page is asked for, the page
//! that asks, who asks, and what a request brings along, in bounded time and memory.

use super::access::COOKIE;
use super::reply::{self, Refusal};
use crate::app::App;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;

/// Bytes that a request brings along at most: a scenario with its settings.
const BODY: usize = 1 << 20;
/// How long that may take.
const SENDING: Duration = Duration::from_secs(10);

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// A process of this page's own user, or of root, on this machine.
    pub own: bool,
}

/// Checks a request, lets it be answered, and puts the headers of every answer.
pub(crate) async fn gate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    app.requests.fetch_add(1, Ordering::Relaxed);
    let for_people = wants_page(request.headers(), request.uri().path());
    let mut response = match pass(&app, request).await {
        Ok(Passed::On(request)) => next.run(*request).await,
        Ok(Passed::ToLogin) => Redirect::to("/login").into_response(),
        Err(refusal) => {
            app.refused.fetch_add(1, Ordering::Relaxed);
            if for_people { refusal.page() } else { refusal.into_response() }
        }
    };
    reply::secure(response.headers_mut(), app.access.scheme == "https");
    response
}

enum Passed {
    On(Box<Request>),
    ToLogin,
}

async fn pass(app: &App, request: Request) -> Result<Passed, Refusal> {
    let path = request.uri().path().to_owned();
    let headers = request.headers();
    known_host(app, &request)?;
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    same_site(app, headers, changes)?;
    let free = path == "/login" || path.starts_with("/assets/");
    if app.access.needs_login() {
        if !free && !has_logged_in(app, headers) {
            if wants_page(headers, &path) && !changes {
                return Ok(Passed::ToLogin);
            }
            let why = "Log in at /login, or send `Authorization: Bearer` with the token.";
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "no-log-in", why));
        }
    } else if !request.extensions().get::<Peer>().is_some_and(|peer| peer.own) {
        let why = "This page answers the user who started it alone. Start it with --token-file to let others log in.";
        return Err(Refusal::new(StatusCode::FORBIDDEN, "another-user", why));
    }
    if !changes {
        return Ok(Passed::On(Box::new(request)));
    }
    let (parts, body) = request.into_parts();
    let bytes = match timeout(SENDING, to_bytes(body, BODY)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let why = format!("A request brings at most {} KiB along.", BODY >> 10);
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", why));
        }
        Err(_) => {
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "It took too long."));
        }
    };
    Ok(Passed::On(Box::new(Request::from_parts(parts, Body::from(bytes)))))
}

/// The page is asked for by one of its own names, once.
fn known_host(app: &App, request: &Request) -> Result<(), Refusal> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok());
    let absolute = request.uri().authority().map(|authority| authority.as_str());
    let known = host.is_some_and(|host| app.access.knows_host(host))
        && named.next().is_none()
        && absolute.is_none_or(|authority| app.access.knows_host(authority));
    if known {
        return Ok(());
    }
    let why =
        "This page is not known by that name. Names that it is to have are given with --name.";
    Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", why))
}

/// No page of another site changes anything here, or reads what it could not see.
fn same_site(app: &App, headers: &HeaderMap, changes: bool) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let refused = |why: &str| Err(Refusal::new(StatusCode::FORBIDDEN, "cross-site", why));
    let (origin, site) = (text("origin"), text("sec-fetch-site"));
    if origin.is_some_and(|origin| !app.access.knows_origin(origin)) {
        return refused("A page of another site asks for this.");
    }
    let followed = text("sec-fetch-mode") == Some("navigate") && !changes;
    if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) && !followed {
        return refused("A page of another site asks for this.");
    }
    // A browser says where a change comes from; other programs say that they mean it, which no form of a page can.
    let meant = text("wirespeed-request").is_some() || bearer(headers).is_some();
    if changes && origin.is_none() && site != Some("same-origin") && !meant {
        return refused("Say with `Wirespeed-Request: 1` that this is meant.");
    }
    Ok(())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn has_logged_in(app: &App, headers: &HeaderMap) -> bool {
    bearer(headers).is_some_and(|token| app.access.is_token(token))
        || cookie(headers).is_some_and(|cookie| app.access.is_logged_in(cookie))
}

/// The value of our cookie.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|text| text.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })
}

/// Whether a person asks, who is shown a page.
fn wants_page(headers: &HeaderMap, path: &str) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    !path.starts_with("/api/")
        && path != "/metrics"
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}
