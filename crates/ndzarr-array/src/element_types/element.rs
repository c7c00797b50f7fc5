//! The trait `Element`: Rust types that can be the elements of an array.

use std::sync::Arc;

use bytemuck::Pod;
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, CowArray, IxDyn};
use ndzarr_codec::Swap;
use ndzarr_engine::{Source, Tile};
use ndzarr_grid::Picks;
use ndzarr_model::DataType;

use crate::arrays::info::ArrayInfo;
use crate::element_types::plain_element::{Moving, PlainElement};
use crate::error::{Error, ErrorKind, Result, not_an_element};
use crate::selections::resolved::Resolved;
use crate::tiles::box_tile::{BoxSource, BoxTile, TileAxis};
use crate::tiles::cells::{FromBytes, Plain, ReadCells, ToBytes};
use crate::tiles::output::{blank, blank_of};
use crate::tiles::raw;
use crate::tiles::values::{Fresh, Sources, Stored, Tiles};

/// A Rust type whose values are elements of an array.
///
/// | type | data type of the array |
/// |---|---|
/// | `bool` | bool |
/// | `i8` to `i64`, `u8` to `u64` | int8 to int64, uint8 to uint64; `i8` and `u8` also int2, int4, uint2, uint4 |
/// | [`Float8E4M3`](crate::Float8E4M3) and its like, or `u8` for their codes | floats of 4, 6 and 8 bits |
/// | `half::f16`, `f32`, `f64`, `half::bf16` | float16, float32, float64, bfloat16 |
/// | `Complex` of these | complex64, complex128, complex_float16, complex_bfloat16 |
/// | `[u8; N]` | r8N, raw bits of N bytes; byte strings of N bytes with their trailing NULs |
/// | [`FixedBytes<N>`](crate::FixedBytes), [`FixedUtf32<N>`](crate::FixedUtf32) | null_terminated_bytes and raw bits, fixed_length_utf32 of just this length |
/// | [`Datetime64`](crate::Datetime64), [`Timedelta64`](crate::Timedelta64) | dates and durations of any unit |
/// | `String` | string; fixed_length_utf32 without its trailing NULs |
/// | `Vec<u8>` | bytes; null_terminated_bytes without its trailing NULs |
/// | `Vec<T>` of the numbers above | lists of numbers (vlen-array) |
/// | `serde_json::Value` | the values of json2 and msgpack2 |
/// | a `struct` of the caller's, see [`structured!`](crate::element_types::structured) | structures |
///
/// Elements of any other type are bytes of an [`AnyArray`](crate::AnyArray).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of elements",
    note = "a `struct` of your own becomes one by `#[derive(ndzarr::Structured)]`; an `AnyArray` holds elements of any type as bytes"
)]
pub trait Element: Clone + Send + Sync + 'static {
    /// Returns `true` if elements of a stored type are values of this one.
    fn accepts(stored: &DataType) -> bool;

    /// The type of a new array, if it follows from the Rust type.
    fn new_type() -> Option<DataType>;

    /// Appends the content of an element of a stored type, in native byte order.
    ///
    /// # Errors
    /// Says why the value is not of the type.
    fn to_content(&self, stored: &DataType, out: &mut Vec<u8>) -> std::result::Result<(), String>;

    /// The value of an element's content; `None` if the content is invalid.
    fn from_content(content: &[u8], stored: &DataType) -> Option<Self>;

    #[doc(hidden)]
    fn blank(shape: &[usize], stored: &DataType) -> Result<ArrayD<Self>> {
        let value = Self::from_content(&vec![0; stored.elem_size().unwrap_or(0)], stored)
            .or_else(|| Self::from_content(b"null", stored));
        let value =
            value.ok_or_else(|| Error::new(ErrorKind::WrongType, "an element without a value"))?;
        blank_of(shape, &value)
    }

    /// Why elements of a stored type are not values of this one, if there is more to say than the
    /// names of both.
    #[doc(hidden)]
    fn mismatch(stored: &DataType) -> Option<String> {
        let _ = stored;
        None
    }

    /// The function that makes values of elements in native byte order; it returns `None` for an
    /// invalid element.
    #[doc(hidden)]
    fn reader(stored: &DataType) -> Reader<Self> {
        let stored = stored.clone();
        Box::new(move |content| {
            stored
                .is_element(content)
                .then(|| Self::from_content(content, &stored))
                .flatten()
        })
    }

    /// [`to_content`](Self::to_content) for many values.
    #[doc(hidden)]
    fn writer(stored: &DataType) -> Writer<Self> {
        let stored = stored.clone();
        Box::new(move |value, out| value.to_content(&stored, out))
    }

    #[doc(hidden)]
    fn from_bytes(stored: &DataType) -> FromBytes<Self> {
        let read = Self::reader(stored);
        let stored = stored.clone();
        Arc::new(move |content: &[u8], swap: &Swap| {
            let turned;
            let content = match swap {
                Swap::None => content,
                swap => {
                    let mut bytes = content.to_vec();
                    swap.apply(&mut bytes);
                    turned = bytes;
                    &turned
                }
            };
            read(content).ok_or_else(|| not_an_element(content, &stored))
        })
    }

    #[doc(hidden)]
    fn to_bytes(stored: &DataType) -> ToBytes<Self> {
        let size = stored.elem_size().unwrap_or(0);
        let write = Self::writer(stored);
        Arc::new(move |value: &Self, out: &mut Vec<u8>| {
            let start = out.len();
            // Every value was checked before.
            if write(value, out).is_err() {
                out.resize(start + size, 0);
            }
        })
    }

    /// How elements of a stored type become values.
    #[doc(hidden)]
    fn cells(stored: &DataType) -> impl ReadCells<Cell = Self> {
        Self::from_bytes(stored)
    }

    #[doc(hidden)]
    fn tile(output: BoxOutput<'_, Self>) -> Box<dyn Tile + '_> {
        // Memory of zero bytes is not yet filled with a fill value of zero.
        Box::new(BoxTile::new(
            output.view,
            output.axes,
            false,
            Self::cells(output.stored),
        ))
    }

    #[doc(hidden)]
    fn tiles(reading: SelectionRead<'_, Self>) -> Result<Tiles<'_>> {
        reading.tiles()
    }

    #[doc(hidden)]
    fn source<'a>(input: BoxInput<'a, Self>) -> Box<dyn Source + 'a> {
        let cells = Self::to_bytes(input.stored);
        Box::new(BoxSource {
            elements: input.elements,
            axes: input.axes,
            cells,
        })
    }

    #[doc(hidden)]
    fn sources<'d>(writing: SelectionWrite<'d, '_, Self>) -> Result<Sources<'d>> {
        writing.sources()
    }

    /// Checks that values can be stored as elements of a type.
    #[doc(hidden)]
    fn check(values: ArrayViewD<'_, Self>, stored: &DataType) -> Result<()> {
        let mut content = Vec::new();
        let write = Self::writer(stored);
        for value in values {
            content.clear();
            let written = write(value, &mut content);
            let fits = written.and_then(|()| {
                if stored.is_element(&content) {
                    Ok(())
                } else {
                    Err(not_an_element(&content, stored))
                }
            });
            fits.map_err(|what| Error::new(ErrorKind::InvalidArgument, what))?;
        }
        Ok(())
    }
}

/// Makes a value of an element.
#[doc(hidden)]
pub type Reader<T> = Box<dyn Fn(&[u8]) -> Option<T> + Send + Sync>;

/// Appends the content of an element.
#[doc(hidden)]
pub type Writer<T> = Box<dyn Fn(&T, &mut Vec<u8>) -> std::result::Result<(), String> + Send + Sync>;

/// The memory that elements are read into.
#[doc(hidden)]
pub struct BoxOutput<'a, T> {
    pub(crate) view: ArrayViewMutD<'a, T>,
    pub(crate) axes: Vec<TileAxis>,
    pub(crate) fresh: bool,
    pub(crate) stored: &'a DataType,
}

impl<'a, T: PlainElement> Moving<T> for BoxOutput<'a, T> {
    type Output = Box<dyn Tile + 'a>;

    fn run(self) -> Self::Output {
        Box::new(BoxTile::new(self.view, self.axes, self.fresh, Plain::CELLS))
    }

    fn run_on_bytes<const N: usize>(self) -> Self::Output
    where
        T: Pod,
    {
        let view = raw::words_mut::<T, [u8; N]>(self.view);
        Box::new(BoxTile::new(view, self.axes, self.fresh, Plain::CELLS))
    }
}

/// The elements to be written.
#[doc(hidden)]
pub struct BoxInput<'a, T> {
    pub(crate) elements: CowArray<'a, T, IxDyn>,
    pub(crate) axes: Vec<Picks>,
    pub(crate) stored: &'a DataType,
}

impl<'a, T: PlainElement> Moving<T> for BoxInput<'a, T> {
    type Output = Box<dyn Source + 'a>;

    fn run(self) -> Self::Output {
        Box::new(BoxSource {
            elements: self.elements,
            axes: self.axes,
            cells: Plain::CELLS,
        })
    }

    fn run_on_bytes<const N: usize>(self) -> Self::Output
    where
        T: Pod,
    {
        let elements = raw::words_of::<T, [u8; N]>(&self.elements);
        Box::new(BoxSource {
            elements,
            axes: self.axes,
            cells: Plain::CELLS,
        })
    }
}

/// A selection that is read. Its lists are in ascending order.
#[doc(hidden)]
pub struct SelectionRead<'o, T> {
    pub(crate) info: &'o ArrayInfo,
    pub(crate) resolved: &'o Resolved,
    pub(crate) out: ArrayViewMutD<'o, T>,
    pub(crate) fresh: Fresh,
    pub(crate) stored: &'o Stored<'o>,
}

impl<'o, T: PlainElement> Moving<T> for SelectionRead<'o, T> {
    type Output = Result<Tiles<'o>>;

    fn run(self) -> Self::Output {
        self.tiles()
    }

    fn run_on_bytes<const N: usize>(self) -> Self::Output
    where
        T: Pod,
    {
        let Self {
            info,
            resolved,
            out,
            fresh,
            stored,
        } = self;
        let out = raw::words_mut::<T, [u8; N]>(out);
        SelectionRead {
            info,
            resolved,
            out,
            fresh,
            stored,
        }
        .tiles()
    }
}

/// A selection that is written.
#[doc(hidden)]
pub struct SelectionWrite<'d, 'r, T> {
    pub(crate) info: &'d ArrayInfo,
    pub(crate) resolved: &'r Resolved,
    pub(crate) data: ArrayViewD<'d, T>,
}

impl<'d, T: PlainElement> Moving<T> for SelectionWrite<'d, '_, T> {
    type Output = Result<Sources<'d>>;

    fn run(self) -> Self::Output {
        self.sources()
    }

    fn run_on_bytes<const N: usize>(self) -> Self::Output
    where
        T: Pod,
    {
        let Self {
            info,
            resolved,
            data,
        } = self;
        SelectionWrite {
            info,
            resolved,
            data: raw::words::<T, [u8; N]>(data),
        }
        .sources()
    }
}

impl<T: PlainElement> Element for T {
    fn accepts(stored: &DataType) -> bool {
        <T as PlainElement>::accepts(stored)
    }

    fn new_type() -> Option<DataType> {
        Some(T::data_type())
    }

    fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        out.extend_from_slice(bytemuck::bytes_of(&self.to_repr()));
        Ok(())
    }

    fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
        let repr: T::Repr = bytemuck::try_pod_read_unaligned(content).ok()?;
        T::is_valid(&repr).then(|| T::from_repr(repr))
    }

    fn blank(shape: &[usize], _: &DataType) -> Result<ArrayD<Self>> {
        blank(shape)
    }

    fn tile(output: BoxOutput<'_, Self>) -> Box<dyn Tile + '_> {
        T::moved(output)
    }

    fn cells(_: &DataType) -> impl ReadCells<Cell = Self> {
        Plain::CELLS
    }

    fn tiles(reading: SelectionRead<'_, Self>) -> Result<Tiles<'_>> {
        T::moved(reading)
    }

    fn source<'a>(input: BoxInput<'a, Self>) -> Box<dyn Source + 'a> {
        T::moved(input)
    }

    fn sources<'d>(writing: SelectionWrite<'d, '_, Self>) -> Result<Sources<'d>> {
        T::moved(writing)
    }

    fn check(values: ArrayViewD<'_, Self>, stored: &DataType) -> Result<()> {
        // For all other types, any value of the Rust type is valid in the array.
        if !matches!(stored, DataType::Int { bits } | DataType::UInt { bits } if *bits < 8)
            && !matches!(stored, DataType::SmallFloat(float) if float.bits() < 8)
            && !matches!(stored, DataType::Custom(_) if !stored.is_any_bits())
        {
            return Ok(());
        }
        let wrong = values
            .iter()
            .map(|value| value.to_repr())
            .find(|repr| !stored.is_element(bytemuck::bytes_of(repr)));
        match wrong {
            None => Ok(()),
            Some(repr) => {
                let what = not_an_element(bytemuck::bytes_of(&repr), stored);
                Err(Error::new(ErrorKind::InvalidArgument, what))
            }
        }
    }
}
