//! Work on a thread of its own.

/// Runs work on a separate thread named after it, so that a debugger shows where it hangs.
pub(crate) fn ends(what: &str, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .name(what.to_owned())
        .spawn(work)
        .expect("a thread");
    thread.join().expect("no panic");
}
