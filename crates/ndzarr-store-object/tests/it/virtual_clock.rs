//! A runtime whose clock stands still until a test moves it: timeouts and backoffs without waiting.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{spawn_blocking, yield_now};

/// After this many yields, tasks that became ready have run, and have read what had arrived at
/// sockets.
const YIELDS: usize = 500;

/// The clock. Its runtime has a thread of its own, and ends when this is dropped.
pub(crate) struct VirtualClock {
    handle: Handle,
    moves: Option<UnboundedSender<Duration>>,
    moved: mpsc::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl VirtualClock {
    pub(crate) fn start() -> Self {
        let (moves, mut wanted) = unbounded_channel::<Duration>();
        let (done, moved) = mpsc::channel();
        let (handle_sender, handles) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build();
            let runtime = runtime.expect("a runtime");
            handle_sender
                .send(runtime.handle().clone())
                .expect("it is waited for");
            // While a blocking task runs, the clock does not advance by itself when all other tasks
            // wait.
            let (end, ended) = mpsc::channel::<()>();
            runtime.block_on(async {
                drop(spawn_blocking(move || ended.recv()));
                while let Some(time) = wanted.recv().await {
                    tokio::time::advance(time).await;
                    for _ in 0..YIELDS {
                        yield_now().await;
                    }
                    done.send(()).expect("it is waited for");
                }
            });
            drop(end);
        });
        let handle = handles.recv().expect("the runtime starts");
        Self {
            handle,
            moves: Some(moves),
            moved,
            thread: Some(thread),
        }
    }

    /// The runtime, for the options of a store.
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Moves the clock, and waits until tasks have noticed.
    pub(crate) fn advance(&self, time: Duration) {
        self.moves
            .as_ref()
            .expect("it runs")
            .send(time)
            .expect("it runs");
        self.moved.recv().expect("it runs");
    }
}

impl Drop for VirtualClock {
    fn drop(&mut self) {
        drop(self.moves.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it does not panic");
        }
    }
}
