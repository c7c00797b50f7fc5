//! Selections that depend on more of an array than its shape: by name, and by chunk.

use std::ops::Range;

use ndarray::IxDyn;
use ndzarr_grid::Region;

use crate::arrays::info::ArrayInfo;
use crate::error::Result;
use crate::selections::axis_selection::{AxisBounds, AxisSelection, Bounds};
use crate::selections::resolved::Resolved;
use crate::selections::selection::{Selection, bounds, wrong};

/// What to select along dimensions, by their names; see
/// [`ArrayInfo::by_name`](crate::ArrayInfo::by_name).
///
/// Dimensions that are not mentioned are selected whole. The axes of the result are in the order of
/// the array, without those that an index drops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Of all dimensions.
    names: Vec<Option<String>>,
    axes: Vec<(String, AxisBounds)>,
}

impl Named {
    /// Only this along a dimension.
    #[must_use]
    pub fn axis(mut self, name: impl Into<String>, selection: impl AxisSelection) -> Self {
        self.axes.push((name.into(), selection.bounds()));
        self
    }
}

impl Selection for Named {
    type OutDim = IxDyn;

    /// # Errors
    /// No dimension or several have a name, or a name is given twice. Also the errors of any
    /// selection.
    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        let names = &self.names;
        let mut axes = vec![AxisBounds::range(0, None); names.len()];
        let mut given = vec![false; names.len()];
        for (name, selection) in &self.axes {
            let mut with_name = (0..names.len()).filter(|&axis| names[axis].as_ref() == Some(name));
            let Some(axis) = with_name.next() else {
                return Err(wrong(format!(
                    "no dimension {name:?} among {}",
                    listed(names)
                )));
            };
            if with_name.next().is_some() {
                return Err(wrong(format!("several dimensions have the name {name:?}")));
            }
            if given[axis] {
                return Err(wrong(format!("the dimension {name:?} is selected twice")));
            }
            if selection.0 == Bounds::NewAxis {
                return Err(wrong(format!(
                    "a new axis in place of the dimension {name:?}"
                )));
            }
            (axes[axis], given[axis]) = (selection.clone(), true);
        }
        bounds(axes.into_iter(), shape)
    }
}

fn listed(names: &[Option<String>]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| {
            name.as_ref()
                .map_or("(no name)".to_owned(), |name| format!("{name:?}"))
        })
        .collect();
    names.join(", ")
}

impl ArrayInfo {
    /// A selection by the names of the dimensions.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let a = Array::<u8>::builder([4, 2, 3]).dimension_names(["time", "lat", "lon"]);
    /// let a = a.create((MemoryStore::new(), "a"))?;
    /// let found = a.read(a.by_name().axis("lon", vec![2, 0]).axis("time", -1))?;
    /// assert_eq!(found.shape(), [2, 2]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn by_name(&self) -> Named {
        let unnamed = || vec![None; self.shape().len()];
        Named {
            names: self.dimension_names().map_or_else(unnamed, <[_]>::to_vec),
            axes: Vec::new(),
        }
    }

    /// The region of whole chunks, by an index or a range of them along each axis. In a sharded
    /// array, these are the inner chunks.
    ///
    /// # Errors
    /// The selection does not fit the grid of the chunks, or selects otherwise.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let a = Array::<u8>::builder([10, 10]).chunks([4, 3]).create((MemoryStore::new(), "a"))?;
    /// assert_eq!(a.read(a.blocks((1..3, -1))?)?.shape(), [6, 1]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn blocks(&self, chunks: impl Selection) -> Result<Region> {
        let grid = self.inner_grid()?;
        let region = self
            .named(chunks.resolve(&grid.grid_shape()))?
            .dense_region();
        let region = region.ok_or_else(|| {
            self.name(wrong(
                "blocks are selected by an index or a range for each axis".to_owned(),
            ))
        })?;
        let along = |(axis, chunks): (usize, &Range<u64>)| {
            if chunks.is_empty() {
                0..0
            } else {
                let end = grid.range_along(axis, chunks.end - 1).end;
                grid.range_along(axis, chunks.start).start..end.min(grid.array_shape()[axis])
            }
        };
        Ok(Region::new(region.ranges().iter().enumerate().map(along)))
    }
}
