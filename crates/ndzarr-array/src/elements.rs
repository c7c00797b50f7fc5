//! Reads and writes elements of a Rust type: the implementation behind both sides.

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, CowArray, IxDyn};
use ndzarr_engine::{EngineCause, MakeTile, Tile};

use crate::core::Core;
use crate::element::{Element, Input, Output};
use crate::error::{Error, ErrorKind, Result};
use crate::selection::Resolved;
use crate::steps::Steps;
use crate::storage::Colour;

impl Core {
    /// Reads a selection into a new array in standard layout.
    pub(crate) async fn read_elements<T: Element>(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        let mut out = self.named(T::blank(&resolved.shape(), self.data_type()))?;
        let tile = self.tile(resolved, out.view_mut(), Fresh::Yes);
        self.read(&resolved.region(), tile).await?;
        Ok(out)
    }

    /// Reads many selections as one task.
    pub(crate) async fn read_many_elements<T: Element>(
        &self,
        selections: &[Resolved],
    ) -> Result<Vec<ArrayD<T>>> {
        let mut outs: Vec<Option<ArrayD<T>>> = selections.iter().map(|_| None).collect();
        let regions = selections.iter().zip(&mut outs);
        let regions =
            regions.map(|(resolved, out)| (resolved.region(), self.make_tile(resolved, out))).collect();
        self.read_many(regions).await?;
        Ok(outs.into_iter().flatten().collect())
    }

    /// Makes the result of a selection, and its tile, just before it is read.
    fn make_tile<'o, T: Element>(
        &'o self,
        resolved: &'o Resolved,
        out: &'o mut Option<ArrayD<T>>,
    ) -> MakeTile<'o> {
        Box::new(move || {
            let blank = T::blank(&resolved.shape(), self.data_type());
            let out = out.insert(blank.map_err(|error| EngineCause::Tile(error.into()))?);
            Ok(self.tile(resolved, out.view_mut(), Fresh::Yes))
        })
    }

    /// Reads a selection into existing memory of its shape.
    pub(crate) async fn read_elements_into<T: Element>(
        &self,
        resolved: &Resolved,
        out: ArrayViewMutD<'_, T>,
    ) -> Result<()> {
        self.named(resolved.check_shape(out.shape()))?;
        self.read(&resolved.region(), self.tile(resolved, out, Fresh::No)).await
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
        let elements = CowArray::from(resolved.unfold(data));
        let source = T::source(Input { elements, axes: resolved.steps(), stored: self.data_type() });
        self.write_by(colour, &resolved.region(), &*source).await
    }

    /// Sets every element of a selection to one value.
    pub(crate) async fn fill_elements<T: Element>(
        &self,
        resolved: &Resolved,
        value: T,
        colour: Colour,
    ) -> Result<()> {
        let value = ndarray::arr0(value);
        let shape = IxDyn(&resolved.shape());
        let view = value
            .broadcast(shape)
            .ok_or_else(|| Error::new(ErrorKind::WrongShape, "the selection is too large"));
        let view = self.named(view)?;
        self.named(T::check(value.view().into_dyn(), self.data_type()))?;
        let elements = CowArray::from(resolved.unfold(view));
        let source = T::source(Input { elements, axes: resolved.steps(), stored: self.data_type() });
        self.write_by(colour, &resolved.region(), &*source).await
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
        let axes = vec![Steps::ALL; elements.ndim()];
        let source = T::source(Input { axes, elements, stored: &stored });
        self.append(axis, &shape, &*source, colour).await
    }

    /// The selection of a chunk (of a shard, if the array is sharded).
    pub(crate) fn chunk(&self, chunk: &[u64]) -> Result<Resolved> {
        self.resolve(&&self.chunk_ranges(chunk, &self.grid()?)?)
    }

    /// The selection of an inner chunk.
    pub(crate) fn inner_chunk(&self, chunk: &[u64]) -> Result<Resolved> {
        self.resolve(&&self.chunk_ranges(chunk, &self.inner_grid()?)?)
    }

    /// The fill value; zero if the metadata has none.
    pub(crate) fn fill_element<T: Element>(&self) -> T {
        let content = self.spec().fill_value.bytes();
        // It was checked when the document was read.
        T::from_content(content, self.data_type()).expect("a fill value is an element of its type")
    }

    fn tile<'o, T: Element>(
        &'o self,
        resolved: &Resolved,
        view: ArrayViewMutD<'o, T>,
        fresh: Fresh,
    ) -> Box<dyn Tile + 'o> {
        let lens = resolved.region().shape();
        let axes = lens.iter().zip(resolved.steps()).map(|(&len, steps)| (len as usize, steps)).collect();
        let view = resolved.unfold(view);
        T::tile(Output { view, axes, fresh: fresh == Fresh::Yes, stored: self.data_type() })
    }
}

/// Whether memory is all zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fresh {
    Yes,
    No,
}
