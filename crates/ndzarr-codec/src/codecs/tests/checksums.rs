//! Tests checksums.

use super::vectors::{check, refuse};
use super::*;

#[test]
fn crc32c() {
    check(&CRC32C, "0102 529ff803", &[1, 2]);
    check(&CRC32C, "313233343536373839 839206e3", b"123456789");
    check(&CRC32C, "00000000", b"");
    let start = CodecConfig::Crc32c {
        location: ChecksumLocation::Start,
    };
    check(&start, "839206e3 313233343536373839", b"123456789");
    assert_eq!(encoded(&CRC32C, &[1, 2]), hex("0102529ff803"));
    assert_eq!(
        encoded(&start, b"123456789"),
        hex("839206e3 313233343536373839")
    );
    refuse(&CRC32C, "0102 529ff804", 2);
    refuse(&CRC32C, "529ff8", 0);
    refuse(&start, "839206e4 313233343536373839", 9);
    assert_eq!(codec(&CRC32C).encoded_len(32), Some(36));
}

#[test]
fn checksums_v2_t37_v2_t38() {
    let digits = b"123456789";
    let of = |make: fn(ChecksumLocation) -> CodecConfig, location| encoded(&make(location), digits);
    let crc32 = |location| CodecConfig::Crc32 { location };
    let adler32 = |location| CodecConfig::Adler32 { location };
    let crc32c = |location| CodecConfig::Crc32c { location };
    for (make, sum) in [
        (crc32 as fn(_) -> _, "2639f4cb"),
        (adler32, "de011e09"),
        (crc32c, "839206e3"),
    ] {
        assert_eq!(
            of(make, ChecksumLocation::Start),
            [&hex(sum)[..], digits].concat()
        );
        assert_eq!(
            of(make, ChecksumLocation::End),
            [digits, &hex(sum)[..]].concat()
        );
    }
    for (content, sum) in [
        (&b"abcde"[..], "c729f04f"),
        (b"abcdef", "2d2a5650"),
        (&[0, 0, 1, 0, 2, 0, 3, 0], "0006000a"),
    ] {
        assert_eq!(
            encoded(&CodecConfig::Fletcher32, content),
            [content, &hex(sum)].concat()
        );
    }
    let score = b"Four score and seven years ago";
    for (initval, sum) in [(0, "51057717"), (1, "618162cd")] {
        let config = CodecConfig::JenkinsLookup3 { initval };
        assert_eq!(encoded(&config, score), [&score[..], &hex(sum)].concat());
    }
    // V2-T38
    assert_eq!(
        encoded(&CodecConfig::JenkinsLookup3 { initval: 0 }, b""),
        hex("efbeadde")
    );
    assert_eq!(
        encoded(&CodecConfig::JenkinsLookup3 { initval: 1 }, b""),
        hex("f0beadde")
    );
    codec(&CodecConfig::Fletcher32)
        .encode(b"", &mut Vec::new(), &mut Workspace::new())
        .expect_err("numcodecs cannot");
    // Longer than the runs that they work in; expected values from Python's zlib.
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(
        encoded(&crc32(ChecksumLocation::Start), &content)[..4],
        hex("c94fcfaa")
    );
    assert_eq!(
        encoded(&adler32(ChecksumLocation::Start), &content)[..4],
        hex("0f7a6561")
    );
}
