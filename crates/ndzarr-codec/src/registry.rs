//! `CodecRegistry`: the codecs of this build, and custom ones.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ndzarr_model::{CodecConfig, DataType};
use serde_json::Value;

use crate::codecs::{self, Bound, Input};
use crate::traits::link::Link;
use crate::{ArrayToArray, ArrayToBytes, BytesToBytes, CodecError};

/// Makes a custom codec from the configuration in the metadata.
type MakeCodec<C> = Arc<dyn Fn(&Value) -> Result<Arc<C>, CodecError> + Send + Sync>;

/// Makes a custom codec from the configuration in the metadata, for elements of a type.
type MakeTypedCodec<C> = Arc<dyn Fn(&Value, &DataType) -> Result<Arc<C>, CodecError> + Send + Sync>;

#[derive(Clone)]
enum CustomCodec {
    ArrayToArray(MakeTypedCodec<dyn ArrayToArray>),
    ArrayToBytes(MakeTypedCodec<dyn ArrayToBytes>),
    BytesToBytes(MakeCodec<dyn BytesToBytes>),
}

/// The codecs that a chain can use: those of this build, and custom ones.
///
/// There is no global registry: pass one when opening an array.
///
/// ```
/// use std::sync::Arc;
///
/// use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace, named};
/// use ndzarr::{Array, CodecRegistry, MemoryStore};
/// use serde_json::json;
///
/// /// Flips every bit that is set in the mask.
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
/// let a = Array::<u8>::builder([3])
///     .codecs([named("https://example.com/mask", json!({"mask": 0xff}))])
///     .registry(registry)
///     .create((MemoryStore::new(), "a"))?;
/// a.fill([0..3], 1)?;
/// assert_eq!(a.units().encoded(&[0])?.as_deref(), Some(&[0xfe, 0xfe, 0xfe][..]));
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CodecRegistry {
    /// Shared by the groups and arrays that pass it on.
    custom: Option<Arc<HashMap<String, CustomCodec>>>,
}

/// The codecs that a chain is bound with, and their limit of memory.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'r> {
    pub(crate) registry: &'r CodecRegistry,
    pub(crate) vlen_limit: usize,
}

impl<'r> From<&'r CodecRegistry> for Binding<'r> {
    /// With a limit of 1 GiB.
    fn from(registry: &'r CodecRegistry) -> Self {
        Self {
            registry,
            vlen_limit: 1 << 30,
        }
    }
}

impl Binding<'_> {
    /// Sets the most bytes that a chunk of elements of variable size may decompress to, because its
    /// shape does not determine its size.
    #[must_use]
    pub fn vlen_limit(mut self, bytes: usize) -> Self {
        self.vlen_limit = bytes;
        self
    }
}

impl CodecRegistry {
    /// The codecs of this build.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a bytes→bytes codec under its id, name or URI in the metadata. Known names cannot be
    /// replaced.
    #[must_use]
    pub fn with(
        self,
        name: impl Into<String>,
        make: impl Fn(&Value) -> Result<Arc<dyn BytesToBytes>, CodecError> + Send + Sync + 'static,
    ) -> Self {
        self.add(name.into(), CustomCodec::BytesToBytes(Arc::new(make)))
    }

    /// Adds an array→array codec. It is made for the type of its input elements.
    #[must_use]
    pub fn with_array_to_array(
        self,
        name: impl Into<String>,
        make: impl Fn(&Value, &DataType) -> Result<Arc<dyn ArrayToArray>, CodecError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.add(name.into(), CustomCodec::ArrayToArray(Arc::new(make)))
    }

    /// Adds an array→bytes codec. It is made for the type of its input elements.
    #[must_use]
    pub fn with_array_to_bytes(
        self,
        name: impl Into<String>,
        make: impl Fn(&Value, &DataType) -> Result<Arc<dyn ArrayToBytes>, CodecError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.add(name.into(), CustomCodec::ArrayToBytes(Arc::new(make)))
    }

    fn add(mut self, name: String, codec: CustomCodec) -> Self {
        Arc::make_mut(self.custom.get_or_insert_default()).insert(name, codec);
        self
    }

    fn find(&self, name: &str) -> Option<&CustomCodec> {
        self.custom.as_ref()?.get(name)
    }

    /// Makes the codec of a configuration for its input.
    pub(crate) fn bind(&self, config: &CodecConfig, input: Input<'_>) -> Result<Bound, CodecError> {
        let CodecConfig::Unknown {
            name,
            configuration,
        } = config
        else {
            return codecs::bind(config, input);
        };
        match (self.find(name), input) {
            (Some(CustomCodec::BytesToBytes(make)), _) => {
                Ok(Bound::BytesToBytes(Link::new(make(configuration)?), None))
            }
            (Some(CustomCodec::ArrayToArray(make)), Input::Elements { data_type, .. }) => {
                make(configuration, data_type).map(Bound::ArrayToArray)
            }
            (Some(CustomCodec::ArrayToBytes(make)), Input::Elements { data_type, .. }) => {
                make(configuration, data_type).map(Bound::ArrayToBytes)
            }
            (Some(_), Input::Bytes(_)) => Err(CodecError::config(
                "chain",
                format!("{name} takes an array, but bytes reach it"),
            )),
            (None, _) => Err(CodecError::Unknown { name: name.clone() }),
        }
    }
}

impl fmt::Debug for CodecRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .custom
            .iter()
            .flat_map(|codecs| codecs.keys())
            .collect();
        f.debug_tuple("CodecRegistry").field(&names).finish()
    }
}
