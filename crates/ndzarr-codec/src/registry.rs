use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ndzarr_model::CodecConfig;
use serde_json::Value;

use crate::{BytesToBytes, CodecError, codecs};

/// Makes a codec of the caller's own from the configuration that the document states.
pub type MakeCodec = dyn Fn(&Value) -> Result<Arc<dyn BytesToBytes>, CodecError> + Send + Sync;

/// The codecs that a chain can be bound to: those of this build, and any of the caller's own.
///
/// There is no global one: it is passed in where an array is opened.
#[derive(Clone, Default)]
pub struct CodecRegistry {
    own: HashMap<String, Arc<MakeCodec>>,
}

impl CodecRegistry {
    /// The codecs of this build.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a bytes→bytes codec under the id, name or URI that documents call it by. Known names cannot be replaced.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        make: impl Fn(&Value) -> Result<Arc<dyn BytesToBytes>, CodecError> + Send + Sync + 'static,
    ) -> Self {
        self.own.insert(name.into(), Arc::new(make));
        self
    }

    /// The bytes→bytes codec of a configuration. `elem_size` is the size in bytes of the elements that reach the chain's
    /// bytes→bytes part, for codecs that want to know it.
    pub(crate) fn bytes_to_bytes(
        &self,
        config: &CodecConfig,
        elem_size: usize,
    ) -> Result<Arc<dyn BytesToBytes>, CodecError> {
        if let CodecConfig::Unknown { name, configuration } = config {
            return match self.own.get(name) {
                Some(make) => make(configuration),
                None => Err(CodecError::Unknown { name: name.clone() }),
            };
        }
        codecs::bytes_to_bytes(config, elem_size)
    }
}

impl fmt::Debug for CodecRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CodecRegistry").field(&self.own.keys()).finish()
    }
}
