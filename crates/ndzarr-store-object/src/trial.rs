//! Tries out whether a service checks the conditions of puts.

use bytes::Bytes;
use ndzarr_store::{Key, StoreError};
use object_store::{PutMode, PutPayload};

use crate::call::Purpose;
use crate::read::{Ask, Got};
use crate::state::State;
use crate::store::Inner;

/// A larger value is not read for a trial: a later put of a smaller one has it.
const MOST: u64 = 64 << 20;

/// What a trial before a put came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    Checked,
    Ignored,
    /// The value is not the expected one.
    Changed,
}

impl Inner {
    /// Before a value is replaced on a condition: tries conditions out with the value as it is.
    pub(crate) async fn try_conditions(&self, key: &Key, pinned: &State) -> Result<Trial, StoreError> {
        let trial = |checked| if checked { Trial::Checked } else { Trial::Ignored };
        if let Some(checked) = self.conditions.known() {
            return Ok(trial(checked));
        }
        let ask = Ask::Whole { limit: u64::MAX, at_once: MOST };
        match self.get(key, ask, Some(pinned)).await? {
            Got::Part(_, _, value) => self.conditions_at(key, &[value]).await.map(trial),
            Got::Large(..) => Ok(Trial::Checked),
            _ => Ok(Trial::Changed),
        }
    }

    /// Whether the service refuses to create a value that is there, with these bytes. If it does not,
    /// the value is put once more: what another writer stored in between is lost, as it would be by
    /// any put with a condition to such a service.
    pub(crate) async fn conditions_at(&self, key: &Key, value: &[Bytes]) -> Result<bool, StoreError> {
        if let Some(checked) = self.conditions.known() {
            return Ok(checked);
        }
        let path = &self.path(key)?;
        let payload: &PutPayload = &value.iter().cloned().collect();
        let create = || self.store.put_opts(path, payload.clone(), self.put_options(PutMode::Create));
        let tried = self.conditions.cell().get_or_try_init(|| async {
            match self.repeat(Purpose::Values, create).await {
                Ok(_) => Ok(false),
                Err(failure) => match failure.answer.status {
                    409 | 412 => Ok(true),
                    304 | 501 => Ok(false),
                    _ => Err(self.error("try the conditions of puts at", key, &failure)),
                },
            }
        });
        tried.await.copied()
    }
}
