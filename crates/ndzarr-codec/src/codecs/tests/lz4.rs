//! Tests lz4 and its framings in N5.

use super::vectors::{check, refuse};
use super::*;

#[test]
fn v2_t31_lz4() {
    // V2-T31
    check(&LZ4, "180000001e610100506161616161", &[b'a'; 24]);
    check(&LZ4, "0300000030616263", b"abc");
    refuse(&LZ4, "170000001e610100506161616161", 24);
    refuse(&LZ4, "190000001e610100506161616161", 25);
    refuse(&LZ4, "180000001e6101005061616161", 24);
    refuse(&LZ4, "180000001e61010050616161616161", 24);
    refuse(&LZ4, "0000000000", 0);
    refuse(&LZ4, "ffffffff1e610100506161616161", 24);
    refuse(&LZ4, "0000007e30616263", 3);
    assert_eq!(
        encoded(&LZ4, &[b'a'; 24]),
        hex("180000001e610100506161616161")
    );
    assert_eq!(encoded(&LZ4, b"abc"), hex("0300000030616263"));
    let nothing = codec(&LZ4).encode(b"", &mut Vec::new(), &mut Workspace::new());
    assert!(matches!(nothing, Err(CodecError::Encode { .. })));
    // An acceleration of 0 and below means 1.
    let slow = CodecConfig::Lz4 { acceleration: -7 };
    assert_eq!(encoded(&slow, &[b'a'; 24]), encoded(&LZ4, &[b'a'; 24]));
}

const JAVA: &str = "4c5a34426c6f636b 16 0c000000 0c000000 90258b06 000100020003000400050006";
const JAVA_END: &str = "4c5a34426c6f636b 16 00000000 00000000 00000000";

#[test]
fn n5_lz4_reads_four_framings() {
    let values = hex("000100020003000400050006");
    let java = format!("{JAVA}{JAVA_END}");
    check(&N5_LZ4, &java, &values);
    assert_eq!(encoded(&N5_LZ4, &values), hex(&java));
    check(&N5_LZ4, JAVA_END, b"");
    // rust-n5 (frame), zarr 2 (length and block), z5 (bare block).
    let other = hex("000100020003000600070008");
    check(
        &N5_LZ4,
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37c8",
        &other,
    );
    check(
        &N5_LZ4,
        "04224d186440a70c000080000100020003000400050006 00000000 41373308",
        &values,
    );
    check(&N5_LZ4, "0c000000c0000100020003000600070008", &other);
    let bare = hex("c0000100020003000600070008");
    assert_eq!(exact(&N5_LZ4, &bare, 12).as_deref().ok(), Some(&other[..]));
    grown(&N5_LZ4, &bare, 12).expect_err("nothing says that it is whole");
    // A truncated frame, one with trailing bytes, one with changed content or checksum.
    for broken in [
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37",
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37c800",
        "04224d187440bd0c000080000100020003000600070009258e37c800000000258e37c8",
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37c9",
        "04224d187440be0c000080000100020003000600070008258e37c800000000258e37c8",
    ] {
        refuse(&N5_LZ4, broken, 12);
    }
}

#[test]
fn n5_lz4_checks_each_sub_block() {
    // uint8 20x10, byte i = i / 20, compressed.
    let compressed = "4c5a34426c6f636b 26 37000000 c8000000 b5a9eb08 \
        1f000100001f010100001f020100001f030100001f040100001f050100001f060100001f070100001f080100001a0901005009090909 09";
    let values: Vec<u8> = (0..200).map(|i| i / 20).collect();
    check(&N5_LZ4, &format!("{compressed}{JAVA_END}"), &values);
    assert_eq!(
        encoded(&N5_LZ4, &values),
        hex(&format!("{compressed}{JAVA_END}"))
    );
    let small = CodecConfig::N5Lz4 { block_size: 64 };
    let chunk = encoded(&small, &values);
    // Sub-blocks of 64, 64, 64 and 8 bytes, the last stored (n5_vectors.tsv, comp/lz4_64).
    assert!(chunk.starts_with(&hex(
        "4c5a34426c6f636b 20 14000000 40000000 fd93ef03 1f00010000"
    )));
    assert!(chunk.ends_with(&hex(
        "4c5a34426c6f636b 10 08000000 08000000 5b70d40b 0909090909090909 4c5a34426c6f636b10 000000000000000000000000"
    )));
    // z5's level is not a block size.
    assert_eq!(
        encoded(&CodecConfig::N5Lz4 { block_size: 6 }, &values),
        encoded(&N5_LZ4, &values)
    );
    for broken in [
        JAVA.to_owned(),                                                 // no end mark
        format!("{JAVA}{JAVA_END}00"),                                   // something after it
        format!("{JAVA}4c5a34426c6f636b 16 00000000 00000000 01000000"), // a checksum in it
        format!("{JAVA}4c5a34426c6f636b 26 00000000 00000000 00000000"), // compressed nothing
        format!("{JAVA}4c5a34426c6f636b 36 00000000 00000000 00000000"), // unknown method
        format!("{JAVA}4c5a34426c6f636c 16 00000000 00000000 00000000"), // magic
        format!(
            "4c5a34426c6f636b 16 0c000000 0c000000 90258b16 000100020003000400050006{JAVA_END}"
        ), // checksum
        format!(
            "4c5a34426c6f636b 16 0c000000 0d000000 90258b06 000100020003000400050006{JAVA_END}"
        ), // lengths
        format!(
            "4c5a34426c6f636b 16 0c000000 00000000 90258b06 000100020003000400050006{JAVA_END}"
        ),
        format!("4c5a34426c6f636b 26 01000000 00010000 90258b06 00{JAVA_END}"), // more than LZ4 can hold
        format!(
            "4c5a34426c6f636b 20 0c000000 01040000 90258b06 000100020003000400050006{JAVA_END}"
        ), // level
        format!(
            "4c5a34426c6f636b 2f ffffffff 00000002 90258b06 000100020003000400050006{JAVA_END}"
        ),
    ] {
        refuse(&N5_LZ4, &broken, 12);
    }
}
