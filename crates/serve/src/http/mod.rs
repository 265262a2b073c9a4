//! The server: it accepts so many connections and no more, gives none of them for ever, and hands requests to the pages.

pub(crate) mod access;
pub(crate) mod gate;
mod patient;
mod peer;
pub(crate) mod reply;
pub(crate) mod stream;
mod tls;

pub(crate) use tls::Identity;
pub use tls::Tls;

use axum::{Extension, Router};
use gate::Peer;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use patient::Patient;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Connections at once. More wait in the kernel's queue until one of these has ended.
const CONNECTIONS: usize = 256;
/// How long a client may take to say what it wants, and to say the next thing.
const ASKING: Duration = Duration::from_secs(5);
/// Bytes of a request's head at most.
const HEAD: usize = 32 << 10;
/// How often it is asked whether to stop.
const BEAT: Duration = Duration::from_millis(200);

/// Listens at an address; nothing is answered yet.
pub(crate) fn bind(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers until it is told to stop, by TLS where there is a certificate.
pub(crate) fn answer(
    listener: std::net::TcpListener,
    identity: Option<&Identity>,
    router: &Router,
    stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(4)
        .build()?;
    let done = runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let server = listener.local_addr()?;
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        while !stopped() {
            let Ok(Ok(place)) = timeout(BEAT, Arc::clone(&room).acquire_owned()).await else {
                continue;
            };
            let Ok(Ok((stream, client))) = timeout(BEAT, listener.accept()).await else { continue };
            let router = router.clone();
            let acceptor = identity.map(Identity::acceptor);
            tokio::spawn(async move {
                greet(stream, (client, server), acceptor, router).await;
                drop(place);
            });
        }
        Ok(())
    });
    // What is still being read or written is given up.
    runtime.shutdown_timeout(BEAT);
    done
}

/// One connection, until its client can be talked to.
async fn greet(
    stream: TcpStream,
    (client, server): (SocketAddr, SocketAddr),
    acceptor: Option<TlsAcceptor>,
    router: Router,
) {
    // Small answers, such as seconds of a run, are sent at once.
    let _ = stream.set_nodelay(true);
    let server = stream.local_addr().unwrap_or(server);
    let own = client.ip().is_loopback() && {
        let own = rustix::process::geteuid().as_raw();
        peer::owner(client, server).is_some_and(|owner| owner == own || owner == 0)
    };
    let router = router.layer(Extension(Peer { own }));
    let stream = Patient::new(stream);
    match acceptor {
        None => converse(stream, router).await,
        Some(acceptor) => {
            // Who does not finish in time, or speaks plainly, is left.
            if let Ok(Ok(stream)) = timeout(ASKING, acceptor.accept(stream)).await {
                converse(stream, router).await;
            }
        }
    }
}

/// One connection, from its first request to its last.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKING)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A client that breaks off, or talks nonsense, ends its own connection.
    let _ = connection.await;
}
