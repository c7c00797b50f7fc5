//! Revokes a call's right to change the store.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, PerProcess, Pin, Store, StoreError, Wait, Want};

use super::EngineCause;
use super::cache::with_files;
use super::sync::{Arc, AtomicBool, Condvar, Mutex, MutexGuard, PoisonError};

/// How long a dropped call waits for requests to a store without locks. The store may need the very
/// thread that waits.
const UNLOCKED_LIMIT: Duration = Duration::from_secs(10);

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
    /// What must hold for anything to be published.
    condition: OnceLock<Condition>,
    /// A forked child publishes for itself.
    progress: PerProcess<Progress>,
}

#[derive(Default)]
struct Progress {
    turns: Mutex<Turns>,
    settled: Condvar,
}

/// Fails once the work must not change the store any more.
pub type Condition = Box<dyn Fn() -> Result<(), StoreError> + Send + Sync>;

#[derive(Default)]
struct Turns {
    /// The locks held for the work.
    held: Vec<Arc<Mutex<LockState>>>,
    /// The number of values being published, and how many of those without a lock.
    publishing: usize,
    unlocked: usize,
    /// Who waits for the cancellation.
    waiting: Vec<(u64, Waker)>,
}

thread_local! {
    static SCOPE: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

/// The state of a lock.
enum LockState {
    Held(Box<dyn KeyLock>),
    /// In use by its holder.
    Lent,
    /// Used to publish or erase, or taken away.
    Gone,
}

impl Cancel {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One for a part of the work, which can be stopped on its own; stopping the whole stops it
    /// too.
    #[must_use]
    pub fn part_of(whole: Option<&Self>) -> Self {
        Self(Arc::new(Token { parent: whole.cloned(), ..Token::default() }))
    }

    /// Asks the work to stop. A value being written is either written completely or not at all.
    ///
    /// Locks held by the work are released at once, unless they are in use at this moment.
    pub fn cancel(&self) {
        let (held, waiting) = {
            let mut turns = self.turns();
            self.0.cancelled.store(true, Ordering::SeqCst);
            (std::mem::take(&mut turns.held), std::mem::take(&mut turns.waiting))
        };
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
        for state in held {
            // If the lock is in use, its user finds it gone and drops it.
            let lock = std::mem::replace(&mut *lock_of(&state), LockState::Gone);
            drop(lock);
        }
    }

    /// True if cancellation was requested.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst) || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Waits until cancellation is requested.
    pub async fn cancelled(&self) {
        let mut waiting = Waiting { cancel: self, registered: None };
        poll_fn(|context| waiting.poll(context)).await;
    }

    /// Runs calls that this stops besides what their options say, such as those that open and create
    /// nodes, which have none. A call that waits for an asynchronous store ends at once, and one that waits for a
    /// document of a file system before it changes that; others end where they look at their options.
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

    /// What stops the calls of this thread, by [`scope`](Self::scope).
    #[must_use]
    pub fn of_scope() -> Option<Self> {
        SCOPE.with_borrow(Clone::clone)
    }

    /// Waits until nothing is being published. After [`cancel`](Self::cancel), nothing will be.
    pub fn settle(&self) {
        let progress = self.progress();
        let mut turns = progress.turns();
        while turns.publishing > 0 {
            turns = progress.settled.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// True if nothing is being published at this moment.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.turns().publishing == 0
    }

    /// Like [`settle`](Self::settle), but only for publications without a lock, and no longer than
    /// `limit`. A later call may overtake one that takes longer.
    pub(crate) fn settle_unlocked(&self, limit: Duration) {
        let progress = self.progress();
        drop(progress.settled.wait_timeout_while(progress.turns(), limit, |turns| turns.unlocked > 0));
    }

    fn progress(&self) -> &Progress {
        self.0.progress.get(|_| Progress::default())
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.progress().turns()
    }
}

/// Runs calls that only this stops besides what their options say: the part of a call that another thread works
/// for, or what has to be done although its call was cancelled.
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

/// Polls a call that this stops, or that is in the scope of its caller.
pub async fn scoped<T>(cancel: Option<&Cancel>, call: impl Future<Output = T>) -> T {
    let Some(cancel) = cancel else { return call.await };
    let mut call = pin!(call);
    poll_fn(|context| cancel.scope(|| call.as_mut().poll(context))).await
}

impl Progress {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for a cancellation.
struct Waiting<'c> {
    cancel: &'c Cancel,
    /// The number that the waker is registered by, with the work and every whole that it is a part of.
    registered: Option<(u64, Waker)>,
}

impl Waiting<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.registered.as_ref().is_some_and(|(_, waker)| waker.will_wake(context.waker())) {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            self.forget();
            let registered = (NEXT.fetch_add(1, Ordering::Relaxed), context.waker().clone());
            outwards(Some(self.cancel)).for_each(|cancel| cancel.turns().waiting.push(registered.clone()));
            self.registered = Some(registered);
        }
        if self.cancel.is_cancelled() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn forget(&mut self) {
        let Some((number, _)) = self.registered.take() else { return };
        for cancel in outwards(Some(self.cancel)) {
            cancel.turns().waiting.retain(|(known, _)| *known != number);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Stops its work when it is dropped: an asynchronous call that fails or whose future is dropped is
/// stopped wherever parts of it run. In a store without locks, dropping waits up to 10 s for
/// requests that are storing values; a longer one may still take effect.
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
        self.0.settle_unlocked(UNLOCKED_LIMIT);
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

fn lock_of(state: &Mutex<LockState>) -> MutexGuard<'_, LockState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
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

/// While it lives, something is being published: who drops or stops the work waits for it as for one value.
#[derive(Debug)]
pub struct Publishing {
    cancel: Option<Cancel>,
    under: Under,
}

/// What is held during a publication: the lock of its key, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    Lock,
    Nothing,
}

impl Publishing {
    /// Begins a change of several values in a store without locks, where no lock keeps others away until all of it is
    /// done or undone.
    ///
    /// # Errors
    /// The work was stopped.
    pub fn without_locks(cancel: Option<&Cancel>) -> Result<Self, EngineCause> {
        Self::begin(cancel, Under::Nothing)
    }

    pub(crate) fn begin(cancel: Option<&Cancel>, under: Under) -> Result<Self, EngineCause> {
        let mut begun = Self { cancel: None, under };
        // From the whole work to its part: each counts what has begun.
        let chain: Vec<&Cancel> = outwards(cancel).collect();
        for cancel in chain.into_iter().rev() {
            if let Some(condition) = cancel.0.condition.get() {
                condition()?;
            }
            // Under the same mutex as the flag: after `cancel`, its caller sees everything in
            // progress.
            let mut turns = cancel.turns();
            if cancel.0.cancelled.load(Ordering::SeqCst) {
                return Err(EngineCause::Cancelled);
            }
            turns.publishing += 1;
            turns.unlocked += usize::from(under == Under::Nothing);
            begun.cancel = Some(cancel.clone());
        }
        Ok(begun)
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        for cancel in outwards(self.cancel.as_ref()) {
            let progress = cancel.progress();
            let mut turns = progress.turns();
            turns.publishing -= 1;
            turns.unlocked -= usize::from(self.under == Under::Nothing);
            if turns.publishing == 0 || turns.unlocked == 0 {
                progress.settled.notify_all();
            }
        }
    }
}

/// What is done about a lock that another writer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Try,
    /// Until it is free or the work is stopped.
    Wait,
}

/// A writer's turn: holds the lock of a key until its work is stopped.
///
/// Publishing takes the lock itself, and [`Cancel::cancel`] takes it away. So stopped work can
/// neither publish nor keep others waiting, however long it continues to compute.
pub(crate) struct Turn {
    state: Arc<Mutex<LockState>>,
    cancel: Option<Cancel>,
}

/// The result of [`Turn::take`].
pub(crate) enum Taken {
    Turn(Turn),
    Busy,
    /// The store has no locks.
    Unsupported,
}

impl Turn {
    pub(crate) fn take(
        store: &dyn Store,
        key: &Key,
        patience: Patience,
        cancel: Option<&Cancel>,
    ) -> Result<Taken, EngineCause> {
        let goes_on = || check_cancel(cancel).is_ok();
        let wait = match patience {
            Patience::Try => Wait::Try,
            Patience::Wait => Wait::While(&goes_on),
        };
        match with_files(|| store.lock(key, wait))? {
            Locked::Held(lock) => Self::of(lock, cancel).map(Taken::Turn),
            Locked::Unsupported => Ok(Taken::Unsupported),
            Locked::Busy => {
                check_cancel(cancel)?;
                Ok(Taken::Busy)
            }
        }
    }

    /// Holds a lock for some work and for every whole that it is part of: each can take it away.
    fn of(lock: Box<dyn KeyLock>, cancel: Option<&Cancel>) -> Result<Self, EngineCause> {
        let turn = Self { state: Arc::new(Mutex::new(LockState::Held(lock))), cancel: cancel.cloned() };
        for cancel in outwards(turn.cancel.as_ref()) {
            let mut turns = cancel.turns();
            if cancel.0.cancelled.load(Ordering::SeqCst) {
                return Err(EngineCause::Cancelled);
            }
            turns.held.push(Arc::clone(&turn.state));
        }
        Ok(turn)
    }

    /// Also keeps out programs that lock the value itself; `false` if one of them has it.
    pub(crate) fn lock_value(&mut self, patience: Patience) -> Result<bool, EngineCause> {
        let cancel = self.cancel.clone();
        let goes_on = || check_cancel(cancel.as_ref()).is_ok();
        let wait = match patience {
            Patience::Try => Wait::Try,
            Patience::Wait => Wait::While(&goes_on),
        };
        let is_held = self.with(|lock| with_files(|| lock.lock_value(wait)))?;
        check_cancel(cancel.as_ref())?;
        Ok(is_held)
    }

    pub(crate) fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, EngineCause> {
        self.with(|lock| with_files(|| lock.fetch(of.clone(), want.clone())))
    }

    pub(crate) fn append(&mut self, part: &[u8]) -> Result<u64, EngineCause> {
        self.with(|lock| lock.append(part))
    }

    pub(crate) fn copy_at(&mut self, at: u64, pin: &Pin, range: Range<u64>) -> Result<bool, EngineCause> {
        self.with(|lock| lock.copy_at(at, pin, range.clone()))
    }

    pub(crate) fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), EngineCause> {
        self.with(|lock| lock.write_at(at, part))
    }

    /// Makes what was written the value of the key.
    pub(crate) fn publish(self) -> Result<(), EngineCause> {
        self.end(|lock| lock.publish().map(drop))
    }

    /// Removes the value of the key.
    pub(crate) fn erase(self) -> Result<(), EngineCause> {
        self.end(|lock| lock.erase())
    }

    /// Ends the turn with an operation that consumes the lock and that others must see.
    pub(crate) fn end<T>(
        self,
        publish: impl FnOnce(Box<dyn KeyLock>) -> Result<T, StoreError>,
    ) -> Result<T, EngineCause> {
        let _publishing = Publishing::begin(self.cancel.as_ref(), Under::Lock)?;
        let lock = std::mem::replace(&mut *lock_of(&self.state), LockState::Gone);
        match lock {
            LockState::Held(lock) => Ok(publish(lock)?),
            LockState::Lent | LockState::Gone => Err(EngineCause::Cancelled),
        }
    }

    fn with<T>(
        &mut self,
        action: impl FnOnce(&mut dyn KeyLock) -> Result<T, StoreError>,
    ) -> Result<T, EngineCause> {
        // In a separate statement: a `match` on it would keep the state locked in its arms.
        let lent = std::mem::replace(&mut *lock_of(&self.state), LockState::Lent);
        let LockState::Held(mut lock) = lent else {
            *lock_of(&self.state) = LockState::Gone;
            return Err(EngineCause::Cancelled);
        };
        let done = action(&mut *lock);
        let mut state = lock_of(&self.state);
        if matches!(*state, LockState::Gone) {
            return Err(EngineCause::Cancelled);
        }
        *state = LockState::Held(lock);
        Ok(done?)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        for cancel in outwards(self.cancel.as_ref()) {
            cancel.turns().held.retain(|state| !Arc::ptr_eq(state, &self.state));
        }
        let lock = std::mem::replace(&mut *lock_of(&self.state), LockState::Gone);
        drop(lock);
    }
}
