use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Places for those of many threads that compute, while the others wait for something else.
pub(crate) struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Places {
    pub(crate) fn new(n: usize) -> Self {
        Self { free: Mutex::new(n), freed: Condvar::new() }
    }

    /// Waits for a place and gives it up when `work` ends, be it by a panic. `work` must not wait for whoever may want one.
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut free = self.free();
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        let _taken = Taken(self);
        work()
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Taken<'p>(&'p Places);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_compute_at_once_than_there_are_places() {
        let places = Places::new(2);
        let (within, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    places.with(|| {
                        let n = within.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(n, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(5));
                        within.fetch_sub(1, Ordering::SeqCst);
                    });
                });
            }
        });
        assert_eq!((within.into_inner(), most.into_inner()), (0, 2));
    }

    #[test]
    fn a_panic_gives_its_place_up() {
        let places = Places::new(1);
        let panics = || places.with(|| panic!("as meant"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(places.with(|| 7), 7);
    }
}
