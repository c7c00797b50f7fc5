//! The decoders of streams in builds without C.

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::FrameDecoder;

use crate::StreamFormat;
use crate::streams::blosclz;

/// The largest window of a frame of zstd, in bytes: that of the highest level.
const MAX_WINDOW: u64 = 128 << 20;

/// Decodes a checked stream; returns the number of bytes.
pub(crate) fn decode_stream(
    format: StreamFormat,
    stream: &[u8],
    to: &mut [u8],
) -> Result<usize, String> {
    match format {
        StreamFormat::BloscLz => blosclz::decompress(stream, to).map(|()| to.len()),
        StreamFormat::Lz4 => {
            lz4_flex::block::decompress_into(stream, to).map_err(|error| error.to_string())
        }
        StreamFormat::Zlib => {
            let mut decoder = Decompress::new(true);
            match decoder.decompress(stream, to, FlushDecompress::Finish) {
                Ok(Status::StreamEnd) => Ok(decoder.total_out() as usize),
                Ok(_) => Err("not a whole stream of zlib".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        }
        StreamFormat::Zstd => {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(MAX_WINDOW.max(to.len() as u64));
            let n = decoder
                .decode_all(stream, to)
                .map_err(|error| error.to_string())?;
            let stated = decoder.get_checksum_from_data();
            if stated.is_some() && stated != decoder.get_calculated_checksum() {
                return Err("the checksum does not match the content".to_owned());
            }
            Ok(n)
        }
        StreamFormat::Snappy => Err("is decoded elsewhere".to_owned()),
    }
}
