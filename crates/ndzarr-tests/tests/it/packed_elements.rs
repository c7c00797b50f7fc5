//! Elements as packed bytes: short byte strings, structures of odd sizes, and types that not all
//! bytes are of.

use ndarray::{Array2, Array3, Dimension, arr0, array};
use ndzarr::{
    AnyArray, AnyElements, DataType, Endian, Error, ErrorKind, Field, Format, MemoryStore, Points,
    StructType, codec,
};

type Outcome = Result<(), ndzarr::Error>;

/// The element at a place: shorter than its type now and then, with NULs after it.
fn element(y: usize, x: usize, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    bytes[..1 + (y + x) % size].fill(1 + (7 * y + x) as u8);
    bytes
}

/// The elements, one by one.
fn rows<D: Dimension>(elements: &AnyElements<D>, size: usize) -> Vec<Vec<u8>> {
    let AnyElements::Packed(array) = elements else {
        return Vec::new();
    };
    let bytes: Vec<u8> = array.iter().copied().collect();
    bytes.chunks_exact(size).map(<[u8]>::to_vec).collect()
}

fn filled(size: usize, data_type: DataType) -> Result<AnyArray, ndzarr::Error> {
    let any = AnyArray::builder([5, 7])
        .chunks([2, 3])
        .data_type(data_type)
        .codecs([codec::gzip(1)]);
    let any = any.create((MemoryStore::new(), "a"))?;
    let all: Vec<u8> = (0..35)
        .flat_map(|at| element(at / 7, at % 7, size))
        .collect();
    any.write_bytes(.., &all)?;
    Ok(any)
}

/// As many bytes, as fields of a structure.
fn fields(size: usize) -> DataType {
    let fields = (0..size).map(|at| Field::new(format!("f{at}"), DataType::UInt { bits: 8 }));
    DataType::Struct(StructType::new(fields).expect("names that differ"))
}

/// What NumPy takes of it, place by place.
#[test]
fn every_selection_gives_elements_of_full_length() -> Outcome {
    let sizes = [1, 3, 4, 5, 16];
    let all = sizes.map(|size| {
        [
            (size, DataType::FixedBytes { bytes: size }),
            (size, fields(size)),
        ]
    });
    for (size, data_type) in all.into_iter().flatten() {
        let is_packed = matches!(data_type, DataType::Struct(_));
        let any = filled(size, data_type)?;
        let of = |places: &[(usize, usize)]| -> Vec<u8> {
            places
                .iter()
                .flat_map(|&(y, x)| element(y, x, size))
                .collect()
        };
        let lists = (vec![3, 0, 3], vec![6, 2]);
        let of_lists = of(&[(3, 6), (3, 2), (0, 6), (0, 2), (3, 6), (3, 2)]);
        assert_eq!(any.read_bytes(&lists)?, of_lists, "{size}");
        let points = Points::new([[4, 6], [0, 0], [4, 6], [1, 3]]);
        let of_points = of(&[(4, 6), (0, 0), (4, 6), (1, 3)]);
        assert_eq!(any.read_bytes(&points)?, of_points, "{size}");
        let mask = Array2::from_shape_fn((5, 7), |(y, x)| y == x);
        let of_mask = of(&[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
        assert_eq!(any.read_bytes(&mask)?, of_mask, "{size}");
        if !is_packed {
            continue;
        }
        let packed = |bytes: &[u8]| {
            bytes
                .chunks_exact(size)
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        };
        let many = any.read_many([&lists, &(vec![1, 2], vec![5])])?;
        assert_eq!(
            (many[0].shape(), rows(&many[0], size)),
            (&[3, 2][..], packed(&of_lists)),
            "{size}"
        );
        assert_eq!(
            (many[1].shape(), rows(&many[1], size)),
            (&[2, 1][..], packed(&of(&[(1, 5), (2, 5)])))
        );
        assert_eq!(
            rows(&any.read_many([&points])?[0], size),
            packed(&of_points),
            "{size}"
        );
        assert_eq!(
            rows(&any.read_many([&mask])?[0], size),
            packed(&of_mask),
            "{size}"
        );
    }
    Ok(())
}

/// Along the other axes there is more than ndarray can address, even of no elements.
#[test]
fn a_list_of_none_of_too_many_is_an_error() -> Outcome {
    let huge = 1_u64
        << if cfg!(target_pointer_width = "64") {
            40
        } else {
            20
        };
    let any = AnyArray::builder([4, huge, huge])
        .data_type(fields(3))
        .chunks([1, 1 << 10, 1 << 10]);
    let any = any
        .codecs([codec::gzip(1)])
        .create((MemoryStore::new(), "a"))?;
    let none = (Vec::<i64>::new(), .., ..);
    assert_eq!(
        any.read_bytes(&none).expect_err("too large").kind(),
        ErrorKind::OutOfMemory
    );
    assert_eq!(
        any.read_many([&none]).expect_err("too large").kind(),
        ErrorKind::OutOfMemory
    );
    let one = AnyArray::builder([4, 3])
        .data_type(fields(3))
        .create((MemoryStore::new(), "a"))?;
    assert!(one.read_bytes((Vec::<i64>::new(), ..))?.is_empty());
    assert!(
        matches!(&one.read_many([(Vec::<i64>::new(), ..)])?[0], AnyElements::Packed(a) if a.is_empty())
    );
    Ok(())
}

/// Indices that repeat select more than any memory holds, of few elements; what is written has no
/// memory of its own, either.
#[test]
fn lists_that_repeat_too_often_are_an_error() -> Outcome {
    for n_lists in [3, 4] {
        let any = AnyArray::builder([2; 4]).data_type(DataType::UInt { bits: 16 });
        let any = any.create((MemoryStore::new(), "a"))?;
        let array = any.clone().typed::<u16>()?;
        let list: Vec<i64> = [1, 0].repeat(1 << 15);
        let one: Vec<i64> = vec![1];
        let lists = [&list, &list, &list, if n_lists == 4 { &list } else { &one }];
        let selection = (lists[0], lists[1], lists[2], lists[3]);
        let too_large = |error: Error| assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        too_large(array.read(selection).expect_err("too large"));
        too_large(array.read_many([selection]).expect_err("too large"));
        too_large(any.read_bytes(selection).expect_err("too large"));
        // ndarray has no views of 2^64 elements.
        if let Some(data) = arr0(7_u16).broadcast(lists.map(Vec::len)) {
            array.write(selection, &data)?;
            assert_eq!(
                array.read((.., .., .., 1))?,
                arr0(7).broadcast([2; 3]).expect("it is one value")
            );
        }
    }
    Ok(())
}

/// Structures whose fields are turned one by one, read at points.
#[test]
fn points_of_structures_are_in_native_order() -> Outcome {
    let fields = [
        Field::new("n", DataType::UInt { bits: 16 }),
        Field::new("x", DataType::UInt { bits: 8 }),
    ];
    let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    let any = AnyArray::builder([3])
        .format(Format::Zarr2)
        .endian(Endian::Big)
        .data_type(data_type);
    let any = any.codecs([]).create((MemoryStore::new(), "a"))?;
    let element = |n: u16| [&n.to_ne_bytes()[..], &[9]].concat();
    any.write_bytes(.., &[element(1), element(0x203), element(4)].concat())?;
    assert_eq!(
        any.units().encoded(&[0])?.as_deref(),
        Some(&[0, 1, 9, 2, 3, 9, 0, 4, 9][..])
    );
    assert_eq!(
        any.read_bytes(Points::new([[1], [0]]))?,
        [element(0x203), element(1)].concat()
    );
    assert_eq!(
        any.read_bytes(array![true, false, true])?,
        [element(1), element(4)].concat()
    );
    Ok(())
}

/// A byte that is not a boolean is an error only where it is selected.
#[test]
fn points_are_checked() -> Outcome {
    let memory = MemoryStore::new();
    let any = AnyArray::builder([4])
        .data_type(DataType::Bool)
        .codecs([])
        .create((&memory, "a"))?;
    memory.set("a/c/0", vec![1, 0, 2, 1])?;
    assert_eq!(any.read_bytes(Points::new([[3], [1]]))?, [1, 0]);
    assert_eq!(any.read_bytes(array![true, true, false, true])?, [1, 0, 1]);
    let error = any
        .read_bytes(Points::new([[0], [2]]))
        .expect_err("2 is none");
    assert!(
        error.to_string().contains("[2]") && error.to_string().contains("a/c/0"),
        "{error}"
    );
    Ok(())
}

/// More than a million of them, which are taken chunk by chunk.
#[test]
fn large_masks_select_packed_elements() -> Outcome {
    let shape = [64, 130, 150];
    let data_type = fields(3);
    let any = AnyArray::builder(shape)
        .chunks([32, 50, 64])
        .shards([64, 150, 192])
        .data_type(data_type);
    let any = any
        .codecs([codec::gzip(1)])
        .create((MemoryStore::new(), "a"))?;
    let all: Vec<u8> = (0..64 * 130 * 150_u32)
        .flat_map(|at| [at as u8 | 1, (at >> 8) as u8, 0])
        .collect();
    any.write_bytes([0..64, 0..130, 0..100], &part(&all))?;
    let mask = Array3::from_shape_fn((64, 130, 150), |(z, y, x)| (z + y + x) % 8 != 0);
    let expected: Vec<u8> = mask
        .indexed_iter()
        .zip(all.chunks_exact(3))
        .filter(|((_, selected), _)| **selected)
        .flat_map(|(((_, _, x), _), element)| {
            if x < 100 {
                element.to_vec()
            } else {
                vec![0; 3]
            }
        })
        .collect();
    assert!(expected.len() > 3 << 20);
    assert!(any.read_bytes(&mask)? == expected);
    let many = any.read_many([&mask])?;
    assert!(matches!(&many[0], AnyElements::Packed(found) if found.iter().eq(&expected)));
    Ok(())
}

/// The elements of the first 100 columns.
fn part(all: &[u8]) -> Vec<u8> {
    all.chunks_exact(150 * 3)
        .flat_map(|row| row[..300].to_vec())
        .collect()
}
