//! Traps of N5.

use ndarray::{Array2, array};
use ndzarr::{Array, EdgeBlocks, ErrorKind, Format, MemoryStore, N5Axes, s};
use serde_json::json;

use super::store::*;

/// Value 1 + x + 5 y over [5, 4] in blocks of [3, 2].
#[test]
fn n5_blocks_truncated_and_padded_in_both_axis_orders() {
    let header = "000000020000000300000002";
    for (edges, last) in [
        (
            EdgeBlocks::Truncated,
            "000000020000000200000002 000e000f00130014".to_owned(),
        ),
        (
            EdgeBlocks::Padded,
            format!("{header} 000e000f0000001300140000"),
        ),
    ] {
        for axes in [N5Axes::Native, N5Axes::Reversed] {
            let store = MemoryStore::new();
            let native = Array2::from_shape_fn((5, 4), |(x, y)| (1 + x + 5 * y) as u16);
            let (shape, chunks, values) = match axes {
                N5Axes::Native => ([5, 4], [3, 2], native.view()),
                N5Axes::Reversed => ([4, 5], [2, 3], native.t()),
            };
            let array = Array::<u16>::builder(shape)
                .chunks(chunks)
                .format(Format::N5)
                .n5_axes(axes)
                .edge_blocks(edges);
            let array = array.create((&store, "d")).expect("a new dataset");
            array.write(s![.., ..], &values).expect("a write");
            assert_eq!(
                stored(&store, "d/0/0"),
                Some(hex(&format!("{header} 000100020003000600070008")))
            );
            assert_eq!(
                stored(&store, "d/1/0"),
                Some(match edges {
                    EdgeBlocks::Truncated => hex("000000020000000200000002 000400050009000a"),
                    EdgeBlocks::Padded => hex(&format!("{header} 0004000500000009000a0000")),
                })
            );
            assert_eq!(stored(&store, "d/1/1"), Some(hex(&last)));
            let again = Array::<u16>::open((&store, "d")).expect("the dataset, native");
            assert_eq!(again.read(s![.., ..]).expect("a read"), native);
        }
    }
}

/// How readers treat a block header.
#[test]
fn n5_headers_that_do_not_fit() {
    let attributes = json!({"dataType": "uint16", "dimensions": [6], "blockSize": [3], "compression": {"type": "raw"}});
    let read = |block: &str| {
        let store = store(
            &[("d/attributes.json", attributes.clone())],
            &[("d/0", block)],
        );
        let array = Array::<u16>::open((&store, "d")).expect("a dataset");
        array
            .read(s![0..3])
            .map(|values| values.to_vec())
            .map_err(|error| {
                assert_eq!(
                    (error.key(), error.chunk()),
                    (Some("d/0"), Some(&[0][..])),
                    "{error:?}"
                );
                error.kind()
            })
    };
    assert_eq!(read("0000 0001 00000003 000100020003"), Ok(vec![1, 2, 3]));
    assert_eq!(
        read("0000 0001 00000002 00010002"),
        Ok(vec![1, 2, 0]),
        "smaller, not at the edge"
    );
    assert_eq!(read("0000 0001 00000000"), Ok(vec![0, 0, 0]), "a size of 0");
    assert_eq!(
        read("0001 0001 00000003 00000003 000100020003"),
        Ok(vec![1, 2, 3]),
        "mode 1 that fills its size"
    );
    for bad in [
        "",
        "0000 00",
        "0000 0001 000000",
        "0000 0001 00000003 0001000200",
        "0000 0001 00000003 00010002000300",
        "0000 0001 00000004 0001000200030004",
        "0000 0002 00000003 00000001 000100020003",
        "0000 0001 ffffffff 0001",
        "0002 00000003 090807",
        "0003 0001 00000003 000100020003",
    ] {
        assert_eq!(read(bad), Err(ErrorKind::Corrupt), "{bad}");
    }
    let other_count = "0001 0001 00000003 00000002 00010002";
    assert_eq!(
        read(other_count),
        Err(ErrorKind::Unsupported),
        "a valid block, and not one of an array"
    );
    // At the edge, elements outside the dimensions are dropped.
    let store = store(
        &[(
            "d/attributes.json",
            json!({"dataType": "uint8", "dimensions": [4], "blockSize": [3], "compression": {"type": "raw"}}),
        )],
        &[
            ("d/0", "0000 0001 00000003 010203"),
            ("d/1", "0000 0001 00000003 04ffff"),
        ],
    );
    assert_eq!(
        Array::<u8>::open((&store, "d"))
            .and_then(|a| a.read(s![..]))
            .expect("a read"),
        array![1, 2, 3, 4]
    );
}
