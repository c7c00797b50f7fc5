//! Reads a broken value again: another program may be writing it in place.

use std::sync::{Mutex, PoisonError};

use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Store, Wait, Want};

use crate::cache::with_files;
use crate::reading::merge_ranges::first_part;
use crate::reading::wanted::Content;
use crate::threads::cancel::check_cancel;
use crate::{Cancel, EngineCause};

/// A value that may have to be read again.
pub(crate) struct Reread<'r> {
    /// Only values of stores with blocking calls are written in place.
    store: Option<&'r dyn Store>,
    cancel: Option<&'r Cancel>,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// The value that was read again last.
    pin: Option<Pin>,
    attempts: u32,
}

/// How often a value is read again while another program keeps writing it.
const MAX_ATTEMPTS: u32 = 64;

impl<'r> Reread<'r> {
    pub(crate) fn new(store: Option<&'r dyn Store>, cancel: Option<&'r Cancel>) -> Self {
        Self {
            store,
            cancel,
            last: Mutex::default(),
        }
    }

    /// The whole value, if it is no longer the one of this pin.
    pub(crate) fn whole(
        &self,
        key: &Key,
        seen: &Pin,
        limit: u64,
    ) -> Result<Option<Content>, EngineCause> {
        let Some(store) = self.store else {
            return Ok(None);
        };
        let last = self
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pin
            .clone();
        if !self.is_due(key, last.as_ref().or(Some(seen)))? {
            return Ok(None);
        }
        let fetch = Fetch {
            key: key.clone(),
            of: Of::Any,
            want: Want::Whole { limit },
        };
        Ok(Some(match with_files(|| store.fetch(&fetch))? {
            Fetched::Missing => Content::Missing,
            Fetched::Changed => return Err(EngineCause::KeepsChanging),
            Fetched::Parts { pin, parts, .. } => {
                self.last.lock().unwrap_or_else(PoisonError::into_inner).pin = Some(pin);
                Content::Whole(first_part(parts)?)
            }
        }))
    }

    /// Waits while another program writes a value. True if it is to be read again.
    pub(crate) fn is_due(&self, key: &Key, seen: Option<&Pin>) -> Result<bool, EngineCause> {
        let Some(store) = self.store else {
            return Ok(false);
        };
        let attempts = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.attempts += 1;
            last.attempts
        };
        if attempts > MAX_ATTEMPTS {
            return Ok(false);
        }
        let now;
        let seen = match seen {
            Some(seen) => seen,
            None => {
                let fetch = Fetch {
                    key: key.clone(),
                    of: Of::Any,
                    want: Want::Size,
                };
                let Fetched::Parts { pin, .. } = with_files(|| store.fetch(&fetch))? else {
                    return Ok(true);
                };
                now = pin;
                &now
            }
        };
        let goes_on = || check_cancel(self.cancel).is_ok();
        let stays = with_files(|| store.stays(key, seen, Wait::While(&goes_on)))?;
        check_cancel(self.cancel)?;
        Ok(!stays)
    }
}
