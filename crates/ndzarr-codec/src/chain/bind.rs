//! Binding: turns the list of codecs in the metadata into an executable chain.

use std::sync::Arc;

use ndzarr_model::{
    CodecConfig, CodecSpec, DataType, ElemKind, Endian, FillValue, N5BlockConfig, StoredType, VlenConfig,
};

use super::StageKind;
use crate::chain::n5_block::N5Block;
use crate::codecs::{Bound, Input};
use crate::elements::swap_of;
use crate::sharding::Sharding;
use crate::stage::{Coded, Raw, Stage, Staged};
use crate::traits::link::Link;
use crate::vlen::Vlen;
use crate::{ArrayToArray, Binding, CodecChain, CodecError, CodecRegistry, Swap};

/// Assumed size in bytes of an element of variable size.
const VLEN_ESTIMATE: usize = 16;

impl CodecChain {
    /// Binds codecs to the elements of an array.
    ///
    /// # Errors
    /// A codec is unknown or not part of this build; the order is not array→array, one array→bytes,
    /// bytes→bytes; a codec does not fit the type or the number of dimensions.
    pub fn bind<'b>(
        specs: &[CodecSpec],
        data_type: &DataType,
        fill: &FillValue,
        ndim: usize,
        codecs: impl Into<Binding<'b>>,
    ) -> Result<Self, CodecError> {
        Self::bind_with(specs, data_type, fill, ndim, codecs.into())
    }

    pub(crate) fn bind_with(
        specs: &[CodecSpec],
        data_type: &DataType,
        fill: &FillValue,
        ndim: usize,
        binding: Binding<'_>,
    ) -> Result<Self, CodecError> {
        // A custom type is encoded as its layout.
        let layout = data_type.layout();
        let elements = Reaching { data_type: &layout, fill, ndim, binding };
        if layout.elem_size().is_some_and(|size| fill.bytes().len() != size) {
            let what = format!("the fill value is not one element of {layout}");
            return Err(CodecError::config("chain", what));
        }
        let mut order: Vec<usize> = (0..ndim).collect();
        let mut reason = Reason::default();
        let mut specs = specs.iter();
        let mut begun = loop {
            let spec = specs.next().ok_or_else(|| CodecError::config("chain", "has no array→bytes codec"))?;
            match &spec.config {
                CodecConfig::Transpose { order: axes } => {
                    order = transposed(&order, axes)?;
                    reason.note(spec, "transpose");
                }
                // A reshape keeps the sequence of elements, and vlen codecs store nothing else of a
                // shape.
                CodecConfig::Reshape { .. } if elements.are_vlen() && only_sequence(specs.as_slice()) => {
                    reason.note(spec, "reshape");
                }
                config => {
                    let begun = elements.stage(config, &mut specs)?;
                    reason.note(spec, begun.name);
                    break begun;
                }
            }
        };
        let mut bytes_to_bytes = Vec::new();
        for spec in specs {
            let name = match &spec.config {
                // numcodecs passes the shape to zfp too, if the array is in memory order.
                config @ CodecConfig::Zfpy(_) if begun.is_native() && bytes_to_bytes.is_empty() => {
                    begun = elements.other_stage(config, &mut [].iter())?;
                    "zfpy"
                }
                CodecConfig::Transpose { .. } => return Err(out_of_order("transpose", "array→array")),
                config if is_own_stage(config) => return Err(out_of_order("a second codec", "array→bytes")),
                config => {
                    let (codec, left) = bytes_codec(config, begun.left.as_ref(), binding.registry)?;
                    begun.left = left;
                    let name = codec.name();
                    bytes_to_bytes.push(codec);
                    name
                }
            };
            reason.note(spec, name);
        }
        if matches!(begun.kind, StageKind::N5Block(_)) && !bytes_to_bytes.is_empty() {
            return Err(CodecError::config("n5_block", "codecs behind it are not part of N5"));
        }
        bytes_to_bytes.extend(begun.compression);
        Ok(Self {
            kind: layout.kind(),
            elem_size: elements.size(),
            vlen_limit: binding.vlen_limit,
            fill: fill.clone(),
            order,
            stage: begun.stage,
            kind_of_stage: begun.kind,
            bytes_to_bytes,
            unwritable: reason.0.or(begun.unwritable),
        })
    }
}

/// Why nothing can be encoded, according to the first codec that says so.
#[derive(Default)]
struct Reason(Option<CodecError>);

impl Reason {
    fn note(&mut self, spec: &CodecSpec, name: &'static str) {
        if let (None, Some(reason)) = (&self.0, &spec.unwritable) {
            self.0 = Some(CodecError::encode(name, reason));
        }
    }
}

/// A stage, with the facts that the chain needs about it.
struct Begun {
    stage: Box<dyn Stage>,
    kind: StageKind,
    /// The name for errors.
    name: &'static str,
    /// The type of its output for the next codec, if that is elements.
    left: Option<StoredType>,
    /// The compression that belongs to the N5 block.
    compression: Option<Link>,
    /// Why nothing can be encoded.
    unwritable: Option<CodecError>,
}

impl Begun {
    fn new(stage: impl Stage + 'static, name: &'static str) -> Self {
        let (left, compression, unwritable) = (None, None, None);
        Self { stage: Box::new(stage), kind: StageKind::Other, name, left, compression, unwritable }
    }

    /// Whether its input elements have the layout that they have in memory.
    fn is_native(&self) -> bool {
        matches!(self.kind, StageKind::Raw) && *self.stage.swap() == Swap::None
    }
}

/// The input elements of a stage.
#[derive(Clone, Copy)]
struct Reaching<'b> {
    data_type: &'b DataType,
    fill: &'b FillValue,
    ndim: usize,
    binding: Binding<'b>,
}

impl Reaching<'_> {
    fn are_vlen(&self) -> bool {
        self.data_type.kind() == ElemKind::Vlen
    }

    /// Size of an element in bytes; for elements of variable size that of a small one, for
    /// estimates.
    fn size(&self) -> usize {
        self.data_type.elem_size().unwrap_or(VLEN_ESTIMATE)
    }

    /// The stage that a codec begins, which may include some of the codecs in `behind`.
    fn stage(
        &self,
        config: &CodecConfig,
        behind: &mut std::slice::Iter<'_, CodecSpec>,
    ) -> Result<Begun, CodecError> {
        const NAME: &str = "the array→bytes codec";
        let Self { data_type, fill, ndim, binding } = *self;
        match config {
            CodecConfig::Bytes { endian } => {
                Ok(self.raw(swap_of::one_order(data_type, *endian)?, endian.unwrap_or(Endian::NATIVE), NAME))
            }
            CodecConfig::LeafBytes { endians } => {
                Ok(self.raw(swap_of::leaf_orders(data_type, endians)?, Endian::NATIVE, NAME))
            }
            CodecConfig::Vlen(config) => {
                let left = match config {
                    VlenConfig::Categorize(labels) => Some(labels.astype.clone()),
                    _ => None,
                };
                let vlen = Vlen::bind(config, data_type, binding.vlen_limit)?;
                Ok(Begun { left, ..Begun::new(vlen, NAME) })
            }
            CodecConfig::Sharding(config) => {
                let sharding = Arc::new(Sharding::bind(config, data_type, fill, ndim, binding)?);
                let (kind, unwritable) =
                    (StageKind::Sharding(sharding.clone()), sharding.check_writable().err());
                Ok(Begun { kind, unwritable, ..Begun::new(sharding, NAME) })
            }
            CodecConfig::N5Block(config) => self.n5_block(config, NAME),
            config if self.are_vlen() => {
                let what = format!("{:?} does not take elements of {data_type}", config.name());
                Err(CodecError::config("chain", what))
            }
            config => self.other_stage(config, behind),
        }
    }

    fn raw(&self, swap: Swap, endian: Endian, name: &'static str) -> Begun {
        let left = Some(StoredType { data_type: self.data_type.clone(), endian });
        Begun { kind: StageKind::Raw, left, ..Begun::new(Raw { swap, elem_size: self.size() }, name) }
    }

    fn n5_block(&self, config: &N5BlockConfig, name: &'static str) -> Result<Begun, CodecError> {
        let Self { data_type, ndim, binding, .. } = *self;
        let block = Arc::new(N5Block::bind(config.edge_blocks, data_type, ndim, binding.vlen_limit)?);
        let (mut compression, mut reason) = (None, Reason::default());
        if let Some(spec) = &config.compression {
            let stored = StoredType { data_type: data_type.clone(), endian: Endian::Big };
            let (codec, _) = bytes_codec(&spec.config, Some(&stored), binding.registry)?;
            reason.note(spec, codec.name());
            compression = Some(codec);
        }
        let (kind, unwritable) = (StageKind::N5Block(block.clone()), reason.0);
        Ok(Begun { kind, compression, unwritable, ..Begun::new(block, name) })
    }

    /// The stage of a codec that the chain does not implement itself.
    fn other_stage(
        &self,
        config: &CodecConfig,
        behind: &mut std::slice::Iter<'_, CodecSpec>,
    ) -> Result<Begun, CodecError> {
        let Self { data_type, ndim, binding, .. } = *self;
        match binding.registry.bind(config, Input::Elements { data_type, ndim })? {
            Bound::ArrayToArray(codec) => {
                let name = codec.name();
                let staged = self.staged(codec, std::mem::take(behind).as_slice())?;
                let unwritable = staged.then.check_writable().err();
                Ok(Begun { unwritable, ..Begun::new(staged, name) })
            }
            Bound::ArrayToBytes(codec) => {
                let name = codec.name();
                Ok(Begun::new(Coded { codec, elem_size: self.size() }, name))
            }
            Bound::BytesToBytes(codec, _) => Err(out_of_order(codec.name(), "bytes→bytes")),
        }
    }

    fn staged(&self, codec: Arc<dyn ArrayToArray>, then: &[CodecSpec]) -> Result<Staged, CodecError> {
        let data_type = codec.encoded_type();
        let encoded = codec.encoded_fill(self.fill.bytes())?;
        let fill = match self.fill.is_defined() {
            true => FillValue::defined(encoded),
            false => FillValue::undefined(&data_type),
        };
        let ndim = codec.encoded_ndim(self.ndim);
        let then = CodecChain::bind_with(then, &data_type, &fill, ndim, self.binding)?;
        Ok(Staged { codec, then, elem_size: self.size() })
    }
}

/// The bytes→bytes codec of a configuration, and the type of its output, if that is elements.
fn bytes_codec(
    config: &CodecConfig,
    reaching: Option<&StoredType>,
    registry: &CodecRegistry,
) -> Result<(Link, Option<StoredType>), CodecError> {
    match registry.bind(config, Input::Bytes(reaching))? {
        Bound::BytesToBytes(codec, left) => Ok((codec, left)),
        _ => Err(out_of_order(config.name(), "of arrays")),
    }
}

/// Whether the chain implements this codec's stage itself, not the registry.
fn is_own_stage(config: &CodecConfig) -> bool {
    use CodecConfig as C;
    matches!(config, C::Bytes { .. } | C::LeafBytes { .. } | C::Vlen(_) | C::Sharding(_) | C::N5Block(_))
}

/// Whether these codecs, up to the array→bytes one, depend only on the sequence of elements.
fn only_sequence(specs: &[CodecSpec]) -> bool {
    let rest = specs.iter().find(|spec| !matches!(spec.config, CodecConfig::Reshape { .. }));
    rest.is_some_and(|spec| matches!(spec.config, CodecConfig::Vlen(_)))
}

/// Axis `i` of the result is axis `axes[i]` of the array already transposed by `order`.
fn transposed(order: &[usize], axes: &[usize]) -> Result<Vec<usize>, CodecError> {
    let mut seen = vec![false; order.len()];
    let permutation = axes.len() == order.len()
        && axes.iter().all(|&axis| axis < order.len() && !std::mem::replace(&mut seen[axis], true));
    if !permutation {
        let what = format!("order {axes:?} is not a permutation of {} axes", order.len());
        return Err(CodecError::config("transpose", what));
    }
    Ok(axes.iter().map(|&axis| order[axis]).collect())
}

fn out_of_order(codec: &str, kind: &str) -> CodecError {
    CodecError::config("chain", format!("{codec} ({kind}) is not in its place"))
}
