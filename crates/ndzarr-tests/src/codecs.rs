//! Every codec on bytes. The first byte chooses the codec, the second the size of the chunk; the
//! rest is the stored value.

use ndzarr::CodecRegistry;
use ndzarr::DataType;
use ndzarr::Endian;
use ndzarr::FillValue;
use ndzarr::codec::{BloscCname, BloscShuffle, CodecConfig, CodecSpec};
use ndzarr::codec::{CodecError, Workspace};
use ndzarr_codec::CodecChain;
use ndzarr_codec::Elements;
use ndzarr_model::{
    BloscConfig, ChecksumLocation, FilterTypes, LzmaConfig, LzmaFilter, LzmaFormat, PcodecConfig,
    StoredType,
};

/// Memory limit for an input: chunks have up to 128 KiB.
pub const MAX_BYTES: usize = 8 << 20;

/// The number of choices.
pub const CHOICES: u8 = 27;

/// The codecs of a first byte, below the bytes of the elements.
#[must_use]
pub fn codecs(choice: u8) -> Vec<CodecConfig> {
    let blosc = || {
        CodecConfig::Blosc(BloscConfig {
            cname: BloscCname::Zstd,
            clevel: 1,
            shuffle: BloscShuffle::Byte,
            typesize: None,
            blocksize: 0,
        })
    };
    let u8 = || StoredType::native(DataType::UInt { bits: 8 });
    let zstd = || CodecConfig::Zstd {
        level: 1,
        checksum: true,
    };
    let lzma = |format, filters| {
        CodecConfig::Lzma(LzmaConfig {
            format,
            check: -1,
            preset: Some(0),
            filters,
        })
    };
    let lzma2 = || LzmaFilter {
        id: 0x21,
        options: vec![("preset".into(), 0)],
    };
    let delta = || LzmaFilter {
        id: 3,
        options: vec![("dist".into(), 4)],
    };
    match choice % CHOICES {
        0 => vec![CodecConfig::Gzip { level: 1 }],
        1 => vec![CodecConfig::Zlib { level: 1 }],
        2 => vec![CodecConfig::N5Gzip {
            level: 1,
            use_zlib: false,
        }],
        3 => vec![zstd()],
        4 => vec![blosc()],
        5 => vec![CodecConfig::Lz4 { acceleration: 1 }],
        6 => vec![CodecConfig::N5Lz4 {
            block_size: 1 << 16,
        }],
        7 => vec![CodecConfig::Bz2 { level: 1 }],
        8 => vec![lzma(LzmaFormat::Auto, None)],
        9 => vec![lzma(LzmaFormat::Xz, None)],
        10 => vec![lzma(LzmaFormat::Alone, None)],
        11 => vec![lzma(LzmaFormat::Raw, Some(vec![lzma2()]))],
        12 => vec![lzma(LzmaFormat::Raw, Some(vec![delta(), lzma2()]))],
        13 => vec![CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        }],
        14 => vec![CodecConfig::Crc32c {
            location: ChecksumLocation::Start,
        }],
        15 => vec![
            zstd(),
            CodecConfig::Crc32c {
                location: ChecksumLocation::End,
            },
        ],
        16 => vec![blosc(), CodecConfig::Gzip { level: 1 }],
        17 => vec![CodecConfig::Pcodec(PcodecConfig::default())],
        18 => vec![CodecConfig::Crc32 {
            location: ChecksumLocation::Start,
        }],
        19 => vec![CodecConfig::Adler32 {
            location: ChecksumLocation::End,
        }],
        20 => vec![CodecConfig::Fletcher32],
        21 => vec![CodecConfig::JenkinsLookup3 { initval: 1 }],
        22 => vec![CodecConfig::Base64],
        23 => vec![
            CodecConfig::Shuffle { elementsize: None },
            CodecConfig::Zlib { level: 1 },
        ],
        24 => vec![
            CodecConfig::Delta(FilterTypes {
                dtype: u8(),
                astype: u8(),
            }),
            zstd(),
        ],
        25 => {
            vec![
                CodecConfig::Shuffle {
                    elementsize: Some(1),
                },
                CodecConfig::Pcodec(PcodecConfig::default()),
            ]
        }
        _ => vec![
            zstd(),
            CodecConfig::Lz4 { acceleration: 1 },
            CodecConfig::Zlib { level: 1 },
        ],
    }
}

/// True if pco is among the codecs of a first byte: it can encode neither bytes nor big-endian
/// numbers.
#[must_use]
pub fn is_pcodec(choice: u8) -> bool {
    codecs(choice)
        .iter()
        .any(|config| matches!(config, CodecConfig::Pcodec(_)))
}

/// Runs an input.
pub fn check(data: &[u8]) {
    let [choice, size, encoded @ ..] = data else {
        return;
    };
    let bits = if size & 0x80 == 0 { 8 } else { 32 };
    let n = 1u64 << (size % 16);
    let bytes = CodecSpec::from(CodecConfig::Bytes {
        endian: Some(Endian::Big),
    });
    let specs: Vec<CodecSpec> = [bytes]
        .into_iter()
        .chain(codecs(*choice).into_iter().map(CodecSpec::from))
        .collect();
    let data_type = DataType::UInt { bits };
    let fill = FillValue::zero(&data_type);
    let chain = CodecChain::bind(&specs, &data_type, &fill, 1, &CodecRegistry::new())
        .expect("the chain is valid");
    chain.check(&[n]).expect("the shape fits");
    let mut workspace = Workspace::new();
    let decoded = decode(&chain, encoded, n, &mut workspace);
    let mut out = vec![0; n as usize * usize::from(bits / 8)];
    let into = chain.decode_into(encoded, &[n], &mut out, &mut workspace);
    match decoded {
        Err(_) => {
            assert!(into.is_err(), "decoded into place, but not as such");
            // The broken part may be in the other half.
            let _ = decode_half(&chain, encoded, n, &mut workspace);
        }
        Ok(decoded) => {
            assert!(into.expect("decoded as such, but not into place"));
            assert_eq!(decoded, out);
            let half =
                decode_half(&chain, encoded, n, &mut workspace).expect("as the whole is decoded");
            assert_eq!(half, decoded[..half.len()]);
            // Encoding is slow.
            let lzma_auto = *choice % CHOICES == 8;
            if n <= 4096 && !lzma_auto && !is_pcodec(*choice) {
                let mut again = Vec::new();
                chain
                    .encode(&decoded, &[n], &mut workspace, &mut again)
                    .expect("what was decoded is encoded");
                let again =
                    decode(&chain, &again, n, &mut workspace).expect("what was encoded is decoded");
                assert_eq!(again, decoded);
            }
        }
    }
}

/// Decodes all elements, to native byte order.
fn decode(
    chain: &CodecChain,
    encoded: &[u8],
    n: u64,
    workspace: &mut Workspace,
) -> Result<Vec<u8>, CodecError> {
    let mut decoded = Vec::new();
    chain.decode(encoded, &[n], workspace, |elements, layout| {
        let Elements::Fixed { bytes, size } = elements else {
            panic!("integers have a fixed size")
        };
        assert_eq!(bytes.len(), n as usize * size);
        decoded = bytes.to_vec();
        layout.swap.apply(&mut decoded);
        Ok::<_, CodecError>(())
    })?;
    Ok(decoded)
}

/// Decodes the first half of the elements, to native byte order.
fn decode_half(
    chain: &CodecChain,
    encoded: &[u8],
    n: u64,
    workspace: &mut Workspace,
) -> Result<Vec<u8>, CodecError> {
    let half = n as usize / 2;
    let mut decoded = Vec::new();
    chain.decode_window(encoded, &[n], &[0..half], workspace, |elements, layout| {
        let Elements::Fixed { bytes, size } = elements else {
            panic!("integers have a fixed size")
        };
        assert_eq!(bytes.len(), n as usize * size);
        decoded = bytes[..half * size].to_vec();
        layout.swap.apply(&mut decoded);
        Ok::<_, CodecError>(())
    })?;
    Ok(decoded)
}
