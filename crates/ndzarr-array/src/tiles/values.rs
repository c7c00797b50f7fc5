//! How results are made of stored elements, tile by tile.

use ndarray::{ArrayD, ArrayViewMutD};
use ndzarr_engine::{MakeTile, Source, Tile};
use ndzarr_grid::Region;
use ndzarr_model::DataType;

use crate::arrays::info::ArrayInfo;
use crate::error::Result;
use crate::selections::resolved::Resolved;
use crate::tiles::box_tile::TileAxis;
use crate::tiles::places::Places;
use crate::tiles::scatter::SharedResult;

/// What is read, and where to.
pub(crate) type Tiles<'o> = Vec<(Region, MakeTile<'o>)>;

/// What is written, and where.
pub(crate) type Sources<'d> = Vec<(Region, Box<dyn Source + 'd>)>;

/// Elements of a stored type.
pub(crate) struct Stored<'d>(pub(crate) &'d DataType);

/// The state of memory that elements are read into: new memory is all zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    Yes,
    No,
}

/// How values of a Rust type are made of stored elements. After the axes of a selection, a result
/// may have one more, of the values that an element consists of.
pub(crate) trait Values<T>: Sync {
    /// A result that is still to be read.
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<T>>;

    /// A tile for a view of a result; `fresh` if that is blank.
    fn tile<'o>(
        &'o self,
        view: ArrayViewMutD<'o, T>,
        axes: Vec<TileAxis>,
        fresh: bool,
    ) -> Box<dyn Tile + 'o>;

    /// The tiles of a selection whose lists are in ascending order.
    fn tiles<'o>(
        &'o self,
        info: &'o ArrayInfo,
        resolved: &'o Resolved,
        out: ArrayViewMutD<'o, T>,
        fresh: Fresh,
    ) -> Result<Tiles<'o>>
    where
        Self: Sized,
        T: Clone + Send + Sync,
    {
        info.tiles(resolved, out, fresh, self)
    }

    /// A tile of scattered elements.
    fn scatter_tile<'o>(
        &'o self,
        places: Places,
        result: SharedResult<'o, T>,
    ) -> Box<dyn Tile + 'o>;
}

/// Passes on a tile that was made before.
pub(crate) fn made<'t>(tile: Box<dyn Tile + 't>) -> MakeTile<'t> {
    Box::new(|| Ok(tile))
}
