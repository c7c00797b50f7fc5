//! Cancellation: revokes a call's right to change the store.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ndzarr_store::{PerProcess, StoreError};

use super::EngineCause;
use super::revocable_lock::RevocableLock;
use super::sync::{Arc, AtomicBool, Condvar, Mutex, MutexGuard, PoisonError};

/// Stops the work that it was passed to; clones stop the same work.
///
/// Stopped work publishes nothing more. A publication in progress at that moment is finished under
/// its lock.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Token>);

#[derive(Default)]
struct Token {
    cancelled: AtomicBool,
    /// The whole that this is a part of.
    parent: Option<Cancel>,
    /// The condition for publishing anything.
    condition: OnceLock<Condition>,
    /// A forked child publishes for itself.
    in_progress: PerProcess<InProgress>,
}

#[derive(Default)]
struct InProgress {
    state: Mutex<State>,
    settled: Condvar,
}

/// Fails once the work must not change the store any more.
pub type Condition = Box<dyn Fn() -> Result<(), StoreError> + Send + Sync>;

#[derive(Default)]
struct State {
    /// The locks held for the work.
    held: Vec<RevocableLock>,
    /// The number of values being published, and how many of those without a lock.
    publishing: usize,
    unlocked: usize,
    /// Those that wait for the cancellation, by number.
    waiting: Vec<(u64, Waker)>,
}

thread_local! {
    static SCOPE: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

impl Cancel {
    /// One for work that is not a part of other work.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a part of the work, which can be stopped on its own; stopping the whole stops it
    /// too.
    #[must_use]
    pub fn part_of(whole: Option<&Self>) -> Self {
        Self(Arc::new(Token {
            parent: whole.cloned(),
            ..Token::default()
        }))
    }

    /// Asks the work to stop. A value being written is either written completely or not at all.
    ///
    /// Locks held by the work are released at once, unless they are in use at this moment.
    pub fn cancel(&self) {
        let (held, waiting) = {
            let mut state = self.state();
            self.0.cancelled.store(true, Ordering::SeqCst);
            (
                std::mem::take(&mut state.held),
                std::mem::take(&mut state.waiting),
            )
        };
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
        held.iter().for_each(RevocableLock::revoke);
    }

    /// True if cancellation was requested.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
            || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Waits until cancellation is requested.
    pub async fn cancelled(&self) {
        let mut waiting = Waiting {
            cancel: self,
            registered: None,
        };
        poll_fn(|context| waiting.poll(context)).await;
    }

    /// Runs calls that this stops, in addition to what their options say: for calls without
    /// options, such as those that open and create nodes. A call that waits for an asynchronous
    /// store ends at once, as does one that waits to change a document of a file system; others end
    /// where they check their options.
    ///
    /// ```
    /// use ndzarr::Cancel;
    ///
    /// let cancel = Cancel::new();
    /// assert!(cancel.scope(|| Cancel::of_scope().is_some()) && Cancel::of_scope().is_none());
    /// ```
    pub fn scope<R>(&self, calls: impl FnOnce() -> R) -> R {
        in_scope(Some(self), calls)
    }

    /// The one in whose [`scope`](Self::scope) this thread is.
    #[must_use]
    pub fn of_scope() -> Option<Self> {
        SCOPE.with_borrow(Clone::clone)
    }

    /// Waits until nothing is being published. After [`cancel`](Self::cancel), nothing will be.
    pub fn settle(&self) {
        let in_progress = self.in_progress();
        let mut state = in_progress.state();
        while state.publishing > 0 {
            state = in_progress
                .settled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// True if nothing is being published at this moment.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state().publishing == 0
    }

    /// True if something is being published without a lock at this moment.
    pub(crate) fn stores_unlocked(&self) -> bool {
        self.state().unlocked > 0
    }

    /// Waits until nothing is being published without a lock, but no longer than `limit`. A later
    /// call may overtake a publication that takes longer.
    pub(crate) fn settle_unlocked(&self, limit: Duration) {
        let in_progress = self.in_progress();
        let settled = &in_progress.settled;
        drop(settled.wait_timeout_while(in_progress.state(), limit, |state| state.unlocked > 0));
    }

    /// Has a lock taken away when the work, or a whole that it is a part of, is stopped.
    ///
    /// # Errors
    /// It was stopped.
    pub(super) fn hold(&self, lock: &RevocableLock) -> Result<(), EngineCause> {
        for cancel in outwards(Some(self)) {
            let mut state = cancel.state();
            if cancel.0.cancelled.load(Ordering::SeqCst) {
                return Err(EngineCause::Cancelled);
            }
            state.held.push(lock.clone());
        }
        Ok(())
    }

    /// Undoes [`hold`](Self::hold), also where it failed.
    pub(super) fn forget_lock(&self, lock: &RevocableLock) {
        for cancel in outwards(Some(self)) {
            cancel.state().held.retain(|held| !held.is_same(lock));
        }
    }

    fn in_progress(&self) -> &InProgress {
        self.0.in_progress.get(|_| InProgress::default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.in_progress().state()
    }
}

/// Runs calls in the scope of `cancel`, or in none. It replaces the scope of the thread: for a
/// thread that works for the call of another, and for what has to be done although its call was
/// cancelled.
pub fn in_scope<R>(cancel: Option<&Cancel>, calls: impl FnOnce() -> R) -> R {
    struct Before(Option<Cancel>);
    impl Drop for Before {
        fn drop(&mut self) {
            SCOPE.set(self.0.take());
        }
    }
    let _before = Before(SCOPE.replace(cancel.cloned()));
    calls()
}

/// Polls a call in the scope of `cancel`; without one, in that of its caller.
pub async fn scoped<T>(cancel: Option<&Cancel>, call: impl Future<Output = T>) -> T {
    let Some(cancel) = cancel else {
        return call.await;
    };
    let mut call = pin!(call);
    poll_fn(|context| cancel.scope(|| call.as_mut().poll(context))).await
}

impl InProgress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for a cancellation.
struct Waiting<'c> {
    cancel: &'c Cancel,
    /// The number that the waker is registered by, with the work and every whole that it is a part
    /// of.
    registered: Option<(u64, Waker)>,
}

impl Waiting<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self
            .registered
            .as_ref()
            .is_some_and(|(_, waker)| waker.will_wake(context.waker()))
        {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            self.forget();
            let registered = (
                NEXT.fetch_add(1, Ordering::Relaxed),
                context.waker().clone(),
            );
            outwards(Some(self.cancel))
                .for_each(|cancel| cancel.state().waiting.push(registered.clone()));
            self.registered = Some(registered);
        }
        if self.cancel.is_cancelled() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn forget(&mut self) {
        let Some((number, _)) = self.registered.take() else {
            return;
        };
        for cancel in outwards(Some(self.cancel)) {
            cancel.state().waiting.retain(|(known, _)| *known != number);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Stops its work when it is dropped: a call that fails is stopped wherever parts of it run. It
/// waits for nothing.
#[derive(Debug)]
pub struct CancelOnDrop(Cancel);

impl CancelOnDrop {
    /// Stops a part of a call, which can also be stopped as a whole.
    #[must_use]
    pub fn part_of(whole: Option<&Cancel>) -> Self {
        Self(Cancel::part_of(whole))
    }

    /// The work that it stops.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.0
    }

    /// Nothing is published any more once this fails, such as a check of a lock that the work
    /// depends on. The first one given counts.
    pub fn only_while(&self, condition: Condition) {
        let _ = self.0.0.condition.set(condition);
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel({})", self.is_cancelled())
    }
}

/// From a part of the work to the whole.
fn outwards(part: Option<&Cancel>) -> impl Iterator<Item = &Cancel> {
    std::iter::successors(part, |cancel| cancel.0.parent.as_ref())
}

/// Fails if the work was stopped.
pub(crate) fn check_cancel(cancel: Option<&Cancel>) -> Result<(), EngineCause> {
    match cancel {
        Some(cancel) if cancel.is_cancelled() => Err(EngineCause::Cancelled),
        _ => Ok(()),
    }
}

/// Stores something in a store without locks, unless the work was stopped.
///
/// # Errors
/// The work was stopped; errors of `publish`.
pub fn publishing<T>(
    cancel: Option<&Cancel>,
    publish: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, EngineCause> {
    let _publishing = Publishing::begin(cancel, Under::Nothing)?;
    Ok(publish()?)
}

/// While it lives, something is being published. Calls that begin after the work was stopped wait
/// for it as for one value.
#[derive(Debug)]
pub struct Publishing {
    cancel: Option<Cancel>,
    under: Under,
}

/// The lock held during a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    Lock,
    Nothing,
}

impl Publishing {
    /// Begins a change of several values in a store without locks, where no lock keeps others away
    /// until all of it is done or undone.
    ///
    /// # Errors
    /// The work was stopped.
    pub fn without_locks(cancel: Option<&Cancel>) -> Result<Self, EngineCause> {
        Self::begin(cancel, Under::Nothing)
    }

    pub(crate) fn begin(cancel: Option<&Cancel>, under: Under) -> Result<Self, EngineCause> {
        let mut begun = Self {
            cancel: None,
            under,
        };
        // From the whole work to its part: each counts what has begun.
        let chain: Vec<&Cancel> = outwards(cancel).collect();
        for cancel in chain.into_iter().rev() {
            if let Some(condition) = cancel.0.condition.get() {
                condition()?;
            }
            // Under the same mutex as the flag: after `cancel`, its caller sees everything in
            // progress.
            let mut state = cancel.state();
            if cancel.0.cancelled.load(Ordering::SeqCst) {
                return Err(EngineCause::Cancelled);
            }
            state.publishing += 1;
            state.unlocked += usize::from(under == Under::Nothing);
            begun.cancel = Some(cancel.clone());
        }
        Ok(begun)
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        for cancel in outwards(self.cancel.as_ref()) {
            let in_progress = cancel.in_progress();
            let mut state = in_progress.state();
            state.publishing -= 1;
            state.unlocked -= usize::from(self.under == Under::Nothing);
            if state.publishing == 0 || state.unlocked == 0 {
                in_progress.settled.notify_all();
            }
        }
    }
}
