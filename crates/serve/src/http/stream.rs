//! Server-sent events: what is newest, to each viewer as fast as it reads. A viewer that is slow misses what others saw
//! meanwhile, and gets the latest; one that has gone is noticed at the next beat.

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::timeout;

/// How often a silent stream says that it is there.
const BEAT: Duration = Duration::from_secs(15);

/// A body whose parts come as they are made.
struct Parts(mpsc::Receiver<Bytes>);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// A body that is fed through the other end; what feeds it waits while nothing is read.
pub(crate) fn fed(waiting: usize) -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(waiting);
    (sender, Body::new(Parts(receiver)))
}

/// An event as the protocol spells it: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
fn event(name: &str, id: u64, data: &str) -> Bytes {
    let mut text = format!("event: {name}\nid: {id}\n");
    // Each line of the data stands behind the name of its field: none of it can be taken for another field.
    for line in data.split(['\n', '\r']) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    Bytes::from(text)
}

/// What is to be said of a value: the event's name, its number and its data; and whether it is the last.
pub(crate) struct Said {
    pub name: &'static str,
    pub id: u64,
    pub data: std::sync::Arc<str>,
    pub last: bool,
}

/// Tells the newest value now and whenever it changes; `None` of `say` tells nothing. `held` lives as long as the stream.
pub(crate) fn events<T: Send + Sync + 'static, H: Send + 'static>(
    mut values: watch::Receiver<T>,
    say: impl Fn(&T) -> Option<Said> + Send + 'static,
    place: OwnedSemaphorePermit,
    held: H,
) -> Response {
    let (to, body) = fed(1);
    tokio::spawn(async move {
        let _held = (place, held);
        // A browser that lost the stream comes back after a second.
        if to.send(Bytes::from_static(b"retry: 1000\n\n")).await.is_err() {
            return;
        }
        loop {
            let said = say(&values.borrow_and_update());
            let last = said.as_ref().is_some_and(|said| said.last);
            if let Some(said) = said
                && to.send(event(said.name, said.id, &said.data)).await.is_err()
            {
                return;
            }
            if last {
                return;
            }
            let mut waits = true;
            while waits {
                match timeout(BEAT, values.changed()).await {
                    Ok(Ok(())) => waits = false,
                    Ok(Err(_)) => return,
                    Err(_) if to.send(Bytes::from_static(b": here\n\n")).await.is_err() => return,
                    Err(_) => {}
                }
            }
        }
    });
    let kind = "text/event-stream";
    // A proxy that gathers answers before it passes them on would show seconds late.
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ],
        body,
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_begin_a_field() {
        let said = event("second", 7, "a\nevent: evil\r\rid: 9");
        let text = String::from_utf8(said.to_vec()).expect("text");
        let expected = "event: second\nid: 7\ndata: a\ndata: event: evil\ndata: \ndata: id: 9\n\n";
        assert_eq!(text, expected);
    }
}
