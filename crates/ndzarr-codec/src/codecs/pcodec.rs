//! pcodec: the standalone format of pco. The stream itself says how to decode it.

use half::f16;
use ndzarr_model::{DataType, Endian, PcodecConfig, PcodecDelta, PcodecMode, StoredType};
use pco::data_types::{Number, NumberType as PcoType};
use pco::errors::{ErrorKind, PcoError};
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress_into};
use pco::{ChunkConfig, DeltaSpec, FULL_BATCH_N, ModeSpec, PagingSpec};

use super::pcodec_claims;
use crate::elements::number::NumberType;
use crate::filter::swap_of_bytes;
use crate::memory::sink::{self, Sink};
use crate::{ArrayToBytes, BytesToBytes, CodecError, Dst, Swap, Workspace};

const NAME: &str = "pcodec";
/// Marks the end, in place of another chunk.
const TERMINATION: u8 = 0;
/// The number of numbers to decode at a time.
const BATCH: usize = 16 * FULL_BATCH_N;

#[derive(Debug)]
pub(crate) struct Pcodec {
    config: PcodecConfig,
    /// The type of its input, if that is numbers: little-endian ones on bytes, native ones on
    /// arrays.
    numbers: Option<NumberType>,
}

impl Pcodec {
    /// As a filter on stored elements, or on bytes.
    pub(crate) fn on_bytes(config: &PcodecConfig, input: Option<&StoredType>) -> Self {
        let is_little = |stored: &&StoredType| {
            stored.endian == Endian::Little || stored.data_type.swap_width() == 1
        };
        let numbers = input
            .filter(is_little)
            .and_then(|stored| NumberType::of(&stored.data_type));
        Self {
            config: config.clone(),
            numbers,
        }
    }

    /// As the array→bytes codec.
    pub(crate) fn on_array(config: &PcodecConfig, data_type: &DataType) -> Self {
        Self {
            config: config.clone(),
            numbers: NumberType::of(data_type),
        }
    }

    fn settings(&self) -> ChunkConfig {
        let PcodecConfig {
            level,
            mode,
            delta,
            delta_encoding_order,
            equal_pages_up_to,
        } = self.config;
        let order = usize::from(delta_encoding_order.unwrap_or(0));
        ChunkConfig::default()
            .with_compression_level(level.into())
            .with_mode_spec(match mode {
                PcodecMode::Auto => ModeSpec::Auto,
                PcodecMode::Classic => ModeSpec::Classic,
            })
            .with_delta_spec(match delta {
                PcodecDelta::Auto => DeltaSpec::Auto,
                PcodecDelta::None => DeltaSpec::NoOp,
                PcodecDelta::TryConsecutive => DeltaSpec::TryConsecutive(order),
                PcodecDelta::TryLookback => DeltaSpec::TryLookback,
            })
            .with_paging_spec(PagingSpec::EqualPagesUpTo(equal_pages_up_to.max(1)))
    }

    fn compress(&self, elements: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.numbers {
            Some(NumberType::U16) => self.compress_as::<u16>(elements, out),
            Some(NumberType::U32) => self.compress_as::<u32>(elements, out),
            Some(NumberType::U64) => self.compress_as::<u64>(elements, out),
            Some(NumberType::I16) => self.compress_as::<i16>(elements, out),
            Some(NumberType::I32) => self.compress_as::<i32>(elements, out),
            Some(NumberType::I64) => self.compress_as::<i64>(elements, out),
            Some(NumberType::F16) => self.compress_as::<f16>(elements, out),
            Some(NumberType::F32) => self.compress_as::<f32>(elements, out),
            Some(NumberType::F64) => self.compress_as::<f64>(elements, out),
            _ => Err(CodecError::encode(
                NAME,
                "takes numbers of 16, 32 and 64 bits, little endian, only",
            )),
        }
    }

    fn compress_as<T: Number + bytemuck::AnyBitPattern>(
        &self,
        elements: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        out.clear();
        if !elements.len().is_multiple_of(size_of::<T>()) {
            let what = format!(
                "{} bytes are not whole numbers of {} bytes",
                elements.len(),
                size_of::<T>()
            );
            return Err(CodecError::encode(NAME, what));
        }
        let failed = |error: PcoError| CodecError::encode(NAME, error.message);
        let settings = self.settings();
        match bytemuck::try_cast_slice::<u8, T>(elements) {
            Ok(numbers) => simple_compress_into(numbers, &settings, out).map_err(failed)?,
            Err(_) => {
                let numbers = collect::<T>(elements);
                simple_compress_into(&numbers, &settings, out).map_err(failed)?
            }
        };
        Ok(())
    }
}

impl BytesToBytes for Pcodec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        decompress(src, dst, swap_of_bytes)
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        match self
            .numbers
            .map_or(Swap::None, |numbers| swap_of_bytes(numbers.size()))
        {
            Swap::None => self.compress(src, dst),
            swap => {
                let mut native = workspace.take_bytes();
                native.extend_from_slice(src);
                swap.apply(&mut native);
                let result = self.compress(&native, dst);
                workspace.give_bytes(native);
                result
            }
        }
    }
}

impl ArrayToBytes for Pcodec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(
        &self,
        value: &[u8],
        _: &[u64],
        out: &mut [u8],
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        decompress(value, Dst::Exact(out), |_| Swap::None).map(|_| ())
    }

    fn encode(
        &self,
        elements: &[u8],
        _: &[u64],
        out: &mut Vec<u8>,
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        self.compress(elements, out)
    }
}

/// Decodes a whole stream. `output_swap` converts native numbers of a size to the form of the
/// output.
fn decompress(
    src: &[u8],
    dst: Dst<'_>,
    output_swap: fn(usize) -> Swap,
) -> Result<usize, CodecError> {
    let (file, chunks) = FileDecompressor::new(src).map_err(corrupt)?;
    let mut sink = Sink::new(NAME, dst);
    match file
        .peek_number_type_or_termination(chunks)
        .map_err(corrupt)?
    {
        None => expect_end(chunks.get(1..).unwrap_or_default())?,
        Some(PcoType::U8) => append::<u8>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::U16) => append::<u16>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::U32) => append::<u32>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::U64) => append::<u64>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::I8) => append::<i8>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::I16) => append::<i16>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::I32) => append::<i32>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::I64) => append::<i64>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::F16) => append::<f16>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::F32) => append::<f32>(&file, chunks, output_swap, &mut sink)?,
        Some(PcoType::F64) => append::<f64>(&file, chunks, output_swap, &mut sink)?,
        Some(other) => {
            return Err(CodecError::corrupt(
                NAME,
                format!("has numbers of type {other:?}"),
            ));
        }
    }
    sink.finish()
}

/// Appends all chunks, a batch at a time, so that no size stated in the stream leads to an
/// allocation.
fn append<T: Number + bytemuck::NoUninit + Default>(
    file: &FileDecompressor,
    mut chunks: &[u8],
    output_swap: fn(usize) -> Swap,
    sink: &mut Sink<'_>,
) -> Result<(), CodecError> {
    let mut batch = vec![T::default(); BATCH];
    loop {
        if chunks.first() != Some(&TERMINATION) {
            pcodec_claims::check(
                chunks,
                size_of::<T>(),
                file.format_version().major,
                sink.remaining(),
            )?;
        }
        let mut chunk = match file.chunk_decompressor::<T, _>(chunks).map_err(corrupt)? {
            DecompressorItem::EndOfData(rest) => return expect_end(rest),
            DecompressorItem::Chunk(chunk) => chunk,
        };
        loop {
            let progress = chunk.read(&mut batch).map_err(corrupt)?;
            let bytes: &[u8] = bytemuck::cast_slice(&batch[..progress.n_processed]);
            let out = sink.space_for(bytes.len())?;
            out.copy_from_slice(bytes);
            output_swap(size_of::<T>()).apply(out);
            sink.advance(bytes.len())?;
            if progress.finished {
                break;
            }
            if progress.n_processed == 0 {
                return Err(sink::truncated(NAME));
            }
        }
        chunks = chunk.into_src();
    }
}

fn expect_end(rest: &[u8]) -> Result<(), CodecError> {
    match rest.len() {
        0 => Ok(()),
        n => Err(CodecError::corrupt(
            NAME,
            format!("{n} bytes after the stream"),
        )),
    }
}

fn corrupt(error: PcoError) -> CodecError {
    match error.kind {
        ErrorKind::InsufficientData => sink::truncated(NAME),
        _ => CodecError::corrupt(NAME, error.message),
    }
}

/// Numbers from bytes that may be unaligned.
fn collect<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    bytes
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect()
}
