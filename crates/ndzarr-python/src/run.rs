//! Runs calls of the library without the GIL, listens for Ctrl-C meanwhile, and reports progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ndzarr::{Cancel, Result, RunOptions};
use pyo3::prelude::*;

use crate::error::{of_kind, raised};

/// How often a waiting caller asks for signals, and reports progress.
const TICK: Duration = Duration::from_millis(50);

/// What a caller does while a call runs.
#[derive(FromPyObject)]
pub(crate) struct Watch(
    /// Whether it listens for Ctrl-C, which only the main thread of Python hears.
    bool,
    /// Called with the number of chunks that are done and of all chunks, on the calling thread alone.
    Option<Py<PyAny>>,
    /// Stops the call from another thread.
    Option<Py<Stop>>,
);

/// Stops the calls that it was given to.
#[pyclass(frozen, module = "ndzarr._ndzarr")]
#[derive(Default)]
pub(crate) struct Stop(Cancel);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// A value that is being written is either written completely or not at all.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel());
    }

    #[getter]
    fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }
}

type Caught<R> = thread::Result<Result<R>>;

/// Runs a call. If the caller watches, another thread runs it, and an interrupt or an exception of
/// the progress cancels it.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: impl FnOnce(RunOptions) -> Result<R> + Send,
) -> PyResult<R> {
    let call = |options| catch_unwind(AssertUnwindSafe(|| call(options)));
    let stop = watch.2.as_ref().map(|stop| stop.get().0.clone());
    if !watch.0 && watch.1.is_none() {
        let options = options.cancel(stop);
        let caught = py.detach(|| call(options));
        return returned(py, caught);
    }
    let (cancel, counts) = (stop.unwrap_or_default(), Arc::new(Counts::default()));
    let mut options = options.cancel(cancel.clone());
    if watch.1.is_some() {
        let counts = Arc::clone(&counts);
        options = options.progress(move |progress| {
            counts.total.store(progress.total, Ordering::Relaxed);
            counts.done.fetch_max(progress.done, Ordering::Relaxed);
        });
    }
    let mut stopped = None;
    let work = Mutex::new(Some((call, options)));
    let run = || {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|(call, options)| call(options))
    };
    let caught = py.detach(|| {
        let (send, receive) = channel();
        thread::scope(|scope| {
            let start = move || drop(run().map(|caught| send.send(caught)));
            if thread::Builder::new().spawn_scoped(scope, start).is_err() {
                // The system allows no more threads: it cannot be interrupted here.
                return run();
            }
            loop {
                match receive.recv_timeout(TICK) {
                    Ok(caught) => return Some(caught),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) if stopped.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let heard = Python::attach(|py| {
                            py.check_signals()?;
                            counts.report(py, watch)
                        });
                        if let Err(error) = heard {
                            cancel.cancel();
                            stopped = Some(error);
                        }
                    }
                }
            }
        })
    });
    if let Some(error) = stopped {
        return Err(error);
    }
    let caught = caught.unwrap_or_else(|| Err(Box::new("the thread of the call ended without an answer")));
    let output = returned(py, caught)?;
    counts.report(py, watch)?;
    Ok(output)
}

/// Panics as a defect of the library would, for the tests of the package.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, watch: Watch) -> PyResult<()> {
    run(py, &watch, RunOptions::default(), |_| panic!("as asked for"))
}

fn returned<R>(py: Python<'_>, caught: Caught<R>) -> PyResult<R> {
    match caught {
        Ok(result) => result.map_err(|error| raised(py, &error)),
        Err(panic) => {
            let what = format!("this is a defect of ndzarr, please report it: {}", message(&*panic));
            Err(of_kind(py, "Internal", &what))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// The progress of a call, written by any of its threads.
#[derive(Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
    reported: AtomicU64,
}

impl Counts {
    /// Tells the caller, if anything was done since.
    fn report(&self, py: Python<'_>, watch: &Watch) -> PyResult<()> {
        let Some(progress) = &watch.1 else { return Ok(()) };
        let done = self.done.load(Ordering::Relaxed);
        if self.reported.swap(done, Ordering::Relaxed) != done {
            progress.call1(py, (done, self.total.load(Ordering::Relaxed)))?;
        }
        Ok(())
    }
}
