//! packbits of Zarr v3: some bits of each element, the lowest first.

use ndzarr_model::{ComplexPart, DataType, PackbitsConfig, PaddingEncoding};

use crate::memory::{bounded, sink};
use crate::{ArrayToBytes, CodecError, Workspace};

const NAME: &str = "packbits";

#[derive(Debug)]
pub(crate) struct Packbits {
    components: Components,
    padding: PaddingEncoding,
    /// The lowest bit to keep.
    first: u32,
    /// The number of bits to keep.
    width: u32,
}

/// The numbers of which an element consists.
#[derive(Clone, Copy, Debug)]
struct Components {
    /// How many.
    n: usize,
    /// Size in memory, in bytes.
    size: usize,
    /// Number of bits with a meaning.
    bits: u32,
    sign: Sign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Extended,
    None,
}

impl Packbits {
    pub(crate) fn new(config: &PackbitsConfig, data_type: &DataType) -> Result<Self, CodecError> {
        let components = components(data_type)
            .ok_or_else(|| CodecError::config(NAME, format!("takes no elements of {data_type}")))?;
        let first = config.first_bit.unwrap_or(0);
        let last = config.last_bit.unwrap_or(components.bits - 1);
        if first > last || last >= components.bits {
            let what = format!("bits {first} to {last} of {}", components.bits);
            return Err(CodecError::config(NAME, what));
        }
        Ok(Self {
            components,
            padding: config.padding,
            first,
            width: last - first + 1,
        })
    }

    /// The number of bits in an array of this shape, the number of bytes that they fill, and that
    /// number with the padding's byte.
    fn sizes(&self, shape: &[u64]) -> Option<(usize, usize, usize)> {
        let n = bounded::byte_len(shape, self.components.n)?;
        let bits = n.checked_mul(self.width as usize)?;
        let packed = bits.div_ceil(8);
        Some((
            bits,
            packed,
            packed + usize::from(self.padding != PaddingEncoding::None),
        ))
    }
}

fn components(data_type: &DataType) -> Option<Components> {
    let numbers = |n, size, bits, sign| {
        Some(Components {
            n,
            size,
            bits,
            sign,
        })
    };
    match *data_type {
        DataType::Bool => numbers(1, 1, 1, Sign::None),
        DataType::Int { bits } => numbers(
            1,
            usize::from(bits).div_ceil(8),
            bits.into(),
            Sign::Extended,
        ),
        DataType::UInt { bits } | DataType::Float { bits } => {
            numbers(1, usize::from(bits).div_ceil(8), bits.into(), Sign::None)
        }
        DataType::BFloat16 => numbers(1, 2, 16, Sign::None),
        DataType::Complex { bits } => {
            numbers(2, usize::from(bits) / 16, u32::from(bits) / 2, Sign::None)
        }
        DataType::SmallFloat(float) => numbers(1, 1, float.bits().into(), Sign::None),
        DataType::ComplexOf(ComplexPart::Small(float)) => {
            numbers(2, 1, float.bits().into(), Sign::None)
        }
        DataType::ComplexOf(_) => numbers(2, 2, 16, Sign::None),
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => {
            numbers(1, 8, 64, Sign::Extended)
        }
        _ => None,
    }
}

impl ArrayToBytes for Packbits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(
        &self,
        value: &[u8],
        shape: &[u64],
        out: &mut [u8],
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        let (bits, packed_len, len) = self.sizes(shape).unwrap_or((0, usize::MAX, usize::MAX));
        bounded::expect_len(NAME, value.len(), len)?;
        let (padding, packed) = match self.padding {
            PaddingEncoding::None => (None, value),
            PaddingEncoding::FirstByte => (value.first(), &value[1..]),
            PaddingEncoding::LastByte => (value.last(), &value[..packed_len]),
        };
        let unused = packed_len * 8 - bits;
        if let Some(&stated) = padding
            && usize::from(stated) != unused
        {
            let what = format!("says that {stated} bits are padding where {unused} are");
            return Err(CodecError::corrupt(NAME, what));
        }
        let Components {
            size, bits, sign, ..
        } = self.components;
        let mut reader = BitReader {
            bytes: packed,
            bits: 0,
            n: 0,
        };
        let mask = u64::MAX >> (64 - self.width);
        for out in out.chunks_exact_mut(size) {
            let mut value = (reader.take(self.width) & mask) << self.first;
            let top = self.first + self.width;
            if sign == Sign::Extended && value >> (top - 1) & 1 == 1 {
                value |= u64::MAX.checked_shl(top).unwrap_or(0);
            }
            if sign == Sign::None && bits < 64 {
                value &= (1 << bits) - 1;
            }
            store(value, out);
        }
        Ok(())
    }

    fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        let (bits, packed_len, len) = self.sizes(shape).unwrap_or((0, 0, 0));
        out.clear();
        sink::reserve(out, len.saturating_add(8))?;
        let unused = (packed_len * 8 - bits) as u8;
        if self.padding == PaddingEncoding::FirstByte {
            out.push(unused);
        }
        let mask = u64::MAX >> (64 - self.width);
        let mut word = 0u128;
        let mut n = 0;
        for element in elements.chunks_exact(self.components.size) {
            word |= u128::from(load(element) >> self.first & mask) << n;
            n += self.width;
            while n >= 8 {
                out.push(word as u8);
                word >>= 8;
                n -= 8;
            }
        }
        if n > 0 {
            out.push(word as u8);
        }
        if self.padding == PaddingEncoding::LastByte {
            out.push(unused);
        }
        Ok(())
    }

    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        self.sizes(shape).map(|(_, _, len)| len)
    }
}

/// Reads bits, from the lowest of the first byte on.
struct BitReader<'a> {
    bytes: &'a [u8],
    bits: u128,
    n: u32,
}

impl BitReader<'_> {
    fn take(&mut self, width: u32) -> u64 {
        while self.n < width {
            let Some((&byte, rest)) = self.bytes.split_first() else {
                break;
            };
            self.bits |= u128::from(byte) << self.n;
            self.n += 8;
            self.bytes = rest;
        }
        let value = self.bits as u64;
        self.bits >>= width;
        self.n = self.n.saturating_sub(width);
        value
    }
}

fn load(element: &[u8]) -> u64 {
    let mut word = [0; 8];
    if cfg!(target_endian = "little") {
        word[..element.len()].copy_from_slice(element);
        u64::from_le_bytes(word)
    } else {
        word[8 - element.len()..].copy_from_slice(element);
        u64::from_be_bytes(word)
    }
}

fn store(value: u64, out: &mut [u8]) {
    let n = out.len();
    if cfg!(target_endian = "little") {
        out.copy_from_slice(&value.to_le_bytes()[..n]);
    } else {
        out.copy_from_slice(&value.to_be_bytes()[8 - n..]);
    }
}
