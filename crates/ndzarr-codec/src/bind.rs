//! Binding: from a list of codecs as a document has it to a chain that runs.

use std::sync::Arc;

use ndzarr_model::{CodecConfig, CodecSpec, DataType, ElemKind, Endian, FillValue, StoredType, VlenConfig};

use crate::array_to_array::Staged;
use crate::chain::ArrayToBytes;
use crate::n5_block::N5Block;
use crate::registry::Bound;
use crate::sharding::Sharding;
use crate::vlen;
use crate::{ArrayToArray, BytesToBytes, CodecChain, CodecError, CodecRegistry, swap_of};

/// Size in bytes that an element of variable size is reckoned with.
const VLEN_ESTIMATE: usize = 16;

impl CodecChain {
    /// Binds codecs to the elements of an array.
    ///
    /// # Errors
    /// A codec that is unknown or not part of this build; an order other than array→array, one array→bytes, bytes→bytes;
    /// a codec that does not fit the type or the number of dimensions.
    pub fn bind(
        specs: &[CodecSpec],
        data_type: &DataType,
        fill: &FillValue,
        ndim: usize,
        registry: &CodecRegistry,
    ) -> Result<Self, CodecError> {
        // A type of the caller's own is encoded as what it lies like.
        let layout = data_type.layout();
        let data_type = &*layout;
        let kind = data_type.kind();
        // Of elements of variable size the size of a small one stands in for estimates.
        let elem_size = data_type.elem_size().unwrap_or(VLEN_ESTIMATE);
        if data_type.elem_size().is_some_and(|size| fill.bytes().len() != size) {
            return Err(CodecError::config(
                "chain",
                format!("the fill value is not one element of {data_type}"),
            ));
        }
        let mut order: Vec<usize> = (0..ndim).collect();
        let mut array_to_bytes = None;
        let mut bytes_to_bytes: Vec<Arc<dyn BytesToBytes>> = Vec::new();
        let mut unwritable = None;
        // As what elements bytes reach the next bytes→bytes codec.
        let mut reaching = None;
        for (i, spec) in specs.iter().enumerate() {
            let name = match &spec.config {
                CodecConfig::Transpose { order: axes } => {
                    if array_to_bytes.is_some() {
                        return Err(out_of_order("transpose", "array→array"));
                    }
                    order = transposed(&order, axes)?;
                    "transpose"
                }
                CodecConfig::Bytes { .. }
                | CodecConfig::LeafBytes { .. }
                | CodecConfig::Vlen(_)
                | CodecConfig::Sharding(_)
                | CodecConfig::N5Block(_) => {
                    if array_to_bytes.is_some() {
                        return Err(out_of_order("a second codec", "array→bytes"));
                    }
                    let endian = match &spec.config {
                        CodecConfig::Bytes { endian } => Some(endian.unwrap_or(Endian::NATIVE)),
                        CodecConfig::LeafBytes { .. } => Some(Endian::NATIVE),
                        _ => None,
                    };
                    if let Some(endian) = endian {
                        reaching = Some(StoredType { data_type: data_type.clone(), endian });
                    }
                    if let CodecConfig::Vlen(VlenConfig::Categorize(labels)) = &spec.config {
                        reaching = Some(labels.astype.clone());
                    }
                    array_to_bytes = Some(match &spec.config {
                        CodecConfig::Sharding(config) => ArrayToBytes::Sharding(Arc::new(Sharding::bind(
                            config, data_type, fill, ndim, registry,
                        )?)),
                        CodecConfig::N5Block(config) => {
                            ArrayToBytes::N5Block(N5Block::bind(config, data_type, ndim, registry)?)
                        }
                        CodecConfig::Bytes { endian } => {
                            ArrayToBytes::Bytes(swap_of::one_order(data_type, *endian)?)
                        }
                        CodecConfig::LeafBytes { endians } => {
                            ArrayToBytes::Bytes(swap_of::leaf_orders(data_type, endians)?)
                        }
                        CodecConfig::Vlen(config) => {
                            ArrayToBytes::Vlen(vlen::bind(config, data_type, registry.vlen_limit())?)
                        }
                        _ => unreachable!("the outer match lets no others in"),
                    });
                    "the array→bytes codec"
                }
                // Of an array in memory order numcodecs hands zfp the shape too.
                CodecConfig::Zfpy(_)
                    if bytes_to_bytes.is_empty()
                        && matches!(array_to_bytes, Some(ArrayToBytes::Bytes(crate::Swap::None))) =>
                {
                    let Bound::ArrayToBytes(codec) = registry.of_elements(&spec.config, data_type, ndim)?
                    else {
                        return Err(out_of_order("zfpy", "array→bytes"));
                    };
                    array_to_bytes = Some(ArrayToBytes::Coded(codec));
                    reaching = None;
                    "zfpy"
                }
                config if array_to_bytes.is_some() => {
                    let (codec, left) = registry.bytes_to_bytes(config, reaching.as_ref())?;
                    reaching = left;
                    let name = codec.name();
                    bytes_to_bytes.push(codec);
                    name
                }
                // The sequence of elements stays what it is, and that is all of a shape that vlen codecs store.
                CodecConfig::Reshape { .. } if kind == ElemKind::Vlen && only_sequence(&specs[i + 1..]) => {
                    "reshape"
                }
                config if kind == ElemKind::Vlen => {
                    let what = format!("{:?} does not take elements of {data_type}", config.name());
                    return Err(CodecError::config("chain", what));
                }
                config => match registry.of_elements(config, data_type, order.len())? {
                    Bound::ArrayToArray(codec) => {
                        let name = codec.name();
                        let staged = Staged::bind(codec, &specs[i + 1..], fill, ndim, registry)?;
                        array_to_bytes = Some(ArrayToBytes::Staged(Box::new(staged)));
                        name
                    }
                    Bound::ArrayToBytes(codec) => {
                        let name = codec.name();
                        array_to_bytes = Some(ArrayToBytes::Coded(codec));
                        name
                    }
                    Bound::BytesToBytes(codec) => return Err(out_of_order(codec.name(), "bytes→bytes")),
                },
            };
            if let (None, Some(reason)) = (&unwritable, &spec.unwritable) {
                unwritable = Some(CodecError::encode(name, reason));
            }
            if matches!(array_to_bytes, Some(ArrayToBytes::Staged(_))) {
                break;
            }
        }
        let array_to_bytes =
            array_to_bytes.ok_or_else(|| CodecError::config("chain", "has no array→bytes codec"))?;
        if matches!(array_to_bytes, ArrayToBytes::N5Block(_)) && !bytes_to_bytes.is_empty() {
            return Err(CodecError::config("n5_block", "codecs behind it are not part of N5"));
        }
        let vlen_limit = registry.vlen_limit();
        Ok(Self {
            kind,
            elem_size,
            vlen_limit,
            fill: fill.clone(),
            order,
            array_to_bytes,
            bytes_to_bytes,
            unwritable,
        })
    }
}

impl Staged {
    fn bind(
        codec: Arc<dyn ArrayToArray>,
        then: &[CodecSpec],
        fill: &FillValue,
        ndim: usize,
        registry: &CodecRegistry,
    ) -> Result<Self, CodecError> {
        let data_type = codec.encoded_type();
        let encoded = codec.encoded_fill(fill.bytes())?;
        let fill = match fill.is_defined() {
            true => FillValue::defined(encoded),
            false => FillValue::undefined(&data_type),
        };
        let then = CodecChain::bind(then, &data_type, &fill, codec.encoded_ndim(ndim), registry)?;
        Ok(Self { codec, then })
    }
}

/// Whether nothing but the sequence of elements matters to these codecs, up to the array→bytes one.
fn only_sequence(specs: &[CodecSpec]) -> bool {
    let rest = specs.iter().find(|spec| !matches!(spec.config, CodecConfig::Reshape { .. }));
    rest.is_some_and(|spec| matches!(spec.config, CodecConfig::Vlen(_)))
}

/// Axis `i` of the result is axis `axes[i]` of what `order` already made of the array.
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

fn out_of_order(codec: &'static str, kind: &str) -> CodecError {
    CodecError::config("chain", format!("{codec} ({kind}) is not in its place"))
}
