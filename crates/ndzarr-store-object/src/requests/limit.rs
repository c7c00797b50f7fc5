//! The limit of requests in flight. It falls while the service refuses requests for being too many, and
//! grows again with each that it answers otherwise.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::answers::call::Answer;
use crate::requests::backoff::backoff;

#[derive(Debug)]
pub(crate) struct Limit {
    permits: Semaphore,
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now: usize,
    /// Permits to keep when they come back: they were in use when the limit fell.
    owed: usize,
    /// Refusals in a row of a request that had no other beside it.
    in_a_row: u32,
    /// When the next one may be sent.
    not_before: Option<Instant>,
    /// Since when all are refused, and how the last one was.
    refused: Option<(Instant, Answer)>,
}

/// The right to send a request.
pub(crate) struct Permit<'l> {
    limit: &'l Limit,
    permit: Option<SemaphorePermit<'l>>,
    is_alone: bool,
}

impl Limit {
    pub(crate) fn new(most: usize) -> Self {
        let state = State { now: most, owed: 0, in_a_row: 0, not_before: None, refused: None };
        Self { permits: Semaphore::new(most), most, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn.
    ///
    /// # Errors
    /// The last refusal, if the service has refused everything for so long.
    pub(crate) async fn acquire(&self, patience: Duration) -> Result<Permit<'_>, Answer> {
        let mut turn = std::pin::pin!(self.turn());
        loop {
            if let Ok(permit) = tokio::time::timeout(patience.max(Duration::from_secs(1)), &mut turn).await {
                return Ok(permit);
            }
            if let Some((since, answer)) = &self.state().refused
                && since.elapsed() >= patience
            {
                return Err(answer.clone());
            }
        }
    }

    async fn turn(&self) -> Permit<'_> {
        // It is never closed.
        let permit = self.permits.acquire().await.ok();
        let (is_alone, not_before) = {
            let state = self.state();
            (state.now == 1, state.not_before)
        };
        let permit = Permit { limit: self, permit, is_alone };
        if let Some(time) = not_before {
            tokio::time::sleep_until(time).await;
        }
        permit
    }

    /// A permit without waiting, if one is free and the service refuses nothing.
    pub(crate) fn spare(&self) -> Option<Permit<'_>> {
        let state = self.state();
        let permit = state.refused.is_none().then(|| self.permits.try_acquire().ok()).flatten()?;
        Some(Permit { limit: self, permit: Some(permit), is_alone: false })
    }
}

impl Permit<'_> {
    /// The service answered.
    pub(crate) fn answered(self, answer: &Answer) {
        let limit = self.limit;
        let mut state = limit.state();
        match answer.status {
            // There may have been no answer.
            0 => {}
            429 | 503 => {
                let since = state.refused.take().map_or_else(Instant::now, |(since, _)| since);
                state.refused = Some((since, answer.clone()));
                if self.is_alone {
                    state.in_a_row += 1;
                    let wait = backoff(state.in_a_row).max(answer.wait());
                    state.not_before = Some(Instant::now() + wait);
                } else {
                    let fewer = state.now / 2;
                    state.now -= fewer;
                    state.owed += fewer - limit.permits.forget_permits(fewer);
                }
            }
            _ => {
                (state.in_a_row, state.not_before, state.refused) = (0, None, None);
                if state.now < limit.most {
                    state.now += 1;
                    match state.owed {
                        0 => limit.permits.add_permits(1),
                        _ => state.owed -= 1,
                    }
                }
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.limit.state();
        if state.owed > 0
            && let Some(permit) = self.permit.take()
        {
            state.owed -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn answer(status: u16) -> Answer {
        Answer { status, sent: true, ..Answer::default() }
    }

    /// All permits that there are.
    fn all(limit: &Limit) -> Vec<Permit<'_>> {
        std::iter::from_fn(|| limit.turn().now_or_never()).collect()
    }

    #[test]
    fn refusals_halve_it_and_answers_let_it_grow() {
        let limit = Limit::new(8);
        for (before, after) in [(8, 4), (4, 2), (2, 1)] {
            let mut permits = all(&limit);
            assert_eq!(permits.len(), before);
            permits.pop().expect("there are some").answered(&answer(503));
            // Those in use count until they come back.
            assert!(limit.turn().now_or_never().is_none());
            drop(permits);
            assert_eq!(all(&limit).len(), after);
        }
        for n in 2..=8 {
            all(&limit).pop().expect("there is one").answered(&answer(200));
            assert_eq!(all(&limit).len(), n);
        }
        all(&limit).pop().expect("there is one").answered(&answer(404));
        assert_eq!(all(&limit).len(), 8);
        // Neither refused nor answered.
        all(&limit).pop().expect("there is one").answered(&answer(0));
        assert_eq!(all(&limit).len(), 8);
    }

    #[test]
    fn one_salvo_of_refusals_leaves_one_and_is_no_outage() {
        let limit = Limit::new(64);
        all(&limit).into_iter().for_each(|permit| permit.answered(&answer(429)));
        let alone = all(&limit);
        assert!(alone.len() == 1 && alone[0].is_alone);
        assert_eq!(limit.state().in_a_row, 0);
        alone.into_iter().for_each(|permit| permit.answered(&answer(429)));
        assert_eq!(limit.state().in_a_row, 1);
        assert!(limit.state().not_before.is_some());
    }
}
