//! zfp: streams with a header, as numcodecs writes them, and without one.

use ndzarr_model::{DataType, Endian, StoredType, ZfpMode};
use ndzarr_zfp::{Error, Framing, Mode, Scalar, Shape};

use crate::filter::swap_of_bytes;
use crate::memory::{bounded, sink};
use crate::{ArrayToBytes, BytesToBytes, CodecError, Dst, Swap, Workspace};

#[derive(Debug)]
pub(crate) struct Zfp {
    name: &'static str,
    mode: Mode,
    framing: Framing,
    /// The type of its input, if zfp supports it.
    scalar: Option<Scalar>,
}

impl Zfp {
    /// With a header, which says how to decode the stream, whatever the configuration (V2-T52).
    pub(crate) fn framed(mode: &ZfpMode, data_type: &DataType) -> Self {
        Self {
            name: "zfpy",
            mode: mode_of(mode),
            framing: Framing::Header,
            scalar: scalar_of(data_type),
        }
    }

    /// As a filter on stored elements, or on bytes.
    pub(crate) fn on_bytes(mode: &ZfpMode, input: Option<&StoredType>) -> Self {
        let little = input.filter(|stored| stored.endian == Endian::Little);
        let scalar = little.and_then(|stored| scalar_of(&stored.data_type));
        Self {
            name: "zfpy",
            mode: mode_of(mode),
            framing: Framing::Header,
            scalar,
        }
    }

    /// Without a header: decoding needs the type and shape of the elements.
    pub(crate) fn bare(mode: &ZfpMode, data_type: &DataType) -> Result<Self, CodecError> {
        let scalar = scalar_of(data_type);
        if scalar.is_none() {
            return Err(CodecError::config(
                "zfp",
                format!("takes no elements of {data_type}"),
            ));
        }
        Ok(Self {
            name: "zfp",
            mode: mode_of(mode),
            framing: Framing::None,
            scalar,
        })
    }

    fn shape(&self, shape: &[u64]) -> Result<Shape, CodecError> {
        Shape::new(&bounded::extent(shape)).map_err(|error| CodecError::config(self.name, error))
    }

    fn compress(&self, elements: &[u8], shape: Shape, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let scalar = self.scalar.ok_or_else(|| {
            CodecError::encode(
                self.name,
                "takes int32, int64, float32 and float64, little endian, only",
            )
        })?;
        ndzarr_zfp::compress(elements, scalar, shape, self.mode, self.framing, out).map_err(
            |error| match error {
                Error::OutOfMemory { byte_len } => CodecError::OutOfMemory { byte_len },
                error => CodecError::encode(self.name, error),
            },
        )
    }

    fn corrupt(&self, error: Error) -> CodecError {
        match error {
            Error::OutOfMemory { byte_len } => CodecError::OutOfMemory { byte_len },
            error => CodecError::corrupt(self.name, error),
        }
    }
}

impl ArrayToBytes for Zfp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        // A stream with a header may have any shape; one that cannot be encoded is reported when
        // encoding.
        if self.framing == Framing::None {
            self.shape(shape).map(|_| ())
        } else {
            Ok(())
        }
    }

    fn decode(
        &self,
        value: &[u8],
        shape: &[u64],
        out: &mut [u8],
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        let decoded = match (self.framing, self.scalar) {
            (Framing::None, Some(scalar)) => {
                ndzarr_zfp::decompress(value, scalar, self.shape(shape)?, self.mode, out)
            }
            _ => ndzarr_zfp::decompress_framed(value, out),
        };
        decoded.map_err(|error| self.corrupt(error))
    }

    fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        self.compress(elements, self.shape(shape)?, out)
    }
}

impl BytesToBytes for Zfp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let framed = ndzarr_zfp::header(src).map_err(|error| self.corrupt(error))?;
        let len = framed
            .shape
            .n_elements()
            .and_then(|n| n.checked_mul(framed.scalar.size()));
        let out = sink::whole_output(self.name, &mut dst, len.unwrap_or(usize::MAX))?;
        ndzarr_zfp::decompress_framed(src, out).map_err(|error| self.corrupt(error))?;
        swap_of_bytes(framed.scalar.size()).apply(out);
        Ok(out.len())
    }

    /// After other filters there is no shape: numcodecs then has one dimension.
    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let size = self.scalar.map_or(1, Scalar::size);
        let shape = Shape::new(&[src.len() / size])
            .map_err(|error| CodecError::encode(self.name, error))?;
        match swap_of_bytes(size) {
            Swap::None => self.compress(src, shape, dst),
            swap => {
                let mut native = workspace.take_bytes();
                native.extend_from_slice(src);
                swap.apply(&mut native);
                let result = self.compress(&native, shape, dst);
                workspace.give_bytes(native);
                result
            }
        }
    }
}

fn scalar_of(data_type: &DataType) -> Option<Scalar> {
    match data_type {
        DataType::Int { bits: 32 } => Some(Scalar::Int32),
        DataType::Int { bits: 64 } => Some(Scalar::Int64),
        DataType::Float { bits: 32 } => Some(Scalar::Float32),
        DataType::Float { bits: 64 } => Some(Scalar::Float64),
        _ => None,
    }
}

fn mode_of(mode: &ZfpMode) -> Mode {
    match *mode {
        ZfpMode::Reversible => Mode::Reversible,
        ZfpMode::Expert {
            minbits,
            maxbits,
            maxprec,
            minexp,
        } => Mode::Expert {
            minbits,
            maxbits,
            maxprec,
            minexp,
        },
        ZfpMode::FixedAccuracy { tolerance } => Mode::Accuracy(tolerance),
        ZfpMode::FixedRate { rate } => Mode::Rate(rate),
        ZfpMode::FixedPrecision { precision } => Mode::Precision(precision),
    }
}
