//! All that the pages share.

use crate::Config;
use crate::folder;
use crate::http::access::Access;
use crate::http::reply::Refusal;
use crate::jobs::Jobs;
use crate::library::{Library, identifier};
use crate::live::{Hub, Viewer, writer};
use crate::program::Program;
use axum::http::StatusCode;
use clock::Ns;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Viewers of streams at once.
const VIEWERS: usize = 100;

pub(crate) struct App {
    pub access: Access,
    pub program: Arc<dyn Program>,
    pub library: Arc<Library>,
    pub hub: Hub,
    pub jobs: Jobs,
    pub read_only: bool,
    pub began: Ns,
    /// Requests, and those of them that were refused at the gate.
    pub requests: AtomicU64,
    pub refused: AtomicU64,
    viewers: Arc<Semaphore>,
}

/// A run in progress.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub id: String,
    pub path: PathBuf,
    pub pid: u32,
}

impl App {
    pub fn open(
        config: Config,
        program: Arc<dyn Program>,
        bound: SocketAddr,
    ) -> io::Result<Arc<App>> {
        let secure = config.behind_proxy.is_some() || config.tls.is_some();
        let names: Vec<String> = config.behind_proxy.into_iter().chain(config.names).collect();
        let library = Library::open(&config.folder)?;
        Ok(Arc::new(App {
            access: Access::new(bound, &names, secure, config.token),
            hub: Hub::new(Arc::clone(&program)),
            jobs: Jobs::new(Arc::clone(&program), library.folder.clone()),
            program,
            library,
            read_only: config.read_only,
            began: clock::now(),
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            viewers: Arc::new(Semaphore::new(VIEWERS)),
        }))
    }

    /// Everything that runs on this machine, as far as this user may see.
    pub fn running(&self) -> Vec<Running> {
        let entries = self.library.entries();
        let known = |path: &PathBuf| {
            entries.values().find(|entry| entry.path == *path).map(|entry| entry.id.clone())
        };
        let running = writer::written().into_iter().map(|one| Running {
            id: known(&one.path).unwrap_or_else(|| self.identify(&one.path)),
            path: one.path,
            pid: one.pid,
        });
        running.collect()
    }

    /// The identifier of a record by its place in the library, or outside of it.
    pub fn identify(&self, path: &std::path::Path) -> String {
        identifier(path.strip_prefix(&self.library.folder).unwrap_or(path))
    }

    /// A record that is in the library, or that is being written somewhere else.
    pub fn record(&self, id: &str) -> Result<PathBuf, Refusal> {
        if let Some(entry) = self.library.entry(id) {
            return Ok(entry.path);
        }
        let running = self.running().into_iter().find(|run| run.id == id);
        running.map(|run| run.path).ok_or_else(|| Refusal::not_found("record"))
    }

    /// Follows a run for one more viewer.
    pub fn follow(&self, id: &str) -> Result<Viewer, Refusal> {
        let path = self.record(id)?;
        self.hub.follow(id, &path).ok_or_else(|| {
            let why = "Too many runs are looked at. Close some of their pages.";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-runs", why)
        })
    }

    /// A place for one more stream.
    pub fn viewer(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.viewers).try_acquire_owned().map_err(|_| {
            let why = "Too many viewers. Close some pages.";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-viewers", why)
        })
    }

    /// How many viewers there are.
    pub fn viewers(&self) -> usize {
        VIEWERS - self.viewers.available_permits()
    }

    /// Refused where nothing may be changed.
    pub fn writable(&self) -> Result<(), Refusal> {
        if !self.read_only {
            return Ok(());
        }
        let why = "This page was started with --read-only: it starts, stops and writes nothing.";
        Err(Refusal::new(StatusCode::FORBIDDEN, "read-only", why))
    }

    /// A scenario by its identifier: name and text.
    pub fn scenario(&self, id: &str) -> Result<folder::Listed, Refusal> {
        let all = folder::scenarios(&self.library.folder, &*self.program);
        all.into_iter().find(|one| one.id == id).ok_or_else(|| Refusal::not_found("scenario"))
    }
}

/// Does what takes its time on a thread of its own.
pub(crate) async fn aside<T: Send + 'static>(
    f: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(f).await {
        Ok(done) => done,
        Err(_) => Err(Refusal::failed("It could not be done; the page's terminal may say more.")),
    }
}
