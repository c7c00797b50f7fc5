//! Runs calls of the library without the GIL, listens for Ctrl-C meanwhile, and reports progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ndzarr::{Cancel, Result, RunOptions};
use pyo3::prelude::*;

use crate::error::{of_kind, raised};

/// The interval at which a waiting caller checks for signals, and reports progress.
const TICK: Duration = Duration::from_millis(50);

/// The work of a caller while a call runs.
#[derive(FromPyObject)]
pub(crate) struct Watch(
    /// True if it listens for Ctrl-C, which only the main thread of Python receives.
    bool,
    /// Called with the number of chunks that are done and of all chunks, only on the calling
    /// thread.
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

impl Watch {
    /// True if the call was stopped from another thread.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cancel().is_some_and(|cancel| cancel.is_cancelled())
    }

    fn cancel(&self) -> Option<Cancel> {
        self.2.as_ref().map(|stop| stop.get().0.clone())
    }

    /// True if another thread runs the call, so that its caller can listen and report.
    fn is_attentive(&self) -> bool {
        self.0 || self.1.is_some()
    }
}

type Caught = thread::Result<Result<()>>;

/// Runs a call of the library. Cancelling it also cancels the calls that it makes without its
/// options, to open and create nodes.
fn caught(call: impl FnOnce(RunOptions) -> Result<()>, options: RunOptions) -> Caught {
    let cancel = options.cancel.clone();
    let call = AssertUnwindSafe(|| match cancel {
        Some(cancel) => cancel.scope(|| call(options)),
        None => call(options),
    });
    catch_unwind(call)
}

/// Runs a call. If the caller watches, another thread runs it, and an interrupt or an exception of
/// the progress cancels it and waits for its end.
pub(crate) fn run<R: Send>(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: impl FnOnce(RunOptions) -> Result<R> + Send,
) -> PyResult<R> {
    let mut call = Some(call);
    let mut output = None;
    let once = &mut |options| {
        let call = call.take().expect("it is run once");
        output = Some(call(options)?);
        Ok(())
    };
    run_once(py, watch, options, once)?;
    Ok(output.expect("the call has ended"))
}

/// [`run`], compiled once for all calls.
fn run_once(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: &mut (dyn FnMut(RunOptions) -> Result<()> + Send),
) -> PyResult<()> {
    if !watch.is_attentive() {
        let options = options.cancel(watch.cancel());
        return returned(py, py.detach(|| caught(call, options)));
    }
    let (watcher, options) = Watcher::new(watch, options);
    let work = Mutex::new(Some((call, options)));
    let run = || taken(&work).map(|(call, options)| caught(call, options));
    let end = py.detach(|| {
        let (send, receive) = channel();
        thread::scope(|scope| {
            let start = move || drop(run().map(|caught| send.send(caught)));
            match thread::Builder::new().spawn_scoped(scope, start) {
                Ok(_) => watcher.wait(&receive, OnInterrupt::Wait),
                // The system allows no more threads: it cannot be interrupted here.
                Err(_) => Ok(run()),
            }
        })
    });
    watcher.returned(py, end)
}

/// Runs a call that changes nothing in a store or in memory of Python: an interrupt does not wait
/// for its end, and drops its result.
pub(crate) fn look<R: Send + 'static>(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: impl FnOnce(RunOptions) -> Result<R> + Send + 'static,
) -> PyResult<R> {
    let output = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&output);
    let once = move |options| {
        let found = call(options)?;
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        Ok(())
    };
    look_once(py, watch, options, Box::new(once))?;
    Ok(taken(&output).expect("the call has ended"))
}

/// [`look`], compiled once for all calls.
fn look_once(
    py: Python<'_>,
    watch: &Watch,
    options: RunOptions,
    call: Box<dyn FnOnce(RunOptions) -> Result<()> + Send>,
) -> PyResult<()> {
    if !watch.is_attentive() {
        let options = options.cancel(watch.cancel());
        return returned(py, py.detach(|| caught(call, options)));
    }
    let (watcher, options) = Watcher::new(watch, options);
    let work = Arc::new(Mutex::new(Some((call, options))));
    let end = py.detach(|| {
        let (send, receive) = channel();
        let shared = Arc::clone(&work);
        let start = move || {
            if let Some((call, options)) = taken(&shared) {
                let _ = send.send(caught(call, options));
            }
        };
        match thread::Builder::new().spawn(start) {
            Ok(_) => watcher.wait(&receive, OnInterrupt::Leave),
            Err(_) => Ok(taken(&work).map(|(call, options)| caught(call, options))),
        }
    });
    watcher.returned(py, end)
}

fn taken<T>(work: &Mutex<Option<T>>) -> Option<T> {
    work.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The treatment of a call that is interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnInterrupt {
    Wait,
    Leave,
}

/// The caller of a call, which listens and reports while another thread runs it.
struct Watcher<'w> {
    watch: &'w Watch,
    cancel: Cancel,
    counts: Arc<Counts>,
}

impl<'w> Watcher<'w> {
    /// A watcher, and the options of the call with which it can be watched.
    fn new(watch: &'w Watch, options: RunOptions) -> (Self, RunOptions) {
        let watcher = Self {
            watch,
            cancel: watch.cancel().unwrap_or_default(),
            counts: Arc::default(),
        };
        let mut options = options.cancel(watcher.cancel.clone());
        if watch.1.is_some() {
            let counts = Arc::clone(&watcher.counts);
            options = options.progress(move |progress| {
                counts.total.store(progress.total, Ordering::Relaxed);
                counts.done.fetch_max(progress.done, Ordering::Relaxed);
            });
        }
        (watcher, options)
    }

    /// Waits for the result of the call; `None` if its thread ended without one. Fails with the
    /// exception that interrupted it.
    fn wait(
        &self,
        receive: &Receiver<Caught>,
        on_interrupt: OnInterrupt,
    ) -> PyResult<Option<Caught>> {
        let mut interrupt = None;
        loop {
            match receive.recv_timeout(TICK) {
                Err(RecvTimeoutError::Timeout) if interrupt.is_some() => {}
                Err(RecvTimeoutError::Timeout) => {
                    let reported = Python::attach(|py| {
                        py.check_signals()?;
                        self.counts.report(py, self.watch)
                    });
                    let Err(error) = reported else { continue };
                    self.cancel.cancel();
                    if on_interrupt == OnInterrupt::Leave {
                        return Err(error);
                    }
                    interrupt = Some(error);
                }
                ended => return interrupt.map_or_else(|| Ok(ended.ok()), Err),
            }
        }
    }

    fn returned(&self, py: Python<'_>, end: PyResult<Option<Caught>>) -> PyResult<()> {
        let ended =
            end?.unwrap_or_else(|| Err(Box::new("the thread of the call ended without an answer")));
        returned(py, ended)?;
        self.counts.report(py, self.watch)
    }
}

/// Panics as a defect of the library would, for the tests of the package.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, watch: Watch) -> PyResult<()> {
    run(py, &watch, RunOptions::default(), |_| {
        panic!("as asked for")
    })
}

fn returned(py: Python<'_>, caught: Caught) -> PyResult<()> {
    match caught {
        Ok(result) => result.map_err(|error| raised(py, &error)),
        Err(panic) => {
            let what = format!(
                "this is a defect of ndzarr, please report it: {}",
                message(&*panic)
            );
            Err(of_kind(py, "Internal", &what))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

/// The progress of a call, written by any of its threads.
#[derive(Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
    reported: AtomicU64,
}

impl Counts {
    /// Reports to the caller if anything was done since the last report.
    fn report(&self, py: Python<'_>, watch: &Watch) -> PyResult<()> {
        let Some(progress) = &watch.1 else {
            return Ok(());
        };
        let done = self.done.load(Ordering::Relaxed);
        if self.reported.swap(done, Ordering::Relaxed) != done {
            progress.call1(py, (done, self.total.load(Ordering::Relaxed)))?;
        }
        Ok(())
    }
}
