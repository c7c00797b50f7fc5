//! How the cells of ndarrays are made of stored elements, and stored elements of cells: as they
//! are, as bytes, or converted one by one.

mod bytes;
mod converted;
mod plain;

use ndarray::{ArrayViewD, ArrayViewMutD};
use ndzarr_codec::{Elements, Swap, VlenBuffer};
use ndzarr_engine::EngineCause;

pub(crate) use self::bytes::{ReadBytes, WriteBytes, wrong_element};
pub(crate) use self::converted::{FromBytes, ToBytes, into_bytes};
pub(crate) use self::plain::Plain;
use crate::tiles::picked_parts::PickedPart;
use crate::tiles::places::Run;

/// Makes the cells of an ndarray of decoded elements.
#[doc(hidden)]
pub trait ReadCells: Clone + Send {
    /// A value of the ndarray. An element may consist of several, along the last axis.
    type Cell: Clone + Send;

    /// Decoded elements, of the size that the cells need.
    type Decoded<'e>;

    /// Returns `true` if cells are the memory of elements, and any bytes are valid ones.
    fn is_any_bits(&self) -> bool;

    /// # Errors
    /// The elements have another size.
    fn decoded<'e>(&self, elements: Elements<'e>) -> Result<Self::Decoded<'e>, EngineCause>;

    /// Puts elements into the cells of `dst`, bypassing the caches if they are `streamed`.
    ///
    /// # Errors
    /// One of them is not valid.
    fn put(
        &self,
        decoded: &Self::Decoded<'_>,
        part: &PickedPart<'_>,
        swap: &Swap,
        dst: ArrayViewMutD<'_, Self::Cell>,
        streamed: bool,
    ) -> Result<(), EngineCause>;

    /// Appends the cells of a run of elements.
    ///
    /// # Errors
    /// One of the elements is not valid.
    fn push_run(
        &self,
        decoded: &Self::Decoded<'_>,
        run: &Run,
        swap: &Swap,
        cells: &mut Vec<Self::Cell>,
    ) -> Result<(), EngineCause>;

    /// Sets all cells to the fill value, which is one element in native form.
    ///
    /// # Errors
    /// It is not valid.
    fn fill(&self, fill: &[u8], dst: ArrayViewMutD<'_, Self::Cell>) -> Result<(), EngineCause>;

    /// The memory of cells, if any bytes are valid there.
    fn memory<'m>(&self, cells: &'m mut [Self::Cell]) -> Option<&'m mut [u8]>;
}

/// Makes stored elements of the cells of an ndarray.
pub(crate) trait WriteCells: Clone + Send + Sync + 'static {
    /// A value of the ndarray. An element may consist of several, along the last axis.
    type Cell: Clone + Send + Sync;

    /// Elements are the memory of cells.
    const IS_MEMORY: bool;

    /// Copies elements of fixed size to their places in `out`.
    fn gather(&self, src: ArrayViewD<'_, Self::Cell>, out: &mut [u8], part: &PickedPart<'_>);

    /// Copies elements of variable size to their places in `out`.
    ///
    /// # Errors
    /// They have a fixed size.
    fn gather_vlen(
        &self,
        src: ArrayViewD<'_, Self::Cell>,
        out: &mut VlenBuffer,
        part: &PickedPart<'_>,
    ) -> Result<(), EngineCause> {
        let _ = (src, out, part);
        Err(EngineCause::Element(
            "elements of a fixed size from the source".to_owned(),
        ))
    }
}

/// The bytes of elements, which must have this size.
fn of_size(elements: Elements<'_>, expected: usize) -> Result<&[u8], EngineCause> {
    match elements {
        Elements::Fixed { bytes, size } if size == expected => Ok(bytes),
        Elements::Fixed { size, .. } => Err(EngineCause::Element(format!(
            "elements of {size} bytes for a type of {expected}"
        ))),
        Elements::Vlen { .. } => Err(EngineCause::Element(
            "elements of variable size in an array of elements of fixed size".to_owned(),
        )),
    }
}
