//! `Image`: the metadata of an image, the same for all conventions.

use ndzarr::{AnyArray, Format};

use crate::axis::{Axis, AxisKind};
use crate::convention::Convention;
use crate::json::MAX_MESSAGES;
use crate::levels::level::Level;

/// An image as its metadata describe it.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) convention: Convention,
    pub(crate) name: Option<String>,
    /// How its levels were made.
    pub(crate) method: Option<String>,
    pub(crate) axes: Vec<Axis>,
    /// True if the metadata state the axes; otherwise they are the usual ones.
    pub(crate) axes_are_stated: bool,
    pub(crate) levels: Vec<Level>,
    /// True if the metadata state no scales, which then follow from the shapes of the arrays.
    pub(crate) needs_shapes: bool,
    pub(crate) warnings: Vec<String>,
}

impl Image {
    pub(crate) fn new(convention: Convention, axes: Vec<Axis>, levels: Vec<Level>) -> Self {
        Self {
            convention,
            name: None,
            method: None,
            axes,
            axes_are_stated: true,
            levels,
            needs_shapes: false,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn warn(&mut self, what: impl Into<String>) {
        if self.warnings.len() < MAX_MESSAGES {
            self.warnings.push(what.into());
        }
    }

    pub(crate) fn warn_all(&mut self, warnings: Vec<String>) {
        for what in warnings {
            self.warn(what);
        }
    }

    /// Sorts the levels from fine to coarse (OME-02), and warns if they do not line up (OME-06).
    pub(crate) fn ordered(mut self) -> Self {
        if self
            .levels
            .windows(2)
            .any(|pair| pair[0].volume() > pair[1].volume())
        {
            self.warn("the levels are not listed from fine to coarse");
            self.levels
                .sort_by(|a, b| a.volume().total_cmp(&b.volume()));
        }
        let is_sampled = matches!(self.method.as_deref(), Some("stride" | "nearest"));
        let shifted = self
            .levels
            .iter()
            .skip(1)
            .find(|level| !is_sampled && !self.lines_up(level));
        if let Some(level) = shifted {
            let what = format!(
                "the level {:?} is shifted against the finest: a mean of elements lies between them, \
                 and the translation does not say so",
                level.path
            );
            self.warn(what);
        }
        self
    }

    /// True if the first element of a level begins at the same coordinates as that of the finest
    /// one.
    fn lines_up(&self, level: &Level) -> bool {
        let Some(finest) = self.levels.first() else {
            return true;
        };
        let start = |level: &Level, at: usize| level.translation[at] - level.scale[at] / 2.0;
        (0..self.axes.len())
            .filter(|&at| self.axes[at].kind == AxisKind::Space)
            .all(|at| {
                // Writers round.
                (start(level, at) - start(finest, at)).abs() <= 0.02 * finest.scale[at].abs()
            })
    }

    /// Computes the scales from the shapes of the arrays, in C order; `None` for those that cannot
    /// be opened. The finest level is the one with the most elements, wherever it is listed
    /// (OME-02).
    pub(crate) fn scale_by_shapes(&mut self, shapes: &[Option<Vec<u64>>]) -> Result<(), String> {
        self.warn("no scales are stated: they follow from the shapes");
        let Some(n_axes) = shapes.iter().flatten().next().map(Vec::len) else {
            return Ok(());
        };
        let n_elements = |shape: &[u64]| shape.iter().map(|&n| n as f64).product::<f64>();
        let candidates = shapes
            .iter()
            .flatten()
            .filter(|shape| shape.len() == n_axes);
        let finest = candidates.max_by(|a, b| n_elements(a).total_cmp(&n_elements(b)));
        let Some(finest) = finest.filter(|_| n_axes > 0) else {
            return Err("has a finest level without axes".to_owned());
        };
        // OME-Zarr 0.1 and 0.2 define five axes; arrays of fewer dimensions have the last of them.
        // Stated axes that differ from those of the array are an error later (OME-14).
        if !self.axes_are_stated && finest.len() < self.axes.len() {
            let surplus = self.axes.len() - finest.len();
            self.axes.drain(..surplus);
            for level in &mut self.levels {
                level.scale.drain(..surplus);
                level.translation.drain(..surplus);
            }
        }
        if finest.len() != self.axes.len() {
            return Ok(());
        }
        for (level, shape) in self.levels.iter_mut().zip(shapes) {
            let Some(shape) = shape.as_ref().filter(|shape| shape.len() == finest.len()) else {
                continue;
            };
            for (at, (&fine, &coarse)) in finest.iter().zip(shape).enumerate() {
                if fine > 0 && coarse > 0 {
                    // Until here, the scale is that of the finest level, which the entry may state.
                    let factor = fine as f64 / coarse as f64;
                    level.translation[at] += level.scale[at] * (factor - 1.0) / 2.0;
                    level.scale[at] *= factor;
                }
            }
            if level
                .scale
                .iter()
                .chain(&level.translation)
                .any(|number| !number.is_finite())
            {
                return Err(format!(
                    "has a scale that is not finite, at the dataset {:?}",
                    level.path
                ));
            }
        }
        Ok(())
    }

    /// Reverses the order of all axes.
    pub(crate) fn reversed(mut self) -> Self {
        self.axes.reverse();
        for level in &mut self.levels {
            level.scale.reverse();
            level.translation.reverse();
        }
        self
    }
}

/// True if the axes of an array are in C order, x last, as in Zarr.
pub(crate) fn is_in_c_order(array: &AnyArray) -> bool {
    use ndzarr::codec::CodecConfig::Transpose;
    // N5 stores x first. An array in this order has a transpose; one with reversed axes has none.
    array.format() != Format::N5
        || array.shape().len() > 1
            && !array
                .spec()
                .codecs
                .iter()
                .any(|codec| matches!(codec.config, Transpose { .. }))
}
