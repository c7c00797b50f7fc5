//! Binding: turns the list of codecs in the metadata into an executable chain.

use std::sync::Arc;

use ndzarr_model::{
    CodecConfig, CodecSpec, DataType, ElemKind, Endian, FillValue, N5BlockConfig, StoredType,
    VlenConfig,
};

use super::StageKind;
use crate::chain::n5_block::N5Block;
use crate::codecs::{Bound, Input};
use crate::elements::swap_of;
use crate::sharding::Sharding;
use crate::stage::{ArrayToArrayStage, ArrayToBytesStage, Raw, Stage};
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
        let input = StageInput {
            data_type: &layout,
            fill,
            ndim,
            binding,
        };
        if layout
            .elem_size()
            .is_some_and(|size| fill.bytes().len() != size)
        {
            let what = format!("the fill value is not one element of {layout}");
            return Err(CodecError::config("chain", what));
        }
        let mut specs = specs.iter();
        let mut reason = Reason::default();
        let (order, mut bound) = input.bind_stage(&mut specs, &mut reason)?;
        let mut bytes_to_bytes =
            input.bind_bytes_to_bytes(specs.as_slice(), &mut bound, &mut reason)?;
        if matches!(bound.kind, StageKind::N5Block(_)) && !bytes_to_bytes.is_empty() {
            return Err(CodecError::config(
                "n5_block",
                "codecs behind it are not part of N5",
            ));
        }
        bytes_to_bytes.extend(bound.compression);
        Ok(Self {
            kind: layout.kind(),
            elem_size: input.elem_size(),
            vlen_limit: binding.vlen_limit,
            fill: fill.clone(),
            order,
            stage: bound.stage,
            stage_kind: bound.kind,
            bytes_to_bytes,
            unwritable: reason.error.or(bound.unwritable),
        })
    }
}

/// Why nothing can be encoded, according to the first codec that says so.
#[derive(Default)]
struct Reason {
    error: Option<CodecError>,
}

impl Reason {
    fn note(&mut self, spec: &CodecSpec, name: &'static str) {
        if let (None, Some(reason)) = (&self.error, &spec.unwritable) {
            self.error = Some(CodecError::encode(name, reason));
        }
    }
}

/// A stage, with the facts that the chain needs about it.
struct BoundStage {
    stage: Box<dyn Stage>,
    kind: StageKind,
    /// The name for errors.
    name: &'static str,
    /// The type of its output for the next codec, if that is elements.
    output: Option<StoredType>,
    /// The compression that belongs to the N5 block.
    compression: Option<Link>,
    /// Why nothing can be encoded.
    unwritable: Option<CodecError>,
}

impl BoundStage {
    fn new(stage: impl Stage + 'static, name: &'static str) -> Self {
        Self {
            stage: Box::new(stage),
            kind: StageKind::Other,
            name,
            output: None,
            compression: None,
            unwritable: None,
        }
    }

    /// True if it stores elements in the form that they have in memory.
    fn is_native(&self) -> bool {
        matches!(self.kind, StageKind::Raw) && *self.stage.swap() == Swap::None
    }
}

/// The input elements of a stage.
#[derive(Clone, Copy)]
struct StageInput<'b> {
    data_type: &'b DataType,
    fill: &'b FillValue,
    ndim: usize,
    binding: Binding<'b>,
}

impl StageInput<'_> {
    fn are_vlen(&self) -> bool {
        self.data_type.kind() == ElemKind::Vlen
    }

    /// Size of an element in bytes; an estimate for elements of variable size.
    fn elem_size(&self) -> usize {
        self.data_type.elem_size().unwrap_or(VLEN_ESTIMATE)
    }

    /// Takes the codecs up to the one that begins the stage. Returns the order of the stored axes,
    /// and the stage.
    fn bind_stage(
        &self,
        specs: &mut std::slice::Iter<'_, CodecSpec>,
        reason: &mut Reason,
    ) -> Result<(Vec<usize>, BoundStage), CodecError> {
        let mut order: Vec<usize> = (0..self.ndim).collect();
        loop {
            let spec = specs
                .next()
                .ok_or_else(|| CodecError::config("chain", "has no array→bytes codec"))?;
            match &spec.config {
                CodecConfig::Transpose { order: axes } => {
                    order = transposed(&order, axes)?;
                    reason.note(spec, "transpose");
                }
                // A reshape keeps the sequence of elements, and vlen codecs store nothing else of a
                // shape.
                CodecConfig::Reshape { .. }
                    if self.are_vlen() && only_sequence(specs.as_slice()) =>
                {
                    reason.note(spec, "reshape");
                }
                config => {
                    let stage = self.stage(config, specs)?;
                    reason.note(spec, stage.name);
                    return Ok((order, stage));
                }
            }
        }
    }

    /// Binds the codecs after `stage`. zfpy may become the stage instead.
    fn bind_bytes_to_bytes(
        &self,
        specs: &[CodecSpec],
        stage: &mut BoundStage,
        reason: &mut Reason,
    ) -> Result<Vec<Link>, CodecError> {
        let mut bytes_to_bytes = Vec::new();
        for spec in specs {
            let name = match &spec.config {
                // numcodecs passes the shape to zfp too, if the array is in memory order.
                config @ CodecConfig::Zfpy(_) if stage.is_native() && bytes_to_bytes.is_empty() => {
                    *stage = self.registered_stage(config, &mut [].iter())?;
                    "zfpy"
                }
                CodecConfig::Transpose { .. } => {
                    return Err(out_of_order("transpose", "array→array"));
                }
                config if is_own_stage(config) => {
                    return Err(out_of_order("a second codec", "array→bytes"));
                }
                config => {
                    let (codec, output) =
                        bytes_codec(config, stage.output.as_ref(), self.binding.registry)?;
                    stage.output = output;
                    let name = codec.name();
                    bytes_to_bytes.push(codec);
                    name
                }
            };
            reason.note(spec, name);
        }
        Ok(bytes_to_bytes)
    }

    /// The stage that a codec begins. It takes those of the codecs in `following` that belong to
    /// it.
    fn stage(
        &self,
        config: &CodecConfig,
        following: &mut std::slice::Iter<'_, CodecSpec>,
    ) -> Result<BoundStage, CodecError> {
        const NAME: &str = "the array→bytes codec";
        let Self {
            data_type,
            fill,
            ndim,
            binding,
        } = *self;
        match config {
            CodecConfig::Bytes { endian } => Ok(self.raw(
                swap_of::one_order(data_type, *endian)?,
                endian.unwrap_or(Endian::NATIVE),
                NAME,
            )),
            CodecConfig::LeafBytes { endians } => Ok(self.raw(
                swap_of::leaf_orders(data_type, endians)?,
                Endian::NATIVE,
                NAME,
            )),
            CodecConfig::Vlen(config) => {
                let output = match config {
                    VlenConfig::Categorize(labels) => Some(labels.astype.clone()),
                    _ => None,
                };
                let vlen = Vlen::bind(config, data_type, binding.vlen_limit)?;
                Ok(BoundStage {
                    output,
                    ..BoundStage::new(vlen, NAME)
                })
            }
            CodecConfig::Sharding(config) => {
                let sharding = Arc::new(Sharding::bind(config, data_type, fill, ndim, binding)?);
                let kind = StageKind::Sharding(sharding.clone());
                let unwritable = sharding.check_writable().err();
                Ok(BoundStage {
                    kind,
                    unwritable,
                    ..BoundStage::new(sharding, NAME)
                })
            }
            CodecConfig::N5Block(config) => self.n5_block(config, NAME),
            config if self.are_vlen() => {
                let what = format!("{:?} does not take elements of {data_type}", config.name());
                Err(CodecError::config("chain", what))
            }
            config => self.registered_stage(config, following),
        }
    }

    fn raw(&self, swap: Swap, endian: Endian, name: &'static str) -> BoundStage {
        let output = Some(StoredType {
            data_type: self.data_type.clone(),
            endian,
        });
        let raw = Raw {
            swap,
            elem_size: self.elem_size(),
        };
        BoundStage {
            kind: StageKind::Raw,
            output,
            ..BoundStage::new(raw, name)
        }
    }

    fn n5_block(
        &self,
        config: &N5BlockConfig,
        name: &'static str,
    ) -> Result<BoundStage, CodecError> {
        let Self {
            data_type,
            ndim,
            binding,
            ..
        } = *self;
        let block = Arc::new(N5Block::bind(
            config.edge_blocks,
            data_type,
            ndim,
            binding.vlen_limit,
        )?);
        let mut compression = None;
        let mut reason = Reason::default();
        if let Some(spec) = &config.compression {
            let stored = StoredType {
                data_type: data_type.clone(),
                endian: Endian::Big,
            };
            let (codec, _) = bytes_codec(&spec.config, Some(&stored), binding.registry)?;
            reason.note(spec, codec.name());
            compression = Some(codec);
        }
        let kind = StageKind::N5Block(block.clone());
        let unwritable = reason.error;
        Ok(BoundStage {
            kind,
            compression,
            unwritable,
            ..BoundStage::new(block, name)
        })
    }

    /// The stage of a codec that the chain does not implement itself.
    fn registered_stage(
        &self,
        config: &CodecConfig,
        following: &mut std::slice::Iter<'_, CodecSpec>,
    ) -> Result<BoundStage, CodecError> {
        let Self {
            data_type,
            ndim,
            binding,
            ..
        } = *self;
        match binding
            .registry
            .bind(config, Input::Elements { data_type, ndim })?
        {
            Bound::ArrayToArray(codec) => {
                let name = codec.name();
                let stage = self.array_to_array(codec, std::mem::take(following).as_slice())?;
                let unwritable = stage.rest.check_writable().err();
                Ok(BoundStage {
                    unwritable,
                    ..BoundStage::new(stage, name)
                })
            }
            Bound::ArrayToBytes(codec) => {
                let name = codec.name();
                Ok(BoundStage::new(
                    ArrayToBytesStage {
                        codec,
                        elem_size: self.elem_size(),
                    },
                    name,
                ))
            }
            Bound::BytesToBytes(codec, _) => Err(out_of_order(codec.name(), "bytes→bytes")),
        }
    }

    /// The stage of an array→array codec and of the codecs after it.
    fn array_to_array(
        &self,
        codec: Arc<dyn ArrayToArray>,
        rest: &[CodecSpec],
    ) -> Result<ArrayToArrayStage, CodecError> {
        let data_type = codec.encoded_type();
        let encoded = codec.encoded_fill(self.fill.bytes())?;
        let fill = if self.fill.is_defined() {
            FillValue::defined(encoded)
        } else {
            FillValue::undefined(&data_type)
        };
        let ndim = codec.encoded_ndim(self.ndim);
        let rest = CodecChain::bind_with(rest, &data_type, &fill, ndim, self.binding)?;
        Ok(ArrayToArrayStage {
            codec,
            rest,
            elem_size: self.elem_size(),
        })
    }
}

/// The bytes→bytes codec of a configuration for its input, and the type of its output; both types
/// are `None` for bytes that are not elements.
fn bytes_codec(
    config: &CodecConfig,
    input: Option<&StoredType>,
    registry: &CodecRegistry,
) -> Result<(Link, Option<StoredType>), CodecError> {
    match registry.bind(config, Input::Bytes(input))? {
        Bound::BytesToBytes(codec, output) => Ok((codec, output)),
        _ => Err(out_of_order(config.name(), "of arrays")),
    }
}

/// True if the chain implements the stage of this codec itself, rather than the registry.
fn is_own_stage(config: &CodecConfig) -> bool {
    use CodecConfig as C;
    matches!(
        config,
        C::Bytes { .. } | C::LeafBytes { .. } | C::Vlen(_) | C::Sharding(_) | C::N5Block(_)
    )
}

/// True if these codecs, up to the array→bytes one, depend only on the sequence of elements.
fn only_sequence(specs: &[CodecSpec]) -> bool {
    let rest = specs
        .iter()
        .find(|spec| !matches!(spec.config, CodecConfig::Reshape { .. }));
    rest.is_some_and(|spec| matches!(spec.config, CodecConfig::Vlen(_)))
}

/// Axis `i` of the result is axis `axes[i]` of the array already transposed by `order`.
fn transposed(order: &[usize], axes: &[usize]) -> Result<Vec<usize>, CodecError> {
    let mut seen = vec![false; order.len()];
    let permutation = axes.len() == order.len()
        && axes
            .iter()
            .all(|&axis| axis < order.len() && !std::mem::replace(&mut seen[axis], true));
    if !permutation {
        let what = format!(
            "order {axes:?} is not a permutation of {} axes",
            order.len()
        );
        return Err(CodecError::config("transpose", what));
    }
    Ok(axes.iter().map(|&axis| order[axis]).collect())
}

fn out_of_order(codec: &str, kind: &str) -> CodecError {
    CodecError::config("chain", format!("{codec} ({kind}) is not in its place"))
}
