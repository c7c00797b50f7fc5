//! Configurations of codecs that change elements: numcodecs' filters and the array→array codecs of
//! v3.

use crate::{DataType, Endian};

/// A data type with its stored byte order: what numcodecs calls a dtype.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredType {
    /// The type of an element.
    pub data_type: DataType,
    /// The byte order of its units; irrelevant for a single byte.
    pub endian: Endian,
}

impl StoredType {
    /// A type in the byte order of this machine.
    #[must_use]
    pub fn native(data_type: DataType) -> Self {
        Self {
            data_type,
            endian: Endian::NATIVE,
        }
    }

    /// Size of an element in bytes; 1 for a type of variable size.
    #[must_use]
    pub fn elem_size(&self) -> usize {
        self.data_type.elem_size().unwrap_or(1)
    }
}

/// The types on both sides of a filter of numcodecs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilterTypes {
    /// `dtype` or `decode_dtype`: the type of the incoming bytes.
    pub dtype: StoredType,
    /// `astype` or `encode_dtype`: the type of the result.
    pub astype: StoredType,
}

/// A number of a configuration. The filter computes with integers or floats, by the way the number
/// is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterNumber {
    /// Written without a fraction or an exponent.
    Int(i128),
    /// Any other number.
    Float(f64),
}

/// Configuration of numcodecs' fixedscaleoffset.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedScaleOffsetConfig {
    /// Subtracted first.
    pub offset: FilterNumber,
    /// The factor, applied after the offset.
    pub scale: FilterNumber,
    /// The types on both sides.
    pub types: FilterTypes,
}

/// Configuration of numcodecs' categorize of texts of any length. A text that is not a label is
/// stored as 0, which reads as the empty text.
///
/// ```
/// use ndzarr::DataType;
/// use ndzarr::codec::{CodecConfig, LabelsConfig, StoredType, VlenConfig};
///
/// let astype = StoredType::native(DataType::UInt { bits: 8 });
/// let labels = LabelsConfig { labels: vec!["no".into(), "yes".into()], astype };
/// assert_eq!(CodecConfig::Vlen(VlenConfig::Categorize(labels)).name(), "categorize");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelsConfig {
    /// The texts that have a code, which is their index plus 1.
    pub labels: Vec<String>,
    /// Type of the codes.
    pub astype: StoredType,
}

/// Configuration of numcodecs' categorize of texts of fixed length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategorizeConfig {
    /// The texts that have a code, which is their index plus 1.
    pub labels: Vec<String>,
    /// Code points of an element of `<U<n>`.
    pub code_points: usize,
    /// Byte order of the code points.
    pub endian: Endian,
    /// Type of the codes.
    pub astype: StoredType,
}

/// Configuration of packbits as Zarr v3 has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackbitsConfig {
    /// The position of the number of padding bits.
    pub padding: PaddingEncoding,
    /// Lowest bit of each component that is kept; `None` is 0.
    pub first_bit: Option<u32>,
    /// Highest bit of each component that is kept; `None` is the component's last.
    pub last_bit: Option<u32>,
}

/// The position at which packbits stores the number of its padding bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingEncoding {
    /// It is not stored.
    #[default]
    None,
    /// In a byte before the bits.
    FirstByte,
    /// In a byte after the bits.
    LastByte,
}

/// Configuration of cast_value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CastValueConfig {
    /// The type of the result.
    pub data_type: DataType,
    /// How values between two representable ones are rounded.
    pub rounding: Rounding,
    /// How values out of range are treated; `None` for an error.
    pub out_of_range: Option<OutOfRange>,
    /// Values with a special meaning when encoding, from and to, one element each in this machine's
    /// byte order.
    pub encode_map: Vec<(Vec<u8>, Vec<u8>)>,
    /// Values with a special meaning when decoding, from and to.
    pub decode_map: Vec<(Vec<u8>, Vec<u8>)>,
}

/// How cast_value rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to the even one.
    #[default]
    NearestEven,
    /// Towards zero.
    TowardsZero,
    /// Up.
    TowardsPositive,
    /// Down.
    TowardsNegative,
    /// To the nearest, ties away from zero.
    NearestAway,
}

impl Rounding {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::NearestEven, "nearest-even"),
        (Self::TowardsZero, "towards-zero"),
        (Self::TowardsPositive, "towards-positive"),
        (Self::TowardsNegative, "towards-negative"),
        (Self::NearestAway, "nearest-away"),
    ];

    /// The name in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(mode, _)| *mode == self)
            .map_or("", |(_, name)| name)
    }

    /// The mode with this name in documents.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(mode, _)| *mode)
    }
}

/// The result of cast_value for values beyond the range of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// The nearest representable value.
    Clamp,
    /// Modulo 2^N, for integers.
    Wrap,
}

/// Configuration of scale_offset, each one element in this machine's byte order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScaleOffsetConfig {
    /// Subtracted first; `None` is 0.
    pub offset: Option<Vec<u8>>,
    /// The factor, applied after the offset; `None` is 1.
    pub scale: Option<Vec<u8>>,
}

/// One dimension of the result of reshape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReshapeDim {
    /// A length.
    Length(u64),
    /// The product of these consecutive dimensions of the input.
    InputDims(Vec<usize>),
    /// -1: the rest.
    Rest,
}

impl ReshapeDim {
    /// The result of applying dimensions to this shape; `None` if they do not fit.
    #[must_use]
    pub fn resolve(dims: &[Self], shape: &[u64]) -> Option<Vec<u64>> {
        let named: Vec<usize> = dims
            .iter()
            .filter_map(|dim| match dim {
                Self::InputDims(inputs) => Some(inputs),
                _ => None,
            })
            .flatten()
            .copied()
            .collect();
        let n_rests = dims.iter().filter(|dim| **dim == Self::Rest).count();
        if !named.is_sorted_by(|a, b| a < b) || n_rests > 1 {
            return None;
        }
        let total = product(shape)?;
        let mut known = 1u64;
        let mut lengths = Vec::with_capacity(dims.len());
        for dim in dims {
            let length = match dim {
                Self::Length(n) => Some(*n),
                Self::InputDims(inputs) => {
                    let inputs: Option<Vec<u64>> =
                        inputs.iter().map(|&dim| shape.get(dim).copied()).collect();
                    Some(product(&inputs?)?)
                }
                Self::Rest => None,
            };
            known = known.checked_mul(length.unwrap_or(1))?;
            lengths.push(length);
        }
        // Without elements the rest could have any length; no chunk is without elements.
        let rest = total
            .checked_div(known)
            .filter(|rest| known * rest == total)?;
        if rest != 1 && lengths.iter().all(Option::is_some) {
            return None;
        }
        let resolved: Vec<u64> = lengths
            .into_iter()
            .map(|length| length.unwrap_or(rest))
            .collect();
        // Named dimensions of the input have the same products before and after them in the result.
        let (before, after) = products(&resolved);
        let (before_input, after_input) = products(shape);
        let keep_their_place = dims.iter().enumerate().all(|(i, dim)| match dim {
            Self::InputDims(inputs) => {
                inputs
                    .first()
                    .zip(inputs.last())
                    .is_some_and(|(&first, &last)| {
                        before[i] == before_input[first] && after[i + 1] == after_input[last + 1]
                    })
            }
            _ => true,
        });
        keep_their_place.then_some(resolved)
    }
}

fn product(lengths: &[u64]) -> Option<u64> {
    lengths
        .iter()
        .try_fold(1u64, |product, &n| product.checked_mul(n))
}

/// For each position from the start to the end of the lengths: the product of the lengths before
/// it, and of those after it. `None` where a product exceeds `u64`.
fn products(lengths: &[u64]) -> (Vec<Option<u64>>, Vec<Option<u64>>) {
    let multiply = |product: &mut Option<u64>, &n: &u64| {
        *product = product.and_then(|product| product.checked_mul(n));
        Some(*product)
    };
    let before = std::iter::once(Some(1))
        .chain(lengths.iter().scan(Some(1), multiply))
        .collect();
    let from_end = std::iter::once(Some(1)).chain(lengths.iter().rev().scan(Some(1), multiply));
    let mut after: Vec<Option<u64>> = from_end.collect();
    after.reverse();
    (before, after)
}

/// Configuration of numcodecs' pcodec: it only affects encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcodecConfig {
    /// 0 to 12.
    pub level: u8,
    /// The structure to look for in the numbers.
    pub mode: PcodecMode,
    /// How neighbours are subtracted.
    pub delta: PcodecDelta,
    /// The order of consecutive deltas, 0 to 7; `None` for automatic.
    pub delta_encoding_order: Option<u8>,
    /// The most numbers in a page.
    pub equal_pages_up_to: usize,
}

impl Default for PcodecConfig {
    fn default() -> Self {
        Self {
            level: 8,
            mode: PcodecMode::Auto,
            delta: PcodecDelta::Auto,
            delta_encoding_order: None,
            equal_pages_up_to: 262_144,
        }
    }
}

/// `mode_spec` of pcodec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PcodecMode {
    Auto,
    Classic,
}

/// `delta_spec` of pcodec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PcodecDelta {
    Auto,
    None,
    TryConsecutive,
    TryLookback,
}

/// The precision that zfp preserves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ZfpMode {
    /// Nothing is lost.
    Reversible,
    /// The four parameters of the stream.
    Expert {
        /// Fewest bits of a block.
        minbits: u32,
        /// Most bits of a block.
        maxbits: u32,
        /// Most bit planes.
        maxprec: u32,
        /// Lowest bit plane.
        minexp: i32,
    },
    /// The greatest absolute error.
    FixedAccuracy {
        /// The error.
        tolerance: f64,
    },
    /// Bits for each element.
    FixedRate {
        /// The bits.
        rate: f64,
    },
    /// Bit planes of each element.
    FixedPrecision {
        /// Their number.
        precision: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Named dimensions have the same products before and after them as in the input.
    #[test]
    fn named_dimensions_keep_their_place() {
        let dims = |dims: &[usize]| ReshapeDim::InputDims(dims.to_vec());
        let length = ReshapeDim::Length;
        let rest = ReshapeDim::Rest;
        let check = |dims: &[ReshapeDim], shape: &[u64], expected: Option<&[u64]>| {
            assert_eq!(
                ReshapeDim::resolve(dims, shape).as_deref(),
                expected,
                "{dims:?} of {shape:?}"
            );
        };
        check(&[dims(&[0, 1]), rest.clone()], &[2, 3, 4], Some(&[6, 4]));
        check(&[rest.clone(), dims(&[2])], &[2, 3, 4], Some(&[6, 4]));
        check(
            &[length(2), dims(&[1]), rest.clone()],
            &[2, 3, 4],
            Some(&[2, 3, 4]),
        );
        check(&[length(3), dims(&[1]), rest.clone()], &[6, 2, 5], None);
        check(
            &[length(3), length(2), dims(&[1, 2])],
            &[6, 2, 5],
            Some(&[3, 2, 10]),
        );
        check(&[length(4), dims(&[1]), length(2)], &[2, 3, 4], None);
        check(&[dims(&[1]), dims(&[2]), length(2)], &[2, 3, 4], None);
        check(&[dims(&[0]), rest], &[2, 3], Some(&[2, 3]));
        check(&[], &[1, 1], Some(&[]));
        check(&[], &[1, 2], None);
    }

    /// A product for each dimension separately would take minutes.
    #[test]
    fn as_many_dimensions_as_arrays_may_have() {
        const NDIM: usize = u16::MAX as usize;
        let dims: Vec<ReshapeDim> = (0..NDIM)
            .map(|dim| ReshapeDim::InputDims(vec![dim]))
            .collect();
        let mut shape = vec![1; NDIM];
        shape[NDIM / 2] = 7;
        assert_eq!(ReshapeDim::resolve(&dims, &shape), Some(shape));
    }
}
