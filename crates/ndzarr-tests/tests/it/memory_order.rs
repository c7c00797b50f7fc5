//! Results in the order in which chunks are stored.

use ndarray::{Array3, ArrayD, NewAxis, ShapeBuilder};
use ndzarr::{
    AnyArray, AnyElements, Array, ArrayBuilder, Format, MemoryStore, Order, Result, RunOptions,
    asynchronous, codec, s,
};
use ndzarr_testkit::block_on;
use serde_json::json;

const SHAPE: [usize; 3] = [5, 6, 7];

/// Arrays, and their axes in the order in which they are stored: the last varies fastest.
fn arrays() -> Vec<(&'static str, ArrayBuilder<u16>, [usize; 3])> {
    let plain = |format| {
        Array::<u16>::builder([5, 6, 7])
            .chunks([2, 3, 4])
            .format(format)
    };
    let v3 = || plain(Format::Zarr3);
    let inner = json!({"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 2, 3],
        "codecs": [{"name": "transpose", "configuration": {"order": [2, 1, 0]}}, {"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}});
    vec![
        ("C", v3(), [0, 1, 2]),
        (
            "v2 F",
            plain(Format::Zarr2)
                .order(Order::F)
                .codecs([codec::gzip(1)]),
            [2, 1, 0],
        ),
        (
            "transposed",
            v3().codecs([codec::transpose([1, 2, 0])]),
            [1, 2, 0],
        ),
        (
            "F",
            v3().codecs([codec::transpose([2, 1, 0]), codec::zstd(1)]),
            [2, 1, 0],
        ),
        (
            "shards",
            v3().shards([4, 6, 8]).codecs([codec::transpose([2, 0, 1])]),
            [2, 0, 1],
        ),
        // Stored axes 2, 0, 1 of the array; of these 2, 1, 0: axes 1, 0, 2.
        (
            "shards in a transpose",
            Array::<u16>::builder([5, 6, 7])
                .chunks([4, 6, 4])
                .codecs_json(
                    json!([{"name": "transpose", "configuration": {"order": [2, 0, 1]}}, inner]),
                ),
            [1, 0, 2],
        ),
        ("n5", plain(Format::N5), [2, 1, 0]),
    ]
}

fn model() -> Array3<u16> {
    let mut n = 0;
    Array3::from_shape_simple_fn(SHAPE, || {
        n += 1;
        n
    })
}

/// True if elements lie in memory without gaps in the order of these axes.
fn lies_by<T>(a: &ArrayD<T>, order: &[usize]) -> bool {
    a.view().permuted_axes(order.to_vec()).is_standard_layout()
}

#[test]
fn results_lie_as_they_are_stored_if_asked_for() -> Result<()> {
    let model = model();
    for (name, builder, order) in arrays() {
        let a = builder.create((MemoryStore::new(), "a"))?;
        a.write(.., &model)?;
        assert!(a.read(..)?.is_standard_layout(), "{name}");
        let a = a.with_options(RunOptions::default().stored_order());
        let read = a.read(..)?;
        assert_eq!(read, model.clone().into_dyn(), "{name}");
        assert!(lies_by(&read, &order), "{name}: {:?}", read.strides());
        let part = a.read(s![1..5; 2, ..;-1, 2..6])?;
        assert_eq!(
            part,
            model.slice(ndarray::s![1..5;2, ..;-1, 2..6]),
            "{name}"
        );
        assert!(lies_by(&part.into_dyn(), &order), "{name}");
        // Without the second axis.
        let plane = a.read((.., 2, ..))?;
        assert_eq!(plane, model.slice(ndarray::s![.., 2, ..]), "{name}");
        let left: Vec<usize> = order
            .iter()
            .filter(|axis| **axis != 1)
            .map(|axis| axis / 2)
            .collect();
        assert!(lies_by(&plane.into_dyn(), &left), "{name}");
        assert_eq!(
            a.read(s![3, NewAxis, .., 1])?,
            model.slice(ndarray::s![3, NewAxis, .., 1]),
            "{name}"
        );
        // Lists, in C order.
        let listed = a.read((vec![4, 0, 4], .., 1))?;
        assert_eq!(
            listed,
            model
                .select(ndarray::Axis(0), &[4, 0, 4])
                .slice(ndarray::s![.., .., 1]),
            "{name}"
        );
        for chunk in a.chunks() {
            let read = a.read_chunk(&chunk.index)?;
            assert!(lies_by(&read, &order), "{name}");
            assert_eq!(
                read,
                a.clone().with_options(RunOptions::default()).read(&chunk)?,
                "{name}"
            );
        }
        let many = a.read_many([[0..2, 0..6, 0..7], [3..5, 1..6, 0..2]])?;
        assert!(
            many.iter()
                .all(|read| lies_by(&read.clone().into_dyn(), &order)),
            "{name}"
        );
        assert_eq!(
            many[1],
            model.slice(ndarray::s![3..5, 1..6, 0..2]),
            "{name}"
        );
        let future = asynchronous::Array::from(a.clone());
        let read = block_on(future.read(..))?;
        assert!(
            read == model.clone().into_dyn() && lies_by(&read, &order),
            "{name}"
        );
        let AnyElements::UInt16(any) = AnyArray::from(a.clone()).read(..)? else {
            panic!("{name}")
        };
        assert!(any == read && lies_by(&any, &order), "{name}");
        // Packed elements are in C order.
        let bytes: Vec<u8> = model.iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(AnyArray::from(a.clone()).read_bytes(..)?, bytes, "{name}");
        // Into memory in either order.
        let mut f = Array3::<u16>::zeros(SHAPE.f());
        a.read_into(.., &mut f)?;
        assert_eq!(f, model, "{name}");
    }
    Ok(())
}

#[test]
fn elements_of_any_length_lie_as_they_are_stored() -> Result<()> {
    let texts = Array::<String>::builder([3, 4])
        .chunks([2, 2])
        .codecs([codec::transpose([1, 0])]);
    let texts = texts.create((MemoryStore::new(), "a"))?;
    let model = ndarray::Array2::from_shape_fn((3, 4), |(y, x)| format!("{y}{x}"));
    texts.write(.., &model)?;
    let read = texts
        .with_options(RunOptions::default().stored_order())
        .read(..)?;
    assert_eq!(read, model.into_dyn());
    assert_eq!(read.strides(), [1, 3]);
    Ok(())
}
