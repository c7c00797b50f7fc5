//! Handles of one array: blocking and asynchronous, typed and untyped.

use std::sync::Arc;

use ndarray::{ArrayD, Axis, Dimension, Ix0, IxDyn, ShapeBuilder};
use ndzarr::store::block_on;
use ndzarr::{
    AnyArray, AnyElements, Array, ArrayInfo, CodecRegistry, DataType, Error, MemoryStore,
    OpenOptions, Points, Resolved, Selection, Storage, asynchronous,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Counts, Latency};

use super::model::{Chosen, Outer, Pick};

/// Runs the code with a selection in the form in which a user writes its kind.
macro_rules! with_selection {
    ($chosen:expr, $array:expr, $selection:ident => $body:expr) => {
        match $chosen {
            Chosen::Lists(lists) => with_selection!(@ $selection, &lists[..], $body),
            Chosen::Masks(masks) => with_selection!(@ $selection, &masks[..], $body),
            Chosen::Ranges(ranges) => {
                let ranges: Vec<_> = ranges.iter().map(|&range| Pick::slice(range)).collect();
                with_selection!(@ $selection, &ranges, $body)
            }
            Chosen::Slices(slices) => with_selection!(@ $selection, &slices[..], $body),
            Chosen::Tuple(list, range, mask) => {
                with_selection!(@ $selection, (list, range.clone(), mask), $body)
            }
            Chosen::Axes(picks) => with_selection!(@ $selection, Outer(picks), $body),
            Chosen::Names(names) => {
                let named = names.iter().fold($array.by_name(), |named, (name, pick)| pick.along(named, name));
                with_selection!(@ $selection, named, $body)
            }
            Chosen::Points(points) => with_selection!(@ $selection, Points::new(points), $body),
            Chosen::ByAxis(axes) => with_selection!(@ $selection, Points::by_axis(axes), $body),
            Chosen::Mask(mask) => with_selection!(@ $selection, mask, $body),
            Chosen::Blocks(blocks) => {
                let blocks: Vec<_> = blocks.iter().map(|&(first, end)| first..end).collect();
                with_selection!(@ $selection, $array.blocks(blocks)?, $body)
            }
        }
    };
    (@ $selection:ident, $value:expr, $body:expr) => {{
        let $selection = $value;
        $body
    }};
}

/// A selection of whichever kind, as one type.
struct Any<'c>(&'c Chosen, &'c ArrayInfo);

impl Selection for Any<'_> {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved, Error> {
        with_selection!(self.0, self.1, selection => selection.resolve(shape))
    }
}

/// An empty store, blocking or asynchronous, and what resets its counts.
pub(super) fn counted(asynchronous: bool) -> (Storage, Box<dyn Fn() -> Counts>) {
    if asynchronous {
        let store = Arc::new(AsyncMemoryStore::new(Latency::default()));
        return (
            Storage::asynchronous(Arc::clone(&store)),
            Box::new(move || store.reset()),
        );
    }
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    (
        Storage::blocking(Arc::clone(&store)),
        Box::new(move || store.reset()),
    )
}

/// An array of int32, or of raw bits, whose numbers are then their first bytes.
pub(super) enum Handle {
    Typed(Array<i32>),
    Untyped(AnyArray),
    /// By the calls that take packed bytes, where there is one.
    Bytes(AnyArray),
    AsyncTyped(asynchronous::Array<i32>),
    AsyncUntyped(asynchronous::AnyArray),
    AsyncBytes(asynchronous::AnyArray),
}

impl Handle {
    /// All handles of the array `a`, and what they are.
    pub(super) fn all(storage: &Storage, registry: &CodecRegistry) -> Vec<(&'static str, Self)> {
        let options = || OpenOptions::new().codecs(registry.clone());
        let untyped = || {
            options()
                .open_array::<ndzarr::Any>((storage, "a"))
                .expect("the array")
        };
        let opening = asynchronous::OpenOptions::from(options());
        let asynchronous_array =
            block_on(opening.open_array::<ndzarr::Any>((storage, "a"))).expect("the array");
        let mut all = vec![
            ("untyped", Self::Untyped(untyped())),
            ("bytes", Self::Bytes(untyped())),
            (
                "asynchronous, untyped",
                Self::AsyncUntyped(asynchronous_array.clone()),
            ),
            (
                "asynchronous, bytes",
                Self::AsyncBytes(asynchronous_array.clone()),
            ),
        ];
        if *asynchronous_array.data_type() == (DataType::Int { bits: 32 }) {
            all.push(("typed", Self::Typed(untyped().typed().expect("int32"))));
            all.push((
                "asynchronous, typed",
                Self::AsyncTyped(asynchronous_array.typed().expect("int32")),
            ));
        }
        all
    }

    pub(super) fn info(&self) -> &ArrayInfo {
        match self {
            Self::Typed(array) => array,
            Self::Untyped(array) | Self::Bytes(array) => array,
            Self::AsyncTyped(array) => array,
            Self::AsyncUntyped(array) | Self::AsyncBytes(array) => array,
        }
    }

    fn elem_size(&self) -> usize {
        self.info().data_type().elem_size().expect("a fixed size")
    }

    pub(super) fn read(&self, chosen: &Chosen) -> Result<ArrayD<i32>, Error> {
        match self {
            Self::Typed(a) => with_selection!(chosen, a, s => Ok(a.read(s)?.into_dyn())),
            Self::AsyncTyped(a) => {
                with_selection!(chosen, a, s => Ok(block_on(a.read(s))?.into_dyn()))
            }
            Self::Untyped(a) => with_selection!(chosen, a, s => Ok(numbers(a.read(s)?))),
            Self::AsyncUntyped(a) => {
                with_selection!(chosen, a, s => Ok(numbers(block_on(a.read(s))?)))
            }
            // Bytes have no shape.
            Self::Bytes(a) => with_selection!(chosen, a, s => {
                let shape = s.resolve(a.shape())?.shape();
                Ok(unpacked(&a.read_bytes(s)?, &shape))
            }),
            Self::AsyncBytes(a) => with_selection!(chosen, a, s => {
                let shape = s.resolve(a.shape())?.shape();
                Ok(unpacked(&block_on(a.read_bytes(s))?, &shape))
            }),
        }
    }

    /// Reads into memory for a result of this shape: each second element, or without alignment.
    pub(super) fn read_into(&self, chosen: &Chosen, shape: &[usize]) -> Result<ArrayD<i32>, Error> {
        let mut twice = ArrayD::from_elem([shape, &[2]].concat(), -99);
        let last = Axis(shape.len());
        let mut out = twice.index_axis_mut(last, 1);
        let mut bytes = vec![77; shape.iter().product::<usize>() * self.elem_size() + 1];
        match self {
            Self::Typed(a) => with_selection!(chosen, a, s => a.read_into(s, &mut out)?),
            Self::AsyncTyped(a) => {
                with_selection!(chosen, a, s => block_on(a.read_into(s, &mut out))?)
            }
            Self::Untyped(a) | Self::Bytes(a) => {
                with_selection!(chosen, a, s => a.read_bytes_into(s, &mut bytes[1..])?);
            }
            Self::AsyncUntyped(a) | Self::AsyncBytes(a) => {
                with_selection!(chosen, a, s => block_on(a.read_bytes_into(s, &mut bytes[1..]))?);
            }
        }
        if matches!(self, Self::Typed(_) | Self::AsyncTyped(_)) {
            assert!(
                twice.index_axis(last, 0).iter().all(|&other| other == -99),
                "outside the result"
            );
            return Ok(twice.index_axis_move(last, 1));
        }
        Ok(unpacked(&bytes[1..], shape))
    }

    /// Writes values, whose first axis is the fastest in memory.
    pub(super) fn write(&self, chosen: &Chosen, values: &ArrayD<i32>) -> Result<(), Error> {
        let mut data = ArrayD::zeros(values.raw_dim().f());
        data.assign(values);
        let bytes = packed(values, self.elem_size());
        match self {
            Self::Typed(a) => with_selection!(chosen, a, s => a.write(s, &data)),
            Self::AsyncTyped(a) => with_selection!(chosen, a, s => block_on(a.write(s, &data))),
            Self::Untyped(a) => with_selection!(chosen, a, s => a.write(s, &self.elements(data))),
            Self::AsyncUntyped(a) => {
                with_selection!(chosen, a, s => block_on(a.write(s, &self.elements(data))))
            }
            Self::Bytes(a) => with_selection!(chosen, a, s => a.write_bytes(s, &bytes)),
            Self::AsyncBytes(a) => {
                with_selection!(chosen, a, s => block_on(a.write_bytes(s, &bytes)))
            }
        }
    }

    pub(super) fn fill(&self, chosen: &Chosen, value: i32) -> Result<(), Error> {
        let any = || -> AnyElements<Ix0> {
            match self.elem_size() {
                4 => value.into(),
                n => AnyElements::Packed(ndarray::arr1(&value.to_le_bytes()[..n])),
            }
        };
        match self {
            Self::Typed(a) => with_selection!(chosen, a, s => a.fill(s, value)),
            Self::AsyncTyped(a) => with_selection!(chosen, a, s => block_on(a.fill(s, value))),
            Self::Untyped(a) | Self::Bytes(a) => with_selection!(chosen, a, s => a.fill(s, any())),
            Self::AsyncUntyped(a) | Self::AsyncBytes(a) => {
                with_selection!(chosen, a, s => block_on(a.fill(s, any())))
            }
        }
    }

    pub(super) fn read_many(&self, chosen: &[&Chosen]) -> Result<Vec<ArrayD<i32>>, Error> {
        let all = || chosen.iter().map(|chosen| Any(chosen, self.info()));
        let untyped = match self {
            Self::Typed(a) => return a.read_many(all()),
            Self::AsyncTyped(a) => return block_on(a.read_many(all())),
            Self::Untyped(a) | Self::Bytes(a) => a.read_many(all())?,
            Self::AsyncUntyped(a) | Self::AsyncBytes(a) => block_on(a.read_many(all()))?,
        };
        Ok(untyped.into_iter().map(numbers).collect())
    }

    fn elements(&self, values: ArrayD<i32>) -> AnyElements {
        match self.elem_size() {
            4 => values.into(),
            n => {
                let shape = [values.shape(), &[n]].concat();
                AnyElements::Packed(
                    ArrayD::from_shape_vec(shape, packed(&values, n)).expect("as many bytes"),
                )
            }
        }
    }
}

fn packed(values: &ArrayD<i32>, size: usize) -> Vec<u8> {
    match size {
        4 => values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect(),
        n => values
            .iter()
            .flat_map(|value| value.to_le_bytes().into_iter().take(n))
            .collect(),
    }
}

fn unpacked(bytes: &[u8], shape: &[usize]) -> ArrayD<i32> {
    let n: usize = shape.iter().product();
    let size = bytes.len().checked_div(n).unwrap_or(1);
    let number = |bytes: &[u8]| match *bytes {
        [a, b, c] => i32::from_le_bytes([0, a, b, c]) >> 8,
        _ => i32::from_ne_bytes(bytes.try_into().expect("four bytes")),
    };
    let values = bytes.chunks_exact(size).take(n).map(number).collect();
    ArrayD::from_shape_vec(shape, values).expect("as many elements")
}

fn numbers<D: Dimension>(elements: AnyElements<D>) -> ArrayD<i32> {
    match elements {
        AnyElements::Int32(array) => array.into_dyn(),
        AnyElements::Packed(array) => {
            let array = array.into_dyn();
            let shape = &array.shape()[..array.ndim() - 1];
            unpacked(array.as_slice().expect("in standard layout"), shape)
        }
        other => panic!("{other:?}"),
    }
}
