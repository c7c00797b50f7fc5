//! Masks of more than a million elements, which are taken chunk by chunk.

use ndarray::{Array1, Array3, ArrayD, s};
use ndzarr::{Array, Format, MemoryStore, Storage, asynchronous, codec};
use ndzarr_testkit::{CountingStore, block_on};

const SHAPE: [usize; 3] = [67, 130, 181];

/// Four of five elements, none of them in the first chunk.
fn mask() -> Array3<bool> {
    let in_first = |z, y, x| z < 32 && y < 50 && x < 64;
    Array3::from_shape_fn(SHAPE, |(z, y, x)| {
        !in_first(z, y, x) && (7 * z + 3 * y + x) % 5 != 0
    })
}

fn made(storage: &Storage, format: Format, shards: bool) -> (Array<u16>, ArrayD<u16>) {
    let builder = Array::<u16>::builder(&SHAPE[..])
        .chunks([32, 50, 64])
        .format(format)
        .codecs([codec::gzip(1)]);
    let builder = if shards {
        builder.shards([64, 100, 128])
    } else {
        builder
    };
    let array = builder.create((storage, "a")).expect("it is new");
    let elements =
        Array3::from_shape_fn(SHAPE, |(z, y, x)| (z * 1000 + y * 200 + x) as u16).into_dyn();
    array.write(.., &elements).expect("it is written");
    (array, elements)
}

fn selected(elements: &ArrayD<u16>, mask: &Array3<bool>) -> Vec<u16> {
    elements
        .iter()
        .zip(mask)
        .filter(|(_, selected)| **selected)
        .map(|(element, _)| *element)
        .collect()
}

#[test]
fn dense_masks_are_read_written_and_filled() {
    let mask = mask();
    assert!(mask.iter().filter(|selected| **selected).count() > 1 << 20);
    for (format, shards) in [(Format::Zarr3, true), (Format::N5, false)] {
        let storage = Storage::blocking(MemoryStore::new());
        let (array, mut elements) = made(&storage, format, shards);
        let expected = selected(&elements, &mask);
        assert_eq!(
            array.read(&mask).expect("a read").to_vec(),
            expected,
            "{format:?}"
        );
        let other = block_on(asynchronous::Array::<u16>::open((&storage, "a"))).expect("the array");
        assert_eq!(
            block_on(other.read(&mask)).expect("a read").to_vec(),
            expected
        );
        // Into every second element of an array, and together with another selection.
        let mut into = Array1::from_elem(2 * expected.len(), 7);
        array
            .read_into(&mask, &mut into.slice_mut(s![..;2]))
            .expect("a read");
        assert_eq!(into.slice(s![..;2]).to_vec(), expected);
        assert!(into.slice(s![1..;2]).iter().all(|&element| element == 7));
        let found = array
            .read_many(&[mask.clone(), Array3::from_elem(SHAPE, true)])
            .expect("a read");
        assert_eq!(found[0].to_vec(), expected);
        assert!(found[1].iter().eq(&elements));

        let values: Vec<u16> = (0..expected.len()).map(|n| (n % 65_521) as u16).collect();
        array.write(&mask, &values).expect("a write");
        let places = elements
            .iter_mut()
            .zip(&mask)
            .filter(|(_, selected)| **selected);
        places
            .zip(&values)
            .for_each(|((place, _), value)| *place = *value);
        assert_eq!(array.read(..).expect("a read"), elements, "{format:?}");
        array.fill(&mask, 9).expect("it is filled");
        let places = elements
            .iter_mut()
            .zip(&mask)
            .filter(|(_, selected)| **selected);
        places.for_each(|(place, _)| *place = 9);
        assert_eq!(array.read(..).expect("a read"), elements, "{format:?}");
    }
}

/// 3 x 3 x 3 chunks, of which one has no selected element.
#[test]
fn each_chunk_with_selected_elements_is_read_once() {
    let store = std::sync::Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(std::sync::Arc::clone(&store));
    let (array, elements) = made(&storage, Format::Zarr2, false);
    let mask = mask();
    assert_eq!(array.chunks_in(&mask).expect("it fits").len(), 26);
    store.reset();
    assert_eq!(
        array.read(&mask).expect("a read").to_vec(),
        selected(&elements, &mask)
    );
    assert_eq!(store.counts().fetches, 26);
}
