//! The one thread on which everything asynchronous happens. It carries no load: workers have threads of their own, and what
//! coordinates them hands messages over through bounded queues.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The thread. It ends when this is dropped.
pub(crate) struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    pub fn start() -> io::Result<Runtime> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(4)
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            // An error: the sender is gone, which means the same.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(Duration::from_millis(200));
        };
        let thread = std::thread::Builder::new().name("nats".to_owned()).spawn(run)?;
        Ok(Runtime { handle, stop: Some(stop), thread: Some(thread) })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits on this thread for what is done on that one.
    pub fn wait<F>(&self, work: F) -> io::Result<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (tx, rx) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = tx.send(work.await);
        });
        rx.recv().map_err(|_| io::Error::other("the thread of the connection ended"))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Lets time pass.
pub(crate) async fn pause(time: Duration) {
    let _ = timeout(time, std::future::pending::<()>()).await;
}
