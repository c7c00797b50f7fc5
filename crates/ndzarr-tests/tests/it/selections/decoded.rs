//! Each chunk with selected elements is fetched and decoded once; of a shard only such inner
//! chunks.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ndarray::{Array3, ArrayD, IxDyn};
use ndzarr::codec::{BytesToBytes, CodecError, CodecSpec, Dst, Workspace};
use ndzarr::{Array, CodecRegistry, Format, Storage, codec};
use ndzarr_testkit::Random;
use serde_json::json;

use super::handle::{Handle, counted};
use super::model::{Chosen, NAMES, Pick, Taken};

/// A codec that notes which chunks it decodes: the sum of their first four bytes.
#[derive(Clone, Debug, Default)]
struct Noting(Arc<Mutex<Vec<u64>>>);

impl Noting {
    fn registry(&self) -> CodecRegistry {
        let noting = self.clone();
        CodecRegistry::new().with("noting", move |_| Ok(Arc::new(noting.clone())))
    }

    /// Forgets what was decoded, and returns it in ascending order.
    fn take(&self) -> Vec<u64> {
        let mut decoded = std::mem::take(&mut *self.0.lock().expect("no panic"));
        decoded.sort_unstable();
        decoded
    }
}

impl BytesToBytes for Noting {
    fn name(&self) -> &'static str {
        "noting"
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        self.0
            .lock()
            .expect("no panic")
            .push(src.iter().take(4).map(|&byte| u64::from(byte)).sum());
        match dst {
            Dst::Exact(out) if out.len() == src.len() => out.copy_from_slice(src),
            Dst::Grow { buf, .. } => {
                buf.clear();
                buf.extend_from_slice(src);
            }
            Dst::Exact(_) => return Err(CodecError::corrupt("noting", "another length")),
        }
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// The codec that notes; N5 has no codecs of users, so only its requests are counted.
fn noting_codec(format: Format) -> CodecSpec {
    if format == Format::N5 {
        codec::gzip(1)
    } else {
        codec::named("noting", json!({}))
    }
}

/// An array each chunk of which has its number, from 1, in all of its elements.
struct Layout {
    format: Format,
    shape: [usize; 3],
    chunk: [usize; 3],
    shard: Option<[usize; 3]>,
}

impl Layout {
    fn made(&self, storage: &Storage, noting: &Noting) -> ArrayD<i32> {
        let array = Array::<i32>::builder(&self.shape[..]).chunks(self.chunk.map(|n| n as u64));
        let array = array
            .format(self.format)
            .dimension_names(NAMES)
            .registry(noting.registry());
        let array = array.codecs([noting_codec(self.format)]);
        let array = self
            .shard
            .iter()
            .fold(array, |array, shard| array.shards(shard.map(|n| n as u64)));
        let array = array.create((storage, "a")).expect("a new array");
        let all = ArrayD::from_shape_fn(IxDyn(&self.shape), |at| {
            self.number(self.chunk, &[at[0], at[1], at[2]]) as i32
        });
        array.write(.., &all).expect("a write");
        all
    }

    /// The number of the chunk that has an element.
    fn number(&self, chunk: [usize; 3], at: &[usize]) -> u64 {
        (0..3).fold(0, |number, axis| {
            number * self.shape[axis].div_ceil(chunk[axis]) + at[axis] / chunk[axis]
        }) as u64
            + 1
    }

    fn numbers(&self, chunk: [usize; 3], taken: &Taken) -> BTreeSet<u64> {
        taken
            .places
            .iter()
            .map(|at| self.number(chunk, at))
            .collect()
    }

    /// How many keys hold what is taken.
    fn n_keys(&self, taken: &Taken) -> u64 {
        self.numbers(self.shard.unwrap_or(self.chunk), taken).len() as u64
    }

    /// The chunks of which only a part is taken.
    fn in_part(&self, taken: &Taken) -> Vec<u64> {
        let distinct: BTreeSet<&Vec<usize>> = taken.places.iter().collect();
        let is_whole = |chunk: u64| {
            let n = distinct
                .iter()
                .filter(|at| self.number(self.chunk, at) == chunk)
                .count();
            n == self.chunk.iter().product::<usize>()
        };
        self.numbers(self.chunk, taken)
            .into_iter()
            .filter(|&chunk| !is_whole(chunk))
            .collect()
    }
}

const SHAPE: [usize; 3] = [6, 6, 8];
const LAYOUTS: [Layout; 4] = [
    Layout {
        format: Format::Zarr3,
        shape: SHAPE,
        chunk: [2, 3, 4],
        shard: None,
    },
    Layout {
        format: Format::Zarr3,
        shape: SHAPE,
        chunk: [2, 3, 4],
        shard: Some([4, 6, 4]),
    },
    Layout {
        format: Format::Zarr2,
        shape: SHAPE,
        chunk: [2, 3, 4],
        shard: None,
    },
    Layout {
        format: Format::N5,
        shape: SHAPE,
        chunk: [2, 3, 4],
        shard: None,
    },
];

fn chosen() -> Vec<Chosen> {
    let mut random = Random::seeded("points in any order");
    let mut points = |n: usize| -> Chosen {
        let point = |_| SHAPE.map(|len| random.below(len as u64) as i64).to_vec();
        Chosen::Points((0..n).map(point).collect())
    };
    let mask = |far: usize| {
        let mut n = 0;
        let mask = ArrayD::from_shape_simple_fn(IxDyn(&SHAPE), || {
            n += 1;
            n % far == 0
        });
        Chosen::Mask(mask)
    };
    let all = (0, None, 1);
    vec![
        points(5),
        points(200),
        Chosen::ByAxis(vec![vec![5, 0, 5, 0, 5], vec![0; 5], vec![7, 0, 7, 0, 6]]),
        // Back and forth between the chunks.
        Chosen::Lists(vec![
            vec![5, 0, 4, 1, 5, 0],
            vec![5, 1, 4, 2],
            vec![7, 0, 6, 1, 7],
        ]),
        Chosen::Lists(vec![vec![2], vec![], vec![0]]),
        Chosen::Masks(vec![
            vec![true, false, false, false, false, true],
            vec![true; 6],
            vec![true; 8],
        ]),
        Chosen::Tuple(
            vec![3, 2, 3],
            1..5,
            vec![false, true, false, false, false, false, false, true],
        ),
        Chosen::Ranges(vec![(0, None, -5), (1, Some(5), -2), all]),
        Chosen::Ranges(vec![(2, Some(4), 1), all, (0, Some(4), -1)]),
        Chosen::Names(vec![
            ("x", Pick::List(vec![7, 6, 7])),
            ("t", Pick::Index(3)),
        ]),
        mask(3),
        mask(50),
        mask(1),
        // Two chunks as a whole, and an element of a third, of one shard.
        Chosen::Mask(ArrayD::from_shape_fn(IxDyn(&SHAPE), |at| {
            at[0] < 4 && at[1] < 3 && at[2] < 4 || (at[0], at[1], at[2]) == (0, 3, 0)
        })),
        Chosen::Blocks(vec![(1, 3), (0, 1), (0, 2)]),
    ]
}

#[test]
fn each_read_decodes_a_chunk_once() {
    for layout in LAYOUTS {
        for slow in [false, true] {
            let noting = Noting::default();
            let (storage, counts) = counted(slow);
            let all = layout.made(&storage, &noting);
            for (name, handle) in Handle::all(&storage, &noting.registry()) {
                handle
                    .read(&Chosen::Ranges(vec![(0, None, 1); 3]))
                    .expect("a read, which learns the indexes");
                let check = |what: &str, taken: &Taken| {
                    let what = format!(
                        "{}, {:?}, {slow}, {name}: {what}",
                        layout.format, layout.shard
                    );
                    let numbers: Vec<u64> =
                        layout.numbers(layout.chunk, taken).into_iter().collect();
                    if layout.format != Format::N5 {
                        assert_eq!(noting.take(), numbers, "{what}");
                    }
                    assert_eq!(counts().fetches, layout.n_keys(taken), "{what}");
                };
                noting.take();
                counts();
                let chosen = chosen();
                for chosen in &chosen {
                    let taken = chosen.taken(&layout.shape, &layout.chunk);
                    let expected = taken.of(&all);
                    let what = format!("{chosen:?}");
                    assert_eq!(handle.read(chosen).expect("a read"), expected, "{what}");
                    check(&what, &taken);
                    assert_eq!(
                        handle.read_into(chosen, &taken.shape).expect("a read"),
                        expected,
                        "{what}"
                    );
                    check(&what, &taken);
                }
                // All at once, and each of the later ones with its neighbours.
                for many in chosen.windows(3).chain([&chosen[..]]) {
                    let taken: Vec<Taken> = many
                        .iter()
                        .map(|chosen| chosen.taken(&layout.shape, &layout.chunk))
                        .collect();
                    let found = handle
                        .read_many(&many.iter().collect::<Vec<_>>())
                        .expect("a read");
                    assert!(
                        found.iter().eq(taken
                            .iter()
                            .map(|taken| taken.of(&all))
                            .collect::<Vec<_>>()
                            .iter())
                    );
                    let places = taken.into_iter().flat_map(|taken| taken.places).collect();
                    check(
                        &format!("{many:?}"),
                        &Taken {
                            shape: Vec::new(),
                            places,
                        },
                    );
                }
            }
        }
    }
}

/// Those that are selected in part are decoded and encoded again; their elements stay as they were.
#[test]
fn each_write_decodes_a_chunk_at_most_once() {
    for layout in LAYOUTS {
        for slow in [false, true] {
            let noting = Noting::default();
            let (storage, counts) = counted(slow);
            let all = layout.made(&storage, &noting);
            let whole = Chosen::Ranges(vec![(0, None, 1); 3]);
            for (name, handle) in Handle::all(&storage, &noting.registry()) {
                // Before its first write a handle looks how the chunks are named.
                assert_eq!(handle.read(&whole).expect("a read"), all, "{name}");
                for chosen in &chosen() {
                    let what = format!(
                        "{}, {:?}, {slow}, {name}: {chosen:?}",
                        layout.format, layout.shard
                    );
                    let taken = chosen.taken(&layout.shape, &layout.chunk);
                    let in_part = layout.in_part(&taken);
                    let check = || {
                        let decoded = noting.take();
                        if layout.format != Format::N5 {
                            assert_eq!(decoded, in_part, "{what}");
                        }
                        let counts = counts();
                        assert_eq!(counts.puts, layout.n_keys(&taken), "{what}");
                        if layout.shard.is_none() {
                            assert!(counts.fetches <= counts.puts, "{counts:?}, {what}");
                        }
                    };
                    noting.take();
                    counts();
                    handle.fill(chosen, 50).expect(&what);
                    check();
                    handle.write(&whole, &all).expect("a write");
                    assert!(noting.take().is_empty(), "all of it is written");
                    counts();
                    handle.write(chosen, &taken.of(&all)).expect(&what);
                    check();
                }
                assert_eq!(handle.read(&whole).expect("a read"), all, "{name}");
            }
        }
    }
}

/// Inner chunks of 16 KiB, which are too far from each other to be fetched together.
#[test]
fn of_a_shard_no_other_inner_chunk_is_fetched() {
    let layout = Layout {
        format: Format::Zarr3,
        shape: [16, 1, 4096],
        chunk: [1, 1, 4096],
        shard: Some([8, 1, 4096]),
    };
    let mask = ArrayD::from_shape_fn(IxDyn(&layout.shape), |at| {
        at[0] % 5 == 2 && at[2] % 1000 == 7
    });
    let all_chosen = [
        Chosen::Points(
            [[14, 0, 9], [3, 0, 4095], [14, 0, 8], [3, 0, 0]]
                .map(Vec::from)
                .to_vec(),
        ),
        Chosen::Lists(vec![vec![9, 2, 13, 9], vec![0], vec![4000, 5]]),
        Chosen::Mask(mask),
        Chosen::Names(vec![("t", Pick::List(vec![12, 4])), ("x", Pick::Index(-1))]),
        Chosen::Blocks(vec![(7, 9), (0, 1), (0, 1)]),
        Chosen::Ranges(vec![(0, None, -6), (0, None, 1), (5, Some(9), 1)]),
    ];
    for slow in [false, true] {
        let noting = Noting::default();
        let (storage, counts) = counted(slow);
        let all = layout.made(&storage, &noting);
        for (name, handle) in Handle::all(&storage, &noting.registry()) {
            handle
                .read(&Chosen::Lists(vec![vec![0, 8], vec![0], vec![0]]))
                .expect("a read, for the indexes");
            let check = |what: &str, taken: &Taken| {
                let n_chunks = layout.numbers(layout.chunk, taken).len();
                assert_eq!(noting.take().len(), n_chunks, "{slow}, {name}: {what}");
                assert_eq!(
                    counts().bytes_read,
                    n_chunks as u64 * 4 * 4096,
                    "{slow}, {name}: {what}"
                );
            };
            noting.take();
            counts();
            for chosen in &all_chosen {
                let taken = chosen.taken(&layout.shape, &layout.chunk);
                let expected = taken.of(&all);
                assert_eq!(handle.read(chosen).expect("a read"), expected);
                check(&format!("{chosen:?}"), &taken);
                assert_eq!(
                    handle.read_into(chosen, &taken.shape).expect("a read"),
                    expected
                );
                check(&format!("{chosen:?}"), &taken);
            }
            let places = |chosen: &Chosen| chosen.taken(&layout.shape, &layout.chunk).places;
            let places = all_chosen.iter().flat_map(places).collect();
            handle
                .read_many(&all_chosen.iter().collect::<Vec<_>>())
                .expect("a read");
            check(
                "all of them",
                &Taken {
                    shape: Vec::new(),
                    places,
                },
            );
        }
    }
}

/// More than a million elements, which are taken chunk by chunk.
#[test]
fn a_large_mask_decodes_a_chunk_once() {
    let shape: [usize; 3] = [67, 130, 181];
    for (format, shards) in [
        (Format::Zarr3, None),
        (Format::Zarr3, Some([64, 100, 128])),
        (Format::N5, None),
    ] {
        let noting = Noting::default();
        let (storage, counts) = counted(false);
        let array = Array::<u8>::builder(&shape[..])
            .chunks([32, 50, 64])
            .format(format);
        let array = array
            .codecs([noting_codec(format)])
            .registry(noting.registry());
        let array = shards
            .iter()
            .fold(array, |array, &shards: &[u64; 3]| array.shards(shards));
        let array = array.create((&storage, "a")).expect("a new array");
        let all = Array3::from_shape_fn(shape, |(z, y, x)| {
            (z / 32 * 9 + y / 50 * 3 + x / 64 + 1) as u8
        });
        array.write(.., &all).expect("a write");
        // Nothing of the first chunk.
        let mask = all.mapv(|number| number > 1);
        noting.take();
        counts();
        let expected: Vec<u8> = all.iter().copied().filter(|&number| number > 1).collect();
        assert_eq!(array.read(&mask).expect("a read").to_vec(), expected);
        if format != Format::N5 {
            assert_eq!(
                noting.take(),
                (2..=27).map(|number| 4 * number).collect::<Vec<u64>>(),
                "{format}"
            );
        }
        if shards.is_none() {
            assert_eq!(counts().fetches, 26, "{format}");
        }
        // All but the first chunk are written as a whole.
        counts();
        array.write(&mask, &expected).expect("a write");
        assert!(noting.take().is_empty(), "{format}");
        if shards.is_none() {
            assert_eq!(counts().fetches, 0, "{format}");
        }
        assert_eq!(
            array.read(..).expect("a read"),
            all.clone().into_dyn(),
            "{format}"
        );
        noting.take();
        array.fill(&mask, 200).expect("a write");
        assert!(noting.take().is_empty(), "{format}");
        let filled = all
            .mapv(|number| if number > 1 { 200 } else { 1 })
            .into_dyn();
        assert_eq!(array.read(..).expect("a read"), filled, "{format}");
    }
}
