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
///
/// ```
/// use std::sync::Arc;
///
/// use ndzarr_codec::{BytesToBytes, CodecChain, CodecError, CodecRegistry, Dst, Workspace};
/// use ndzarr_model::{CodecConfig, CodecSpec, DataType, FillValue};
///
/// /// Turns every bit that is set in the mask.
/// #[derive(Debug)]
/// struct Mask(u8);
///
/// impl BytesToBytes for Mask {
///     fn name(&self) -> &'static str {
///         "mask"
///     }
///
///     fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
///         let bytes = src.iter().map(|byte| byte ^ self.0);
///         match dst {
///             Dst::Exact(out) if out.len() == src.len() => {
///                 out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
///             }
///             Dst::Grow { buf, max } if src.len() <= max => {
///                 buf.clear();
///                 buf.extend(bytes);
///             }
///             _ => return Err(CodecError::corrupt("mask", "has another length")),
///         }
///         Ok(src.len())
///     }
///
///     fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
///         dst.clear();
///         dst.extend(src.iter().map(|byte| byte ^ self.0));
///         Ok(())
///     }
/// }
///
/// let registry = CodecRegistry::new().with("https://example.com/mask", |configuration| {
///     match configuration["mask"].as_u64().and_then(|mask| u8::try_from(mask).ok()) {
///         Some(mask) => Ok(Arc::new(Mask(mask))),
///         None => Err(CodecError::config("mask", "\"mask\" is not a number from 0 to 255")),
///     }
/// });
/// let specs = [
///     CodecSpec::from(CodecConfig::Bytes { endian: None }),
///     CodecSpec::from(CodecConfig::Unknown {
///         name: "https://example.com/mask".into(),
///         configuration: serde_json::json!({"mask": 0xff}),
///     }),
/// ];
/// let data_type = DataType::UInt { bits: 8 };
/// let chain = CodecChain::bind(&specs, &data_type, &FillValue::defined([0]), 1, &registry)?;
/// let mut value = Vec::new();
/// chain.encode(&[0, 1, 2], &[3], &mut Workspace::new(), &mut value)?;
/// assert_eq!(value, [0xff, 0xfe, 0xfd]);
/// # Ok::<_, CodecError>(())
/// ```
#[derive(Clone)]
pub struct CodecRegistry {
    own: HashMap<String, Arc<MakeCodec>>,
    vlen_limit: usize,
}

impl Default for CodecRegistry {
    fn default() -> Self {
        Self { own: HashMap::new(), vlen_limit: 1 << 30 }
    }
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

    /// The most bytes that a chunk of elements of variable size may decompress to. Its shape does not say how many it
    /// should. Default: 1 GiB.
    #[must_use]
    pub fn with_vlen_limit(mut self, bytes: usize) -> Self {
        self.vlen_limit = bytes;
        self
    }

    pub(crate) fn vlen_limit(&self) -> usize {
        self.vlen_limit
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
