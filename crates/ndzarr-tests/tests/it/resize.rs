//! Arrays that grow and shrink, compared with a model in memory.

use bytes::Bytes;
use ndarray::{ArrayD, IxDyn, Slice, array};
use ndzarr::store::{DirListing, Key, Locked, Prefix, StoreError, Wait};
use ndzarr::{
    Array, ArrayBuilder, EdgeBlocks, ErrorKind, Format, FsStore, MemoryStore, N5Axes, Order,
    Storage, Store, asynchronous, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, Random, block_on, forward};
use serde_json::json;

/// A way to store an array of 3 dimensions with chunks of 3 x 2 x 4.
type Form = (&'static str, fn(ArrayBuilder<u16>) -> ArrayBuilder<u16>);

pub(crate) const FORMS: [Form; 14] = [
    ("zarr2", |b| b.format(Format::Zarr2)),
    ("zarr2 F /", |b| {
        b.format(Format::Zarr2)
            .order(Order::F)
            .separator('/')
            .codecs([codec::gzip(1)])
    }),
    ("zarr2 null", |b| b.format(Format::Zarr2).no_fill_value()),
    ("zarr3", |b| b.codecs([codec::zstd(1), codec::crc32c()])),
    ("zarr3 .", |b| b.separator('.')),
    ("zarr3 as v2", |b| b.key_encoding("v2")),
    ("zarr3 shards", |b| {
        b.shards([6, 4, 4]).codecs([codec::zstd(1)])
    }),
    ("zarr3 shards F", |b| b.shards([3, 6, 8]).order(Order::F)),
    ("draft A", |b| b.format(Format::DraftA)),
    ("draft A shards", |b| {
        b.format(Format::DraftA).shards([6, 4, 8])
    }),
    ("draft B", |b| {
        b.format(Format::DraftB).codecs([codec::zlib(1)])
    }),
    ("n5", |b| b.format(Format::N5).codecs([codec::gzip(1)])),
    ("n5 reversed", |b| {
        b.format(Format::N5).n5_axes(N5Axes::Reversed)
    }),
    ("n5 padded", |b| {
        b.format(Format::N5).edge_blocks(EdgeBlocks::Padded)
    }),
];

const ZARR_FORMS: std::ops::Range<usize> = 0..8;
const N5_FORMS: std::ops::Range<usize> = 11..14;

/// The expected array.
struct Model {
    elements: ArrayD<u16>,
    fill: u16,
}

impl Model {
    fn resize(&mut self, shape: &[usize]) {
        let mut new = ArrayD::from_elem(IxDyn(shape), self.fill);
        let common =
            |axis: ndarray::Axis| Slice::from(0..shape[axis.0].min(self.elements.shape()[axis.0]));
        new.slice_each_axis_mut(|axis| common(axis.axis))
            .assign(&self.elements.slice_each_axis(|axis| common(axis.axis)));
        self.elements = new;
    }
}

fn usizes(shape: &[u64]) -> Vec<usize> {
    shape.iter().map(|&n| n as usize).collect()
}

fn shape(random: &mut Random) -> Vec<u64> {
    [13, 9, 11].map(|n| random.below(n)).to_vec()
}

/// The calls that a sequence uses.
#[derive(Clone, Copy, PartialEq)]
enum Calls {
    Blocking,
    Async,
}

fn sequence(form: &Form, n5_axes: N5Axes, storage: &Storage, random: &mut Random, calls: Calls) {
    let (name, build) = form;
    let start = shape(random);
    let fill = if name.starts_with("n5") || *name == "zarr2 null" {
        0
    } else {
        7
    };
    let mut builder = Array::<u16>::builder(&start)
        .chunks([3, 2, 4])
        .attributes(json!({"kept": 1}));
    if fill != 0 {
        builder = builder.fill_value(fill);
    }
    let mut a = build(builder)
        .create((storage, "g/a"))
        .expect("a new array");
    let mut model = Model {
        elements: ArrayD::from_elem(IxDyn(&usizes(&start)), fill),
        fill,
    };
    let mut log = vec![format!("{name} {start:?}")];
    for _ in 0..8 {
        let now = a.shape().to_vec();
        match random.below(4) {
            0 | 1 => {
                let mut new = if random.below(2) == 0 {
                    shape(random)
                } else {
                    now.clone()
                };
                let axis = random.below(3) as usize;
                new[axis] = random.below(14);
                log.push(format!("resize {new:?}"));
                model.resize(&usizes(&new));
                match calls {
                    Calls::Blocking => a.resize(&new).expect("a resize"),
                    Calls::Async => {
                        let mut other = asynchronous::Array::from(a.clone());
                        block_on(other.resize(&new)).expect("a resize");
                        a = other.into();
                    }
                }
            }
            2 => {
                let axis = random.below(3) as usize;
                let mut more = usizes(&now);
                more[axis] = random.below(6) as usize;
                log.push(format!("append {axis} {more:?}"));
                let data = ArrayD::from_shape_simple_fn(IxDyn(&more), || random.below(10) as u16);
                match calls {
                    Calls::Blocking => a.append(axis, &data).expect("an append"),
                    Calls::Async => {
                        let mut other = asynchronous::Array::from(a.clone());
                        block_on(other.append(axis, &data)).expect("an append");
                        a = other.into();
                    }
                }
                let parts = [model.elements.view(), data.view()];
                model.elements =
                    ndarray::concatenate(ndarray::Axis(axis), &parts).expect("shapes that fit");
            }
            _ => {
                let region = random.region(&now);
                let value = random.below(10) as u16;
                log.push(format!("fill {region:?} {value}"));
                a.fill(&region[..], value).expect("a write");
                let slice = |axis: ndarray::AxisDescription| {
                    let range = &region[axis.axis.0];
                    Slice::from(range.start as usize..range.end as usize)
                };
                model.elements.slice_each_axis_mut(slice).fill(value);
            }
        }
        let read: ArrayD<u16> = a.read(..).expect("it can be read");
        assert_eq!(read, model.elements, "{log:?}");
        assert_eq!(a.attributes()["kept"], 1);
    }
    let options = ndzarr::OpenOptions::new().n5_axes(n5_axes);
    let again = options
        .open_array::<u16>((storage, "g/a"))
        .expect("it exists");
    assert_eq!(
        again.read(..).expect("it can be read"),
        model.elements,
        "{log:?}"
    );
    assert_eq!(
        (again.shape(), &again.spec().keys),
        (a.shape(), &a.spec().keys),
        "{log:?}"
    );

    // Elements outside do not exist, not even in an old corner of a chunk.
    a.resize([20, 20, 20]).expect("a resize");
    model.resize(&[20, 20, 20]);
    assert_eq!(
        a.read(..).expect("it can be read"),
        model.elements,
        "{log:?}"
    );
}

fn all_forms(n: u64, seed: &str, calls: Calls, storage: impl FnMut() -> Storage) {
    forms(&FORMS, n, seed, calls, storage);
}

fn forms(forms: &[Form], n: u64, seed: &str, calls: Calls, mut storage: impl FnMut() -> Storage) {
    for (i, form) in forms.iter().enumerate() {
        let n5_axes = if form.0 == "n5 reversed" {
            N5Axes::Reversed
        } else {
            N5Axes::Native
        };
        for round in 0..n {
            let mut random = Random::seeded(&format!("{seed} {i} {round}"));
            sequence(form, n5_axes, &storage(), &mut random, calls);
        }
    }
}

#[test]
fn sequences_agree_with_a_model_in_memory() {
    all_forms(10, "memory", Calls::Blocking, || MemoryStore::new().into());
}

#[test]
fn sequences_agree_with_a_model_in_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut n = 0;
    all_forms(3, "files", Calls::Blocking, || {
        n += 1;
        folder.path().join(n.to_string()).as_path().into()
    });
    // No lock file is left.
    let mut pending = vec![folder.path().to_owned()];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            let path = entry.expect("an entry").path();
            assert!(!path.to_string_lossy().contains("__lock"), "{path:?}");
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
}

#[test]
fn sequences_agree_with_a_model_in_futures() {
    all_forms(4, "futures", Calls::Async, || {
        Storage::asynchronous(AsyncMemoryStore::new(Latency::default()))
    });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut n = 0;
    all_forms(1, "files, futures", Calls::Async, || {
        n += 1;
        folder.path().join(n.to_string()).as_path().into()
    });
}

#[test]
fn sequences_agree_with_a_model_without_listing() {
    // The draft and N5 list to determine the node at a path.
    forms(&FORMS[ZARR_FORMS], 4, "no listing", Calls::Blocking, || {
        Storage::blocking(Listless(MemoryStore::new()))
    });
}

/// A store that cannot list.
#[derive(Debug)]
pub(crate) struct Listless(pub(crate) MemoryStore);

impl Store for Listless {
    forward!(0: fetch, put, erase);

    fn name(&self) -> String {
        "listless".to_owned()
    }

    fn lock(&self, _: &Key, _: Wait<'_>) -> Result<Locked, StoreError> {
        Ok(Locked::Unsupported)
    }

    fn list_dir(&self, _: &Prefix) -> Result<DirListing, StoreError> {
        Err(StoreError::Unsupported("list"))
    }
}

#[test]
fn what_does_not_fit_changes_nothing() {
    for form in &FORMS {
        let store = MemoryStore::new();
        let mut a = form.1(Array::<u16>::builder([7, 5, 9]).chunks([3, 2, 4]))
            .create((&store, "a"))
            .expect("new");
        let before: Vec<_> = store.keys().iter().map(|key| store.get(key)).collect();
        for shape in [&[7_u64, 5][..], &[7, 5, 9, 1], &[]] {
            assert_eq!(
                a.resize(shape).expect_err("another rank").kind(),
                ErrorKind::WrongShape,
                "{}",
                form.0
            );
        }
        for (axis, shape) in [
            (0, &[1, 5, 8][..]),
            (3, &[7, 5, 9]),
            (0, &[1, 5]),
            (0, &[7, 5, 9, 1]),
        ] {
            let data = ArrayD::zeros(IxDyn(shape));
            let error = a.append(axis, &data).expect_err("another shape");
            assert_eq!(error.kind(), ErrorKind::WrongShape, "{}", form.0);
        }
        assert_eq!(
            store
                .keys()
                .iter()
                .map(|key| store.get(key))
                .collect::<Vec<_>>(),
            before
        );
        assert_eq!(a.shape(), [7, 5, 9]);
    }
    let store = MemoryStore::new();
    let mut a = Array::<u16>::builder([7])
        .create((&store, "a"))
        .expect("a new array");
    store
        .set("a/zarr.json", Bytes::from_static(b"{"))
        .expect("a key");
    assert_eq!(
        a.resize([8]).expect_err("a broken document").kind(),
        ErrorKind::InvalidMetadata
    );
}

#[test]
fn a_stale_handle_does_no_harm() {
    let store = MemoryStore::new();
    let mut a = Array::<u8>::builder([4])
        .chunks([4])
        .create((&store, "a"))
        .expect("a new array");
    let mut b = a.clone();
    a.append(0, &array![1, 2, 3]).expect("an append");
    b.append(0, &array![4]).expect("an append");
    assert_eq!(b.shape(), [8]);
    assert_eq!(
        b.read(..)
            .expect("it can be read")
            .into_raw_vec_and_offset()
            .0,
        [0, 0, 0, 0, 1, 2, 3, 4]
    );
    // `a` still has the shape 7.
    a.resize([7]).expect("a resize");
    a.resize([8]).expect("a resize");
    assert_eq!(a.read(s![7]).expect("it can be read").into_scalar(), 0);
}

#[test]
fn truncated_blocks_stay_truncated() {
    for form in &FORMS[N5_FORMS] {
        let store = MemoryStore::new();
        let mut a = form.1(Array::<u16>::builder([6, 4, 8]).chunks([3, 2, 4]))
            .create((&store, "a"))
            .expect("new");
        a.fill([0..6, 0..4, 0..8], 3).expect("a write");
        a.resize([4, 4, 8]).expect("a resize");
        let key = if form.0 == "n5 reversed" {
            "a/0/0/1"
        } else {
            "a/1/0/0"
        };
        let block = store.get(key).expect("a block at the end");
        // Mode, rank and sizes: those of the document, the first varying fastest.
        let edge = if form.0 == "n5 padded" { 3 } else { 1 };
        let sizes = if form.0 == "n5 reversed" {
            [4, 2, edge]
        } else {
            [edge, 2, 4]
        };
        let header: Vec<u8> = [0u8, 0, 0, 3]
            .into_iter()
            .chain(sizes.iter().flat_map(|&n: &u32| n.to_be_bytes()))
            .collect();
        assert_eq!(block[..16], header, "{}", form.0);
    }
}

#[test]
fn concurrent_appends_lose_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FsStore::new(folder.path());
    let mut a = Array::<u16>::builder([0])
        .chunks([7])
        .create((&store, "a"))
        .expect("a new array");
    std::thread::scope(|scope| {
        for thread in 0..4u16 {
            let mut a = a.clone();
            scope.spawn(move || {
                for i in 0..25 {
                    a.append(
                        0,
                        &array![thread * 100 + i, thread * 100 + i, thread * 100 + i],
                    )
                    .expect("an append");
                    if i % 5 == 0 {
                        a.merge_attributes(json!({ format!("{thread} {i}"): i }))
                            .expect("attributes");
                    }
                }
            });
        }
    });
    a = Array::open((&store, "a")).expect("it exists");
    assert_eq!(a.attributes().len(), 20);
    let mut all: Vec<u16> = a.read(..).expect("it can be read").into_iter().collect();
    assert!(
        all.chunks(3)
            .all(|three| three[0] == three[1] && three[1] == three[2]),
        "each append in one place"
    );
    all.sort_unstable();
    let expected: Vec<u16> = (0..4)
        .flat_map(|t| (0..25).flat_map(move |i| [t * 100 + i; 3]))
        .collect();
    assert_eq!(all, expected);
}
