//! Chunks written by numcodecs 0.16.6 and (snappy) tensorstore 0.1.86, with their contents, and our
//! own read back.

use ndzarr_blosc::{
    Compress, Compressor, Error, Header, Shuffle, StreamFormat, compress, decompress,
};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).expect("a hex digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn decoded(chunk: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = vec![0xa5; Header::parse(chunk)?.nbytes()];
    decompress(chunk, &mut out)?;
    Ok(out)
}

/// 200 int32: `i // 25 * 1000`.
fn steps() -> Vec<u8> {
    (0..200i32)
        .flat_map(|i| (i / 25 * 1000).to_le_bytes())
        .collect()
}

/// 3000 int16: `i // 100`.
fn shorts() -> Vec<u8> {
    (0..3000i16).flat_map(|i| (i / 100).to_le_bytes()).collect()
}

/// `Blosc(cname, clevel=5, shuffle).encode(steps)`: compressor, shuffle, chunk. Those of snappy are
/// the chunk of a Zarr v2 array with the same compressor.
const STEPS: &[(StreamFormat, u8, &str)] = &[
    (
        StreamFormat::BloscLz,
        0,
        "0201000420030000200300006800000014000000110000002300000000e0570301e803e057030100001100000023d007\
         0000e0570301b80be057030100001100000023a00f0000e05703018813e05703010000110000002370170000e0570301\
         581be05703010000",
    ),
    (
        StreamFormat::BloscLz,
        1,
        "02010104200300002003000098000000140000002e0000002300000000e00c0300e8e00f0000d0e00f0000b8e00f0000\
         a0e00f000088e00f000070e00f000058e00d000158582e0000002300000000e00c030003e00f000007e00f00000be00f\
         00000fe00f000013e00f000017e00f00001be00d00011b1b0c0000002300000000e0b803020000000c00000023000000\
         00e0b80302000000",
    ),
    (
        StreamFormat::BloscLz,
        2,
        "020104042003000020030000e5000000140000005c0000002300000000e0410315feffff030000f8ffff0f0000e0ffff\
         3f000080ffffff805f03fcffffff601804000000c0ff60000000e0023103ffffff1f6018007f60210100fe6012000780\
         0c601800ff804a8018e00001063f0000000000004d00000024000000feffe00a0000ffe012181400000000fcffff0700\
         00f0ffff1f0000c0ffff7f00e001001100f8ffffffffff1f000000000080ffffff00e004000200e0ffa000e00618e031\
         01020000000c0000002300000000e0b803020000000c0000002300000000e0b80302000000",
    ),
    (
        StreamFormat::Lz4,
        0,
        "0201200420030000200300008900000014000000110000001f000100502fe80304004a5000e80300001c000000cfd007\
         0000d0070000d00700000c00452fb80b04004a5000b80b00001c000000cfa00f0000a00f0000a00f00000c00452f8813\
         04004a5000881300001c000000cf7017000070170000701700000c00452f581b04004a5000581b0000",
    ),
    (
        StreamFormat::Lz4,
        1,
        "02012104200300002003000096000000140000002e0000001f000100051fe80100051fd00100051fb80100051fa00100\
         051f880100051f700100051f580100005058585858582e0000001f000100051f030100051f070100051f0b0100051f0f\
         0100051f130100051f170100051f1b010000501b1b1b1b1b0b0000001f000100af5000000000000b0000001f000100af\
         500000000000",
    ),
    (
        StreamFormat::Lz4,
        2,
        "020124042003000020030000e800000014000000590000001f0001003af207feffff030000f8ffff0f0000e0ffff3f00\
         0080ffffff630020fcff0100110f0d0010c00b0028ffff3200c0ffffff1f0000c0ffff7f0000240011fe130010070b00\
         000200093200080200703f000000000000550000009c000000feffffffffff05000f190009f206000000fcffff070000\
         f0ffff1f0000c0ffff7f0000180000020011f84900101f0b00710080ffffff00000b0004020011e01f00000200041200\
         0f02002b5000000000000b0000001f000100af5000000000000b0000001f000100af500000000000",
    ),
    (
        StreamFormat::Lz4,
        0,
        "0201200420030000200300007100000014000000110000001f000100502fe80304004a5000e8030000140000004fd007\
         000004004d2fb80b04004a5000b80b0000140000004fa00f000004004d2f881304004a500088130000140000004f7017\
         000004004d2f581b04004a5000581b0000",
    ),
    (
        StreamFormat::Lz4,
        1,
        "02012104200300002003000096000000140000002e0000001f000100051fe80100051fd00100051fb80100051fa00100\
         051f880100051f700100051f580100005058585858582e0000001f000100051f030100051f070100051f0b0100051f0f\
         0100051f130100051f170100051f1b010000501b1b1b1b1b0b0000001f000100af5000000000000b0000001f000100af\
         500000000000",
    ),
    (
        StreamFormat::Lz4,
        2,
        "020124042003000020030000cd00000014000000510000001f0001003af207feffff030000f8ffff0f0000e0ffff3f00\
         0080ffffff1c0041fcffffff190041000000c00c0018ff320041ffffff1f1900157f4b0044ffffff075a000932000801\
         00703f000000000000420000005f000000feff0100010f190009f705000000fcffff070000f0ffff1f0000c0ffff7f00\
         010011f82800111f0c00158032000501001be04b000f01002d5000000000000b0000001f000100af5000000000000b00\
         00001f000100af500000000000",
    ),
    (
        StreamFormat::Zlib,
        0,
        "0201600420030000200300006d0000001400000010000000785e6360a03d78c14c7b0c00aa1516f413000000785ebbc0\
         cec07081c6780737ed3100559a280b13000000785e5bc0cfc0b080c6b84398f6180036fd203b13000000785e2b106760\
         28a0318e90a63d06001860186b",
    ),
    (
        StreamFormat::Zlib,
        1,
        "0201610420030000200300007a000000140000001f000000785e6360c0015ee0021770811db8c0025ca0031728c00522\
         70010004fc6d611f000000785e6360c001987101765c801b17e0c705847101715c401a17000075ce0a420c000000785e\
         6360181e000000c800010c000000785e6360181e000000c80001",
    ),
    (
        StreamFormat::Zlib,
        2,
        "020164042003000020030000b70000001400000044000000785e6360a026f8f7ff3f3303c38ffffff919181efcff6fcf\
         c0d0f0ffff7f88dc9fff20c00f661f00b3ff23eb000279b0443ddc28206087998ca20319d843e4017121419637000000\
         785e636060f8f71f1b60c02301047ffeff676760f8f0ffbf3c03c381ffffeb1990c00fb03a7930bb01ae030e1ea01945\
         150000eed148840c000000785e6360181e000000c800010c000000785e6360181e000000c80001",
    ),
    (
        StreamFormat::Zstd,
        0,
        "02019004200300002003000040000000140000002800000028b52ffd602002f50000800000e803d007b80ba00f881370\
         17581b086402c0c30129fffffffdbf08",
    ),
    (
        StreamFormat::Zstd,
        1,
        "02019104200300002003000046000000140000002e00000028b52ffd602002250100900000e8d0b8a08870580003070b\
         0f13171b00119810f8060010febfd1fbff198cdc0852",
    ),
    (
        StreamFormat::Zstd,
        2,
        "02019404200300002003000086000000140000006e00000028b52ffd602002250300d4020000feffff030000f8ffff0f\
         0000e0ffff3f000080fffffffcff0fc0ffffffff1f7fffffff073f070000f000e016a0d01605f7df6082334676d2a81c\
         75b0b8142743c98300eb3219b24c4f00e0e49ceab32e240735ebba96a9f694a2801e43122d3a",
    ),
    (
        StreamFormat::Snappy,
        0,
        "0201400420030000200300007d0000001400000014000000c8010000fe01008a010008e80300fe040082040017000000\
         c8010cd0070000fe04007e040008b80b00fe040082040017000000c8010ca00f0000fe04007e040008881300fe040082\
         040017000000c8010c70170000fe04007e040008581b00fe0400820400",
    ),
    (
        StreamFormat::Snappy,
        1,
        "02014104200300002003000096000000140000002a000000c80100005e010000e85e010000d05e010000b85e010000a0\
         5e010000885e010000705e010000585e01002a000000c80100005e010000035e010000075e0100000b5e0100000f5e01\
         0000135e010000175e0100001b5e01000f000000c8010000fe0100fe0100fe01000d010f000000c8010000fe0100fe01\
         00fe01000d01",
    ),
    (
        StreamFormat::Snappy,
        2,
        "020144042003000020030000df000000140000005b000000c8010000fe010032010054feffff030000f8ffff0f0000e0\
         ffff3f000080ffffff096304fcff0101000f050d00c0010b0519153210ffffff1f000119007f052201190cffffff0709\
         0d05190101000011191501183f00000000000042000000c80110000000feff4e01006e19004c000000fcffff070000f0\
         ffff1f0000c0ffff7f001d0100f80550001f05120880ffff014b2e010000e0051f01012e1600fa01000f000000c80100\
         00fe0100fe0100fe01000d010f000000c8010000fe0100fe0100fe01000d01",
    ),
];

/// `Blosc("lz4", clevel=9, shuffle=2, blocksize=1024).encode(shorts)`.
const SHORTS_BIT: &str = "020124027017000070170000ed00000014000000bb0000001700010027f0ff01000718000f1900ff4d0902000782010a\
         02000926000802000a27000702000825000902000724000a02000926000802000a27000702000825000902000724000a\
         02000926000802000a27000702000825000902000724000a02000926000f02002b0a59000f0200110f70001f0f560011\
         0a02000f64009c0faf001f0f02001f0a21010f0200430f96001f0f02001f0fba00380f7d001f0f0200830f1301380f02\
         00510f4501830f0200ffffffba500000000000160000001f000100ffffffffffffffffffffffaa500000000000";
/// `Blosc("blosclz", clevel=9, shuffle=1).encode(shorts)`.
const SHORTS_BLOSCLZ: &str = "020101027017000070170000ed00000014000000ba0000002300000000e05603010001e05900010102e05900010203e0\
         5900010304e05900010405e05900010506e05900010607e05900010708e05900010809e0590001090ae05900010a0be0\
         5900010b0ce05900010c0de05900010d0ee05900010e0fe05900010f10e05900011011e05900011112e05900011213e0\
         5900011314e05900011415e05900011516e05900011617e05900011718e05900011819e0590001191ae05900011a1be0\
         5900011b1ce05900011c1de05700021d1d1d170000002300000000e0ffffffffffffffffffffffb30302000000";

#[test]
fn chunks_of_numcodecs_decode() {
    let expected = steps();
    for &(format, _, chunk) in STEPS {
        let chunk = hex(chunk);
        let header = Header::parse(&chunk).expect("a header");
        assert_eq!(
            (header.format(), header.nbytes(), header.cbytes()),
            (format, 800, chunk.len())
        );
        assert!(
            decoded(&chunk).expect("it decodes") == expected,
            "{format:?}"
        );
    }
    assert_eq!(decoded(&hex(SHORTS_BIT)), Ok(shorts()));
    assert_eq!(decoded(&hex(SHORTS_BLOSCLZ)), Ok(shorts()));
}

#[test]
fn v2_110_t49_vectors_of_the_checklist() {
    // The second is V2-T49; the last is of N5 (bitshuffle, zstd).
    let ints: Vec<u8> = (0..4i32).flat_map(i32::to_le_bytes).collect();
    let memcpy = hex("0201330410000000100000002000000000000000010000000200000003000000");
    assert_eq!(decoded(&memcpy), Ok(ints.clone()));
    let zeros = hex("02013104900100009001000024000000140000000c0000001f000100ff78500000000000");
    assert_eq!(decoded(&zeros), Ok(vec![0; 400]));
    let pair = hex("020133040800000008000000180000000100000002000000");
    assert_eq!(decoded(&pair), Ok(vec![1, 0, 0, 0, 2, 0, 0, 0]));
    let n5 = hex("020196020c0000000c0000001c000000000100020003000400050006");
    assert_eq!(decoded(&n5), Ok(vec![0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]));
    // The same c-blosc writes the same bytes.
    let parameters = Compress {
        typesize: 4,
        ..Compress::default()
    };
    let mut out = Vec::new();
    compress(&ints, &parameters, &mut out).expect("it encodes");
    assert_eq!(out, memcpy);
    compress(&[0; 400], &parameters, &mut out).expect("it encodes");
    assert_eq!(out, zeros);
}

#[test]
fn v2_t55_large_elements_are_stored_as_bytes() {
    // V2-T55: Blosc("lz4").encode(np.zeros(2, "V300")).
    let chunk = hex("02012101580200005802000025000000140000000d0000001f000100ffff41500000000000");
    assert_eq!(Header::parse(&chunk).map(|header| header.typesize()), Ok(1));
    assert_eq!(decoded(&chunk), Ok(vec![0; 600]));
}

#[test]
fn what_is_encoded_decodes() {
    let mut data = steps();
    data.extend(shorts());
    // Some incompressible bytes, so that single streams are stored.
    data.extend((0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8));
    for compressor in [
        Compressor::BloscLz,
        Compressor::Lz4,
        Compressor::Lz4hc,
        Compressor::Snappy,
        Compressor::Zlib,
        Compressor::Zstd,
    ] {
        for shuffle in [Shuffle::None, Shuffle::Byte, Shuffle::Bit] {
            for (level, typesize, blocksize) in [
                (0, 4, 0),
                (5, 1, 0),
                (5, 2, 0),
                (9, 7, 1000),
                (1, 16, 4096),
                (5, 255, 0),
            ] {
                for len in [0, 1, 15, 127, 128, 129, 1000, data.len()] {
                    let parameters = Compress {
                        compressor,
                        level,
                        shuffle,
                        typesize,
                        blocksize,
                    };
                    let mut chunk = vec![1, 2, 3];
                    compress(&data[..len], &parameters, &mut chunk).expect("it encodes");
                    assert!(
                        decoded(&chunk).as_deref() == Ok(&data[..len]),
                        "{parameters:?} {len}"
                    );
                }
            }
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let good = Compress::default();
    for bad in [
        Compress { level: 10, ..good },
        Compress {
            typesize: 0,
            ..good
        },
        Compress {
            typesize: 256,
            ..good
        },
    ] {
        assert!(
            matches!(compress(&[1], &bad, &mut Vec::new()), Err(Error::Input(_))),
            "{bad:?}"
        );
    }
    compress(
        &[1; 300],
        &Compress {
            blocksize: usize::MAX,
            ..good
        },
        &mut Vec::new(),
    )
    .expect("it is cut");
}

/// c-blosc decodes no snappy here, so the layout is compared: header, number of streams, and their
/// order.
#[test]
fn snappy_is_laid_out_as_by_c_blosc() {
    for &(_, shuffle, theirs) in STEPS
        .iter()
        .filter(|(format, ..)| *format == StreamFormat::Snappy)
    {
        let theirs = hex(theirs);
        let shuffle = [Shuffle::None, Shuffle::Byte, Shuffle::Bit][usize::from(shuffle)];
        let parameters = Compress {
            compressor: Compressor::Snappy,
            shuffle,
            typesize: 4,
            ..Compress::default()
        };
        let mut chunk = Vec::new();
        compress(&steps(), &parameters, &mut chunk).expect("it encodes");
        assert_eq!(chunk[..12], theirs[..12], "{shuffle:?}");
        assert_eq!(
            contents_of_snappy(&chunk),
            contents_of_snappy(&theirs),
            "{shuffle:?}"
        );
    }
}

/// The content of each stream of a chunk of one block of four.
fn contents_of_snappy(chunk: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &chunk[20..];
    let mut contents = Vec::new();
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        let (stream, tail) = tail.split_at(u32::from_le_bytes(*len) as usize);
        contents.push(match stream.len() {
            200 => stream.to_vec(),
            _ => snap::raw::Decoder::new()
                .decompress_vec(stream)
                .expect("it is snappy"),
        });
        rest = tail;
    }
    contents
}

#[test]
fn a_snappy_stream_that_is_longer_than_its_content_decodes() {
    // c-blosc keeps snappy's output for noise although it is longer: 200 bytes are a literal after
    // 3 bytes.
    let content: Vec<u8> = (0..200u8).collect();
    let stream = [&[0xc8, 0x01, 60 << 2, 199][..], &content].concat();
    let mut chunk = vec![2, 1, 0x50, 1];
    for n in [200, 200, 24 + stream.len() as u32, 20, stream.len() as u32] {
        chunk.extend(n.to_le_bytes());
    }
    chunk.extend(&stream);
    assert_eq!(decoded(&chunk), Ok(content));
}
