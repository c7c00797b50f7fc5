//! Reads and writes elements of a Rust type: the implementation of both sides.

use std::pin::Pin;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayView1, ArrayViewD, ArrayViewMutD, Axis, CowArray, IxDyn};
use ndzarr_engine::{EngineCause, MakeTile, MemoryOrder, Part, Source, Tile};
use ndzarr_grid::{Picks, Region};

use crate::arrays::info::ArrayInfo;
use crate::element_types::element::{BoxInput, BoxOutput, Element, SelectionRead, SelectionWrite};
use crate::error::{Error, ErrorKind, Result};
use crate::mode::{Blocking, Mode};
use crate::selections::point_list::ChunkPoints;
use crate::selections::resolved::{Axes, OutAxis, Resolution, Resolved};
use crate::tiles::box_tile::TileAxis;
use crate::tiles::cells::ToBytes;
use crate::tiles::picked_parts::lengths;
use crate::tiles::places::Places;
use crate::tiles::scatter::{ScatterSource, ScatterTile, SharedResult};
use crate::tiles::values::{Fresh, Sources, Stored, Tiles, Values, made};

impl<'o, T: Element> SelectionRead<'o, T> {
    pub(crate) fn tiles(self) -> Result<Tiles<'o>> {
        self.info
            .tiles(self.resolved, self.out, self.fresh, self.stored)
    }
}

impl<'d, T: Element> SelectionWrite<'d, '_, T> {
    pub(crate) fn sources(self) -> Result<Sources<'d>> {
        self.info.sources(self.resolved, self.data)
    }
}

impl<T: Element> Values<T> for Stored<'_> {
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<T>> {
        T::blank(shape, self.0)
    }

    fn tile<'o>(
        &'o self,
        view: ArrayViewMutD<'o, T>,
        axes: Vec<TileAxis>,
        fresh: bool,
    ) -> Box<dyn Tile + 'o> {
        T::tile(BoxOutput {
            view,
            axes,
            fresh,
            stored: self.0,
        })
    }

    fn tiles<'o>(
        &'o self,
        info: &'o ArrayInfo,
        resolved: &'o Resolved,
        out: ArrayViewMutD<'o, T>,
        fresh: Fresh,
    ) -> Result<Tiles<'o>> {
        T::tiles(SelectionRead {
            info,
            resolved,
            out,
            fresh,
            stored: self,
        })
    }

    fn scatter_tile<'o>(
        &'o self,
        places: Places,
        result: SharedResult<'o, T>,
    ) -> Box<dyn Tile + 'o> {
        Box::new(ScatterTile::new(places, result, T::cells(self.0)))
    }
}

impl ArrayInfo {
    /// Reads a selection into a new array in standard layout.
    pub(crate) async fn read_elements<T: Element>(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        self.read_values(resolved, &Stored(self.data_type())).await
    }

    /// [`read_elements`](Self::read_elements) for values of any kind.
    pub(crate) async fn read_values<T: Clone + Send + Sync>(
        &self,
        resolved: &Resolved,
        values: &impl Values<T>,
    ) -> Result<ArrayD<T>> {
        if let Resolution::Axes(axes) = &resolved.0
            && let Some(ascending) = axes.ascending()
        {
            let mut out = self.named(values.blank(&ascending.shape()))?;
            let ascending = Resolved(Resolution::Axes(ascending));
            self.read_into_view(&ascending, out.view_mut(), Fresh::Yes, values)
                .await?;
            return self.named(axes.in_order(out));
        }
        let order = self.result_order(resolved);
        let mut out = self.named(blank(values, &resolved.shape(), order.as_deref()))?;
        self.read_into_view(resolved, out.view_mut(), Fresh::Yes, values)
            .await?;
        Ok(out)
    }

    /// The axes of a result in the order in which its elements are to lie in memory; `None` for C
    /// order.
    fn result_order(&self, resolved: &Resolved) -> Option<Vec<usize>> {
        if self.options.memory_order != MemoryOrder::Stored {
            return None;
        }
        let Resolution::Axes(Axes { out, .. }) = &resolved.0 else {
            return None;
        };
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
        let stored = &Stored(self.data_type());
        let ascending: Vec<Option<Resolved>> = selections.iter().map(Resolved::ascending).collect();
        let mut outs: Vec<Option<ArrayD<T>>> = selections.iter().map(|_| None).collect();
        let mut regions: Vec<(Region, MakeTile<'_>)> = Vec::new();
        for ((resolved, ascending), out) in selections.iter().zip(&ascending).zip(&mut outs) {
            match &ascending.as_ref().unwrap_or(resolved).0 {
                Resolution::Axes(axes) => {
                    let order = self.result_order(ascending.as_ref().unwrap_or(resolved));
                    regions.push((axes.region(), make_tile(axes, out, stored, order)));
                }
                Resolution::Points(_) | Resolution::Mask(_) => {
                    let blank: ArrayD<T> = self.named(stored.blank(&resolved.shape()))?;
                    let out = out.insert(blank).view_mut();
                    regions.extend(stored.tiles(self, resolved, out, Fresh::Yes)?);
                }
            }
        }
        self.read_many(regions).await?;
        let in_order = |(resolved, out): (&Resolved, ArrayD<T>)| match &resolved.0 {
            Resolution::Axes(axes) => axes.in_order(out),
            Resolution::Points(_) | Resolution::Mask(_) => Ok(out),
        };
        self.named(
            selections
                .iter()
                .zip(outs.into_iter().flatten())
                .map(in_order)
                .collect(),
        )
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
        self.read_into_view(resolved, out, Fresh::No, &Stored(self.data_type()))
            .await
    }

    /// Reads a selection whose lists are in ascending order.
    async fn read_into_view<T: Clone + Send + Sync>(
        &self,
        resolved: &Resolved,
        out: ArrayViewMutD<'_, T>,
        fresh: Fresh,
        values: &impl Values<T>,
    ) -> Result<()> {
        self.read_many(values.tiles(self, resolved, out, fresh)?)
            .await
    }

    /// The tiles of a selection whose lists are in ascending order, made just before their chunks
    /// are read. Compiled once for each size of plain elements.
    #[inline(never)]
    pub(crate) fn tiles<'o, T: Clone + Send + Sync>(
        &self,
        resolved: &'o Resolved,
        out: ArrayViewMutD<'o, T>,
        fresh: Fresh,
        values: &'o impl Values<T>,
    ) -> Result<Tiles<'o>> {
        match &resolved.0 {
            Resolution::Axes(axes) => {
                let tile = values.tile(axes.unfold(out), selected(axes), fresh == Fresh::Yes);
                Ok(vec![(axes.region(), made(tile))])
            }
            Resolution::Mask(mask) if mask.is_large() => {
                let result = self.named(shared(out))?;
                let tile = |(_, region)| {
                    let places = Places::of_mask(mask, &region);
                    (region, made(values.scatter_tile(places, result.clone())))
                };
                Ok(mask.chunks(&self.inner_grid()?).map(tile).collect())
            }
            Resolution::Points(_) | Resolution::Mask(_) => {
                let result = self.named(shared(out))?;
                let points = resolved.points();
                let tile = |of_chunk: ChunkPoints| {
                    let points = Arc::clone(&points);
                    let result = result.clone();
                    let region = of_chunk.region.clone();
                    let make: MakeTile<'o> = Box::new(move || {
                        Ok(values.scatter_tile(Places::of_points(&points, &of_chunk), result))
                    });
                    (region, make)
                };
                Ok(self
                    .named(points.by_chunk(self.data()?.grid()))?
                    .into_iter()
                    .map(tile)
                    .collect())
            }
        }
    }

    /// Writes a selection.
    pub(crate) async fn write_elements<M: Mode, T: Element>(
        &self,
        resolved: &Resolved,
        data: ArrayViewD<'_, T>,
    ) -> Result<()> {
        self.named(resolved.check_shape(data.shape()))?;
        self.named(T::check(data.view(), self.data_type()))?;
        self.write_view::<M, T>(resolved, data).await
    }

    /// Writes a selection, on the calling thread where the store blocks.
    pub(crate) async fn write_elements_blocking<T: Element>(
        &self,
        resolved: &Resolved,
        data: ArrayViewD<'_, T>,
    ) -> Result<()> {
        self.write_elements::<Blocking, T>(resolved, data).await
    }

    /// Sets every element of a selection to one value.
    pub(crate) async fn fill_elements<M: Mode, T: Element>(
        &self,
        resolved: &Resolved,
        value: T,
    ) -> Result<()> {
        let value = ndarray::arr0(value);
        self.named(T::check(value.view().into_dyn(), self.data_type()))?;
        let ascending = resolved.ascending();
        let resolved = ascending.as_ref().unwrap_or(resolved);
        let view = value
            .broadcast(IxDyn(&resolved.shape()))
            .ok_or_else(|| Error::new(ErrorKind::WrongShape, "the selection is too large"));
        self.write_view::<M, T>(resolved, self.named(view)?).await
    }

    /// Writes elements that were checked.
    pub(crate) async fn write_view<M: Mode, T: Element>(
        &self,
        resolved: &Resolved,
        data: ArrayViewD<'_, T>,
    ) -> Result<()> {
        let sources = T::sources(SelectionWrite {
            info: self,
            resolved,
            data,
        })?;
        // Not part of the future of each type.
        let written: Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> =
            Box::pin(self.write_sources::<M>(sources));
        written.await
    }

    /// The sources of a selection. Compiled once for each size of plain elements, and not into each
    /// call that writes it.
    #[inline(never)]
    pub(crate) fn sources<'d, T: Element>(
        &'d self,
        resolved: &Resolved,
        data: ArrayViewD<'d, T>,
    ) -> Result<Sources<'d>> {
        let stored = self.data_type();
        let wrong = |error| Error::new(ErrorKind::WrongShape, error);
        match &resolved.0 {
            Resolution::Axes(axes) => {
                let ascending = axes.ascending();
                let (axes, elements) = match &ascending {
                    Some(ascending) => {
                        let data = self.named(axes.ascending_data(data))?;
                        (ascending, CowArray::from(ascending.unfold(data)))
                    }
                    None => (axes, CowArray::from(axes.unfold(data))),
                };
                let source = T::source(BoxInput {
                    elements,
                    axes: axes.picks(),
                    stored,
                });
                Ok(vec![(axes.region(), source)])
            }
            Resolution::Mask(mask) if mask.is_large() => {
                let to_bytes = T::to_bytes(stored);
                let data = self.named(data.into_dimensionality().map_err(wrong))?;
                let source = |(_, region)| {
                    let places = Places::of_mask(mask, &region);
                    (region, scatter_source(places, data, &to_bytes))
                };
                Ok(mask.chunks(self.data()?.grid()).map(source).collect())
            }
            Resolution::Points(_) | Resolution::Mask(_) => {
                let to_bytes = T::to_bytes(stored);
                let data = self.named(data.into_dimensionality().map_err(wrong))?;
                let points = resolved.points();
                let source = |of_chunk| {
                    let of_chunk = points.without_repeats(of_chunk);
                    let places = Places::of_points(&points, &of_chunk);
                    (of_chunk.region, scatter_source(places, data, &to_bytes))
                };
                Ok(self
                    .named(points.by_chunk(self.data()?.grid()))?
                    .into_iter()
                    .map(source)
                    .collect())
            }
        }
    }

    pub(crate) async fn write_sources<M: Mode>(&self, sources: Sources<'_>) -> Result<()> {
        let parts: Vec<Part<'_>> = sources
            .iter()
            .map(|(region, source)| (region.clone(), &**source as &dyn Source))
            .collect();
        M::write(self, &parts).await
    }

    /// Elements to be added, as a box.
    pub(crate) fn box_source<'d, T: Element>(
        &'d self,
        data: ArrayViewD<'d, T>,
    ) -> Result<Box<dyn Source + 'd>> {
        let stored = self.data_type();
        self.named(T::check(data.view(), stored))?;
        let axes = vec![Picks::ALL; data.ndim()];
        Ok(T::source(BoxInput {
            elements: CowArray::from(data),
            axes,
            stored,
        }))
    }

    /// The selection of a chunk; in a sharded array, of an inner chunk.
    pub(crate) fn chunk(&self, chunk: &[u64]) -> Result<Resolved> {
        self.resolve(&&self.chunk_ranges(chunk, &self.inner_grid()?)?)
    }

    /// The fill value; zero if the metadata has none.
    pub(crate) fn fill_element<T: Element>(&self) -> T {
        let content = self.spec().fill_value.bytes();
        // It was checked when the array got this type.
        T::from_content(content, self.data_type()).expect("a fill value is an element of its type")
    }
}

/// A result that is still to be read, with its axes in this order in memory.
fn blank<T>(
    values: &impl Values<T>,
    shape: &[usize],
    order: Option<&[usize]>,
) -> Result<ArrayD<T>> {
    let Some(order) = order else {
        return values.blank(shape);
    };
    let in_memory: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let mut places = vec![0; order.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(place, &axis)| places[axis] = place);
    Ok(values.blank(&in_memory)?.permuted_axes(IxDyn(&places)))
}

/// A result for scattered elements, of which each may have several cells.
fn shared<T>(out: ArrayViewMutD<'_, T>) -> Result<SharedResult<'_, T>> {
    let out = if out.ndim() == 1 {
        out.insert_axis(Axis(1))
    } else {
        out
    };
    let rows = out
        .into_dimensionality()
        .map_err(|error| Error::new(ErrorKind::WrongShape, error))?;
    Ok(SharedResult::new(rows))
}

/// The elements that are written to a region, of all that are selected.
fn scatter_source<'d, T: Element>(
    places: Places,
    values: ArrayView1<'d, T>,
    to_bytes: &ToBytes<T>,
) -> Box<dyn Source + 'd> {
    Box::new(ScatterSource::new(
        places,
        CowArray::from(values),
        Arc::clone(to_bytes),
    ))
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
        Ok(values.tile(
            axes.unfold(out.insert(blank).view_mut()),
            selected(axes),
            true,
        ))
    })
}

/// The axes of the tile of a selection.
pub(crate) fn selected(axes: &Axes) -> Vec<TileAxis> {
    let axis = |(len, picks)| TileAxis { len, picks };
    lengths(&axes.region())
        .into_iter()
        .zip(axes.picks())
        .map(axis)
        .collect()
}
