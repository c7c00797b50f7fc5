//! Every kind of selection by every call: blocking and asynchronous, typed, untyped and as bytes.

use ndarray::{ArrayD, IxDyn, s};
use ndzarr::{AnyArray, CodecRegistry, DataType, Format, Storage, codec};

use super::handle::{Handle, counted};
use super::model::{Chosen, NAMES, Pick};

pub(super) const SHAPE: [usize; 3] = [5, 7, 6];
pub(super) const CHUNK: [usize; 3] = [2, 3, 4];
const SHARD: [usize; 3] = [4, 6, 4];

/// Kinds of selections of an array of [`SHAPE`].
pub(super) fn chosen() -> Vec<Chosen> {
    let mask = |n: u32, len| (0..len).map(|at| n >> at & 1 == 1).collect::<Vec<_>>();
    let whole = |selected: fn(usize) -> bool| {
        let mut n = 0;
        let mask = ArrayD::from_shape_simple_fn(IxDyn(&SHAPE), || {
            n += 1;
            selected(n - 1)
        });
        Chosen::Mask(mask)
    };
    let slices = |slices: &[ndarray::SliceInfoElem]| Chosen::Slices(slices.to_vec());
    vec![
        Chosen::Lists(vec![vec![4, 0, 2], vec![-1, 3], vec![5, 0, 1, 2]]),
        // An index that repeats, the first and the last value of which are in different places.
        Chosen::Lists(vec![vec![1, 3, 1, 1], vec![6, 0, 6], vec![2, -4, 0]]),
        Chosen::Lists(vec![vec![0, 1, 2, 3, 4], vec![], vec![1]]),
        Chosen::Lists(vec![vec![], vec![], vec![]]),
        Chosen::Masks(vec![
            mask(0b10011, 5),
            mask(0b1010101, 7),
            mask(0b110000, 6),
        ]),
        Chosen::Masks(vec![mask(0b11111, 5), mask(0, 7), mask(0b1, 6)]),
        Chosen::Tuple(vec![3, 0, 3], 1..5, mask(0b101101, 6)),
        Chosen::Axes(vec![
            Pick::Index(-1),
            Pick::Range(-6, Some(-1), -2),
            Pick::List(vec![3, 3, 0]),
        ]),
        Chosen::Axes(vec![
            Pick::Mask(mask(0b01101, 5)),
            Pick::Index(2),
            Pick::Index(0),
        ]),
        Chosen::Ranges(vec![(0, None, -1), (1, Some(6), -2), (0, None, 3)]),
        Chosen::Ranges(vec![(1, Some(4), 1), (2, Some(2), 1), (0, None, -6)]),
        slices(s![1..4, .., ..].as_ref()),
        slices(s![-2, ..;-3, 4].as_ref()),
        slices(s![0, 6, -6].as_ref()),
        Chosen::Names(vec![
            ("x", Pick::List(vec![4, 1, 4])),
            ("t", Pick::Index(1)),
        ]),
        Chosen::Names(vec![
            ("y", Pick::Range(1, None, -2)),
            ("x", Pick::Mask(mask(0b100101, 6))),
        ]),
        Chosen::Names(vec![]),
        // In no order, with the first one again at the end.
        Chosen::Points(vec![
            vec![4, 6, 5],
            vec![0, 0, 0],
            vec![-1, 2, 1],
            vec![0, 1, 0],
            vec![4, 6, -1],
        ]),
        Chosen::Points(vec![]),
        Chosen::ByAxis(vec![vec![3, 0, 3, 3], vec![-1, 2, 6, 6], vec![0, 5, 0, 1]]),
        whole(|n| n * n % 7 == 2),
        whole(|n| n >= 100),
        whole(|_| true),
        whole(|_| false),
        Chosen::Blocks(vec![(1, 3), (0, 2), (1, 2)]),
        Chosen::Blocks(vec![(0, 3), (2, 3), (0, 0)]),
    ]
}

/// An array `a` of -1, -2, -3 …
pub(super) fn made(
    storage: &Storage,
    format: Format,
    sharded: bool,
    data_type: DataType,
) -> ArrayD<i32> {
    let builder = AnyArray::builder(&SHAPE[..])
        .chunks(CHUNK.map(|n| n as u64))
        .format(format);
    let builder = builder.data_type(data_type).codecs([codec::gzip(1)]);
    let builder = if sharded {
        builder.shards(SHARD.map(|n| n as u64))
    } else {
        builder
    };
    let named = matches!(format, Format::Zarr2 | Format::Zarr3 | Format::N5);
    let builder = if named {
        builder.dimension_names(NAMES)
    } else {
        builder
    };
    builder.create((storage, "a")).expect("a new array");
    let mut n = 0;
    let all = ArrayD::from_shape_simple_fn(IxDyn(&SHAPE), || {
        n -= 1;
        n
    });
    let (_, handle) = &Handle::all(storage, &CodecRegistry::new())[0];
    handle
        .write(&Chosen::Names(vec![]).or_whole(named), &all)
        .expect("a write");
    all
}

impl Chosen {
    /// All of an array, by names if it has any.
    fn or_whole(self, named: bool) -> Self {
        if named {
            self
        } else {
            Self::Ranges(vec![(0, None, 1); 3])
        }
    }
}

#[test]
fn every_kind_is_read_and_written_by_every_call() {
    let int32 = DataType::Int { bits: 32 };
    let raw = DataType::Raw { bytes: 3 };
    let layouts = [
        (Format::Zarr3, false, &int32),
        (Format::Zarr3, true, &int32),
        (Format::N5, false, &int32),
        (Format::Zarr2, false, &int32),
        (Format::DraftA, true, &int32),
        (Format::Zarr3, true, &raw),
    ];
    for (format, sharded, data_type) in layouts {
        for slow in [false, true] {
            let (storage, _) = counted(slow);
            let mut all = made(&storage, format, sharded, data_type.clone());
            let handles = Handle::all(&storage, &CodecRegistry::new());
            let whole = Chosen::Ranges(vec![(0, None, 1); 3]);
            for (name, handle) in &handles {
                for (n, chosen) in chosen().iter().enumerate() {
                    if matches!(chosen, Chosen::Names(_))
                        && handle.info().dimension_names().is_none()
                    {
                        continue;
                    }
                    let what = format!(
                        "{format}, sharded {sharded}, {data_type}, {slow}, {name}: {chosen:?}"
                    );
                    let taken = chosen.taken(&SHAPE, &CHUNK);
                    let expected = taken.of(&all);
                    assert_eq!(handle.read(chosen).expect(&what), expected, "{what}");
                    assert_eq!(
                        handle.read_into(chosen, &taken.shape).expect(&what),
                        expected,
                        "{what}"
                    );
                    let many = handle.read_many(&[chosen, &whole, chosen]).expect(&what);
                    assert_eq!(many, [expected.clone(), all.clone(), expected], "{what}");

                    let mut value = n as i32 * 1000;
                    handle.fill(chosen, -7 - value).expect(&what);
                    taken.put(&mut all, std::iter::repeat(&(-7 - value)));
                    assert_eq!(
                        handles[0].1.read(&whole).expect("a read"),
                        all,
                        "filled, {what}"
                    );
                    let values = ArrayD::from_shape_simple_fn(IxDyn(&taken.shape), || {
                        value += 1;
                        value
                    });
                    handle.write(chosen, &values).expect(&what);
                    taken.put(&mut all, &values);
                    assert_eq!(
                        handles[0].1.read(&whole).expect("a read"),
                        all,
                        "written, {what}"
                    );
                }
            }
        }
    }
}
