//! Answers and what every one of them says to a browser: load nothing from elsewhere, never be framed, guess no types.

use crate::pages::frame;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::{Value, json};

/// The policy of pages: their own scripts, styles and figures, and nothing from anywhere else.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// A review brings the policy of its own scripts along, by their digests.
pub(crate) const REVIEW_POLICY: &str =
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Puts the headers of every answer.
pub(crate) fn secure(headers: &mut HeaderMap, https: bool) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Nothing to other sites; `no-referrer` would leave the page's own forms without their `Origin`.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let absent = |name: header::HeaderName| !headers.contains_key(name);
    let (no_policy, no_cache) =
        (absent(header::CONTENT_SECURITY_POLICY), absent(header::CACHE_CONTROL));
    if no_policy {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
    if no_cache {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if https {
        let value = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
}

/// A page.
pub(crate) fn page(markup: &Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], markup.0.clone()).into_response()
}

/// A document for programs.
pub(crate) fn document(value: &Value) -> Response {
    raw_json(value.to_string())
}

/// The same, written already.
pub(crate) fn raw_json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// A file to be kept, under a name that holds nothing but plain signs.
pub(crate) fn download(name: &str, kind: &'static str, body: Body) -> Response {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_start_matches('.');
    let disposition = format!("attachment; filename=\"{name}\"");
    let mut response = ([(header::CONTENT_TYPE, kind)], body).into_response();
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// Why a request was not fulfilled: for people as a page, for programs as a document.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
    /// What else a program is told.
    pub more: Value,
}

impl Refusal {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { status, code, message: message.into(), more: Value::Null }
    }

    pub fn not_found(what: &str) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, "not-found", format!("There is no such {what}."))
    }

    pub fn bad(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, "bad-request", message)
    }

    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message)
    }

    pub fn document(&self) -> Value {
        json!({ "error": { "code": self.code, "message": self.message, "details": self.more } })
    }

    /// For people.
    pub fn page(&self) -> Response {
        let body = html! {
            section { h1 { (self.status.canonical_reason().unwrap_or("Refused")) } p { (self.message) } p { a href="/" { "To the library" } } }
        };
        let mut response = page(&frame("Refused", None, &body));
        *response.status_mut() = self.status;
        response
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = document(&self.document());
        *response.status_mut() = self.status;
        response
    }
}

/// A refusal that a browser shows as a page.
pub(crate) struct PageRefusal(pub Refusal);

impl From<Refusal> for PageRefusal {
    fn from(refusal: Refusal) -> PageRefusal {
        PageRefusal(refusal)
    }
}

impl IntoResponse for PageRefusal {
    fn into_response(self) -> Response {
        self.0.page()
    }
}
