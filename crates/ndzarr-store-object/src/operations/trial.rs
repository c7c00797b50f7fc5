//! Tries out whether a service checks the conditions of puts.

use ndzarr_store::{Key, StoreError};
use object_store::path::Path;
use object_store::{PutMode, PutPayload, UpdateVersion};

use crate::answers::call::Purpose;
use crate::requests::backoff::random;
use crate::state::State;
use crate::store::Inner;

impl Inner {
    /// Returns `true` if the service checks conditions, by its promise or by a trial, once for each
    /// store.
    pub(crate) async fn checks_conditions(&self) -> Result<bool, StoreError> {
        match self.conditions.known() {
            Some(checked) => Ok(checked),
            None => self
                .conditions
                .cell()
                .get_or_try_init(|| self.try_conditions())
                .await
                .copied(),
        }
    }

    /// Tries the conditions of puts with a value of its own, which no other writer knows.
    async fn try_conditions(&self) -> Result<bool, StoreError> {
        let key = Key::new(format!(".ndzarr-trial-{:016x}", random()))?;
        let checked = self.try_conditions_at(&key, &self.path(&key)?).await;
        // If nothing may be erased, the value stays.
        let _ = self.erase_one(&key).await;
        checked
    }

    async fn try_conditions_at(&self, key: &Key, path: &Path) -> Result<bool, StoreError> {
        let put = |value: &'static [u8], mode: PutMode| async move {
            let options = self.put_options(mode);
            let request = || {
                self.backend
                    .store()
                    .put_opts(path, PutPayload::from_static(value), options.clone())
            };
            self.repeat(Purpose::Values, request)
                .await
                .map(|(put, _)| put)
        };
        let failed = |failure| self.error("try the conditions of puts at", key, &failure);
        let first = match put(b"first", PutMode::Overwrite).await {
            // Without an ETag there is nothing to state as a condition.
            Err(failure) if failure.answer.is_success() => return Ok(false),
            first => first.map_err(failed)?,
        };
        put(b"second", PutMode::Overwrite).await.map_err(failed)?;
        let state = State {
            value: self.value_name(path),
            e_tag: first.e_tag,
            version: first.version,
            modified: None,
        };
        // Without a strong ETag nothing can be replaced on a condition.
        let Some(e_tag) = state.strong_e_tag() else {
            return Ok(false);
        };
        let update = PutMode::Update(UpdateVersion {
            e_tag: Some(e_tag),
            version: state.version,
        });
        for mode in [PutMode::Create, update] {
            match put(b"third", mode).await {
                Ok(_) => return Ok(false),
                Err(failure) if matches!(failure.answer.status, 409 | 412) => {}
                Err(failure) if matches!(failure.answer.status, 304 | 501) => return Ok(false),
                Err(failure) => return Err(failed(failure)),
            }
        }
        Ok(true)
    }
}
