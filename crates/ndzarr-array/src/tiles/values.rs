//! How results are made of stored elements, tile by tile.

use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewMutD};
use ndzarr_codec::Swap;
use ndzarr_engine::{MakeTile, Source, Tile};
use ndzarr_grid::Region;
use ndzarr_model::DataType;

use crate::arrays::info::ArrayInfo;
use crate::error::Result;
use crate::selections::resolved::Resolved;
use crate::tiles::box_tile::TileAxis;
use crate::tiles::cells::FromBytes;
use crate::tiles::picked_parts::lengths;
use crate::tiles::point_list::Group;
use crate::tiles::point_tile::{PointTile, PutPoint};

/// What is read, and where to.
pub(crate) type Tiles<'o> = Vec<(Region, MakeTile<'o>)>;

/// What is written, and where.
pub(crate) type Sources<'d> = Vec<(Region, Box<dyn Source + 'd>)>;

/// Elements of a stored type.
pub(crate) struct Stored<'d>(pub(crate) &'d DataType);

/// Whether memory is all zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    Yes,
    No,
}

/// How values of a Rust type are made of stored elements. Behind the axes of a selection, a result may have one
/// more, of the values that an element consists of.
pub(crate) trait Values<T>: Sync {
    /// A result that is still to be read.
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<T>>;

    /// A tile for a view of a result; `fresh` if that is blank.
    fn tile<'o>(&'o self, view: ArrayViewMutD<'o, T>, axes: Vec<TileAxis>, fresh: bool)
    -> Box<dyn Tile + 'o>;

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

    /// The tiles of points, for a view of a result.
    fn point_tiles<'o>(&self, groups: Vec<Group>, view: ArrayViewMutD<'o, T>) -> Vec<(Region, MakeTile<'o>)>;
}

/// Passes on a tile that is there already.
pub(crate) fn made<'t>(tile: Box<dyn Tile + 't>) -> MakeTile<'t> {
    Box::new(|| Ok(tile))
}

/// The tiles of points, each of which is one value.
pub(crate) fn value_tiles<'o, T: Send>(
    groups: Vec<Group>,
    view: ArrayViewMutD<'o, T>,
    convert: FromBytes<T>,
) -> Vec<(Region, MakeTile<'o>)> {
    let put = move |place: &mut &'o mut T, content: &[u8], swap: &Swap| {
        **place = convert(content, swap)?;
        Ok(())
    };
    point_tiles(groups, view, Arc::new(put))
}

/// The tiles of points, made just before their chunk is read.
pub(crate) fn point_tiles<'o, P: Send + 'o>(
    groups: Vec<Group>,
    places: impl IntoIterator<Item = P>,
    put: PutPoint<'o, P>,
) -> Vec<(Region, MakeTile<'o>)> {
    let mut places: Vec<Option<P>> = places.into_iter().map(Some).collect();
    let tile = |Group { region, coordinates, points }: Group| {
        let (shape, put) = (lengths(&region), Arc::clone(&put));
        // Each point has a place of its own.
        let places: Vec<P> = points.iter().filter_map(|&number| places[number].take()).collect();
        let make = move || {
            let tile: Box<dyn Tile + 'o> = Box::new(PointTile::new(shape, coordinates, places, put));
            Ok(tile)
        };
        (region, Box::new(make) as MakeTile<'o>)
    };
    groups.into_iter().map(tile).collect()
}
