//! Reads and writes elements of a Rust type: the implementation behind both sides.

use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, CowArray, IxDyn};
use ndzarr_engine::{EngineCause, MakeTile, MemoryOrder, Part, Source, Tile};
use ndzarr_grid::Region;
use ndzarr_model::DataType;

use crate::convert_tile::FromBytes;
use crate::core::Core;
use crate::element::{Element, Input, Output};
use crate::error::{Error, ErrorKind, Result};
use crate::mask_source::MaskSource;
use crate::point_list::{Group, Mask, MaskRow};
use crate::point_tile::{PointSource, PointTile};
use crate::resolved::{Axes, OutAxis, Resolution, Resolved};
use crate::steps::{Picks, Selected};
use crate::storage::Colour;

/// How values of a Rust type are made of stored elements, and stored.
pub(crate) trait Values<T>: Sync {
    /// A result that is still to be read.
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<T>>;

    /// A tile for a view of a result; `fresh` if that is blank.
    fn tile<'o>(&'o self, view: ArrayViewMutD<'o, T>, axes: Selected, fresh: bool) -> Box<dyn Tile + 'o>;

    /// Makes a value of the content of one element.
    fn convert(&self) -> FromBytes<T>;
}

/// Elements of a stored type.
pub(crate) struct Stored<'d>(pub(crate) &'d DataType);

impl<T: Element> Values<T> for Stored<'_> {
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<T>> {
        T::blank(shape, self.0)
    }

    fn tile<'o>(&'o self, view: ArrayViewMutD<'o, T>, axes: Selected, fresh: bool) -> Box<dyn Tile + 'o> {
        T::tile(Output { view, axes, fresh, stored: self.0 })
    }

    fn convert(&self) -> FromBytes<T> {
        T::from_bytes(self.0)
    }
}

impl Core {
    /// Reads a selection into a new array in standard layout.
    pub(crate) async fn read_elements<T: Element>(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        self.read_values(resolved, &Stored(self.data_type())).await
    }

    /// Like [`read_elements`](Self::read_elements), for values of any kind.
    pub(crate) async fn read_values<T: Clone + Send + Sync>(
        &self,
        resolved: &Resolved,
        values: &impl Values<T>,
    ) -> Result<ArrayD<T>> {
        if let Resolution::Axes(axes) = &resolved.0
            && let Some(ascending) = axes.ascending()
        {
            let mut out = self.named(values.blank(&ascending.shape()))?;
            self.read_axes(&ascending, out.view_mut(), Fresh::Yes, values).await?;
            return Ok(axes.in_order(out));
        }
        let order = self.result_order(resolved);
        let mut out = self.named(blank(values, &resolved.shape(), order.as_deref()))?;
        self.read_into_view(resolved, out.view_mut(), Fresh::Yes, values).await?;
        Ok(out)
    }

    /// The axes of a result in the order in which its elements are to lie in memory; `None` for C
    /// order.
    fn result_order(&self, resolved: &Resolved) -> Option<Vec<usize>> {
        if self.options.memory_order != MemoryOrder::Stored {
            return None;
        }
        let Resolution::Axes(Axes { out, .. }) = &resolved.0 else { return None };
        let stored = self.data().ok()?.stored_axes();
        let mut order: Vec<usize> = (0..out.len()).collect();
        order.sort_by_key(|&at| match out[at] {
            OutAxis::New => None,
            OutAxis::Of(axis) => stored.iter().position(|&stored| stored == axis),
        });
        Some(order).filter(|order| !order.is_sorted())
    }

    /// Reads many selections as one task.
    pub(crate) async fn read_many_elements<T: Element>(
        &self,
        selections: &[Resolved],
    ) -> Result<Vec<ArrayD<T>>> {
        let (grid, stored) = (self.data()?.grid(), &Stored(self.data_type()));
        let ascending: Vec<Option<Resolved>> = selections.iter().map(Resolved::ascending).collect();
        let mut outs: Vec<Option<ArrayD<T>>> = selections.iter().map(|_| None).collect();
        let mut regions: Vec<(Region, MakeTile<'_>)> = Vec::new();
        for ((resolved, ascending), out) in selections.iter().zip(&ascending).zip(&mut outs) {
            match &ascending.as_ref().unwrap_or(resolved).0 {
                Resolution::Axes(axes) => {
                    let order = self.result_order(ascending.as_ref().unwrap_or(resolved));
                    regions.push((axes.region(), make_tile(axes, out, stored, order)));
                }
                Resolution::Mask(mask) if mask.is_large(grid) => {
                    *out = Some(self.read_elements(resolved).await?);
                }
                Resolution::Points(_) | Resolution::Mask(_) => {
                    let blank: ArrayD<T> = self.named(stored.blank(&resolved.shape()))?;
                    let groups = self.named(resolved.points().groups(grid))?;
                    regions.extend(point_tiles(groups, places(out.insert(blank).view_mut()), stored));
                }
            }
        }
        self.read_many(regions).await?;
        let in_order = |(resolved, out): (&Resolved, ArrayD<T>)| match &resolved.0 {
            Resolution::Axes(axes) => axes.in_order(out),
            Resolution::Points(_) | Resolution::Mask(_) => out,
        };
        Ok(selections.iter().zip(outs.into_iter().flatten()).map(in_order).collect())
    }

    /// Reads a selection into existing memory of its shape.
    pub(crate) async fn read_elements_into<T: Element>(
        &self,
        resolved: &Resolved,
        mut out: ArrayViewMutD<'_, T>,
    ) -> Result<()> {
        self.named(resolved.check_shape(out.shape()))?;
        if resolved.ascending().is_some() {
            out.assign(&self.read_elements(resolved).await?);
            return Ok(());
        }
        self.read_into_view(resolved, out, Fresh::No, &Stored(self.data_type())).await
    }

    /// Reads a selection whose lists are in ascending order.
    pub(crate) async fn read_into_view<T: Clone + Send + Sync>(
        &self,
        resolved: &Resolved,
        out: ArrayViewMutD<'_, T>,
        fresh: Fresh,
        values: &impl Values<T>,
    ) -> Result<()> {
        match &resolved.0 {
            Resolution::Axes(axes) => self.read_axes(axes, out, fresh, values).await,
            Resolution::Mask(mask) if mask.is_large(self.data()?.grid()) => {
                self.read_mask(mask, out, values).await
            }
            Resolution::Points(_) | Resolution::Mask(_) => {
                let groups = self.named(resolved.points().groups(self.data()?.grid()))?;
                self.read_many(point_tiles(groups, places(out), values)).await
            }
        }
    }

    /// Reads the chunks that have selected elements, some at a time, and takes those out of them.
    async fn read_mask<T: Clone + Send + Sync>(
        &self,
        mask: &Mask,
        mut out: ArrayViewMutD<'_, T>,
        values: &impl Values<T>,
    ) -> Result<()> {
        /// The bytes of the chunks that are in memory at once; of one, if that has more.
        const AT_ONCE: u64 = 64 << 20;
        let grid = self.inner_grid()?;
        let mut chunks = mask.chunks(&grid).map(|(_, region, _)| region).peekable();
        while chunks.peek().is_some() {
            let (mut selections, mut byte_len) = (Vec::new(), 0_u64);
            while byte_len < AT_ONCE
                && let Some(region) = chunks.next()
            {
                let n_elements = region.shape().iter().product::<u64>();
                byte_len = byte_len.saturating_add(n_elements.saturating_mul(size_of::<T>() as u64));
                selections.push((self.resolve(&region.ranges())?, region));
            }
            let mut found: Vec<Option<ArrayD<T>>> = selections.iter().map(|_| None).collect();
            let tiles = selections.iter().zip(&mut found).filter_map(|((resolved, region), found)| {
                let axes = resolved.in_order()?;
                Some((region.clone(), make_tile(axes, found, values, None)))
            });
            self.read_many(tiles.collect()).await?;
            let read = selections
                .iter()
                .zip(&found)
                .filter_map(|((_, region), found)| Some((region, found.as_ref()?)));
            for (region, elements) in read {
                for (row, MaskRow { numbers, results }) in elements.rows().into_iter().zip(mask.rows(region))
                {
                    let selected = mask.selected(numbers.clone()).map(|number| &row[number - numbers.start]);
                    results.zip(selected).for_each(|(to, element)| out[[to]].clone_from(element));
                }
            }
        }
        Ok(())
    }

    async fn read_axes<T: Send>(
        &self,
        axes: &Axes,
        out: ArrayViewMutD<'_, T>,
        fresh: Fresh,
        values: &impl Values<T>,
    ) -> Result<()> {
        let tile = values.tile(axes.unfold(out), selected(axes), fresh == Fresh::Yes);
        self.read_many(vec![(axes.region(), Box::new(|| Ok(tile)))]).await
    }

    /// Writes a selection.
    pub(crate) async fn write_elements<T: Element>(
        &self,
        resolved: &Resolved,
        data: ArrayViewD<'_, T>,
        colour: Colour,
    ) -> Result<()> {
        self.named(resolved.check_shape(data.shape()))?;
        self.named(T::check(data.view(), self.data_type()))?;
        self.write_view(resolved, data, colour).await
    }

    /// Sets every element of a selection to one value.
    pub(crate) async fn fill_elements<T: Element>(
        &self,
        resolved: &Resolved,
        value: T,
        colour: Colour,
    ) -> Result<()> {
        let value = ndarray::arr0(value);
        self.named(T::check(value.view().into_dyn(), self.data_type()))?;
        let ascending = resolved.ascending();
        let resolved = ascending.as_ref().unwrap_or(resolved);
        let view = value
            .broadcast(IxDyn(&resolved.shape()))
            .ok_or_else(|| Error::new(ErrorKind::WrongShape, "the selection is too large"));
        self.write_view(resolved, self.named(view)?, colour).await
    }

    /// Writes elements that were checked.
    pub(crate) async fn write_view<T: Element>(
        &self,
        resolved: &Resolved,
        data: ArrayViewD<'_, T>,
        colour: Colour,
    ) -> Result<()> {
        let stored = self.data_type();
        match &resolved.0 {
            Resolution::Axes(axes) => {
                let ascending = axes.ascending();
                let (axes, elements) = match &ascending {
                    Some(ascending) => {
                        (ascending, CowArray::from(ascending.unfold(axes.ascending_data(data))))
                    }
                    None => (axes, CowArray::from(axes.unfold(data))),
                };
                let source = T::source(Input { elements, axes: axes.picks(), stored });
                self.write_by(colour, &[(axes.region(), &*source)]).await
            }
            Resolution::Mask(mask) if mask.is_large(self.data()?.grid()) => {
                let convert = T::to_bytes(stored);
                let data =
                    data.into_dimensionality().map_err(|error| Error::new(ErrorKind::WrongShape, error));
                let data = self.named(data)?;
                let source = |(_, region, n)| {
                    let source = MaskSource::new(Arc::clone(mask), &region, n, data, Arc::clone(&convert));
                    (region, source)
                };
                self.write_parts(mask.chunks(self.data()?.grid()).map(source), colour).await
            }
            Resolution::Points(_) | Resolution::Mask(_) => {
                let convert = T::to_bytes(stored);
                let source = |Group { region, coordinates, points }: Group| {
                    let values = points.into_iter().map(|number| &data[[number]]);
                    let source =
                        PointSource::new(lengths(&region), coordinates, values, Arc::clone(&convert));
                    (region, source)
                };
                let groups = self.named(resolved.points().groups(self.data()?.grid()))?;
                self.write_parts(groups.into_iter().map(source), colour).await
            }
        }
    }

    async fn write_parts<S: Source>(
        &self,
        sources: impl Iterator<Item = (Region, S)>,
        colour: Colour,
    ) -> Result<()> {
        let sources: Vec<_> = sources.collect();
        let parts: Vec<Part<'_>> =
            sources.iter().map(|(region, source)| (region.clone(), source as &dyn Source)).collect();
        self.write_by(colour, &parts).await
    }

    /// Extends the array along an axis by elements.
    pub(crate) async fn append_elements<T: Element>(
        &mut self,
        axis: usize,
        data: ArrayViewD<'_, T>,
        colour: Colour,
    ) -> Result<()> {
        let stored = self.data_type().clone();
        self.named(T::check(data.view(), &stored))?;
        let elements = CowArray::from(data);
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        let axes = vec![Picks::ALL; elements.ndim()];
        let source = T::source(Input { axes, elements, stored: &stored });
        self.append(axis, &shape, &*source, colour).await
    }

    /// The selection of a chunk; in a sharded array, of an inner chunk.
    pub(crate) fn chunk(&self, chunk: &[u64]) -> Result<Resolved> {
        self.resolve(&&self.chunk_ranges(chunk, &self.inner_grid()?)?)
    }

    /// The fill value; zero if the metadata has none.
    pub(crate) fn fill_element<T: Element>(&self) -> T {
        let content = self.spec().fill_value.bytes();
        // It was checked when the document was read.
        T::from_content(content, self.data_type()).expect("a fill value is an element of its type")
    }
}

/// A result that is still to be read, with its axes in this order in memory.
fn blank<T>(values: &impl Values<T>, shape: &[usize], order: Option<&[usize]>) -> Result<ArrayD<T>> {
    let Some(order) = order else { return values.blank(shape) };
    let in_memory: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &axis)| places[axis] = place);
    Ok(values.blank(&in_memory)?.permuted_axes(IxDyn(&places)))
}

/// Makes the result of a selection, and its tile, just before it is read.
fn make_tile<'o, T: Send>(
    axes: &'o Axes,
    out: &'o mut Option<ArrayD<T>>,
    values: &'o impl Values<T>,
    order: Option<Vec<usize>>,
) -> MakeTile<'o> {
    Box::new(move || {
        let blank = blank(values, &axes.shape(), order.as_deref());
        let blank = blank.map_err(|error| EngineCause::Tile(error.into()))?;
        Ok(values.tile(axes.unfold(out.insert(blank).view_mut()), selected(axes), true))
    })
}

/// The places of the elements of a result.
fn places<T>(out: ArrayViewMutD<'_, T>) -> Vec<Option<&mut T>> {
    out.into_iter().map(Some).collect()
}

/// The tiles of points, made just before their chunk is read.
fn point_tiles<'o, T: Clone + Send + 'o>(
    groups: Vec<Group>,
    mut places: Vec<Option<&'o mut T>>,
    values: &impl Values<T>,
) -> Vec<(Region, MakeTile<'o>)> {
    let convert = values.convert();
    let tile = |Group { region, coordinates, points }: Group| {
        let (shape, convert) = (lengths(&region), Arc::clone(&convert));
        // Each point has a place of its own.
        let places: Vec<&mut T> = points.iter().filter_map(|&number| places[number].take()).collect();
        let make = move || {
            let tile: Box<dyn Tile + 'o> =
                Box::new(PointTile::new(shape, coordinates, places.into_iter(), convert));
            Ok(tile)
        };
        (region, Box::new(make) as MakeTile<'o>)
    };
    groups.into_iter().map(tile).collect()
}

pub(crate) fn lengths(region: &Region) -> Vec<usize> {
    region.shape().iter().map(|&n| n as usize).collect()
}

/// What a tile takes of its box.
pub(crate) fn selected(axes: &Axes) -> Selected {
    lengths(&axes.region()).into_iter().zip(axes.picks()).collect()
}

/// Whether memory is all zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    Yes,
    No,
}
