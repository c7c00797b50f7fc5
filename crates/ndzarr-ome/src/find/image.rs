//! `Image`: what the metadata of an image say, whatever its convention.

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
    /// Whether the metadata state the axes; else they are the usual ones.
    pub(crate) axes_are_stated: bool,
    pub(crate) levels: Vec<Level>,
    /// Whether the levels have no scales, so that the shapes of their arrays tell them.
    pub(crate) by_shape: bool,
    pub(crate) warnings: Vec<String>,
}

impl Image {
    pub(crate) fn new(convention: Convention, axes: Vec<Axis>, levels: Vec<Level>) -> Self {
        let warnings = Vec::new();
        Self {
            convention,
            name: None,
            method: None,
            axes,
            axes_are_stated: true,
            levels,
            by_shape: false,
            warnings,
        }
    }

    pub(crate) fn warn(&mut self, what: impl Into<String>) {
        if self.warnings.len() < MAX_MESSAGES {
            self.warnings.push(what.into());
        }
    }

    /// Sorts the levels from fine to coarse (OME-02), and warns where they do not line up (OME-06).
    pub(crate) fn ordered(mut self) -> Self {
        if self.levels.windows(2).any(|pair| pair[0].volume() > pair[1].volume()) {
            self.warn("the levels are not listed from fine to coarse");
            self.levels.sort_by(|a, b| a.volume().total_cmp(&b.volume()));
        }
        let sampled = matches!(self.method.as_deref(), Some("stride" | "nearest"));
        let off = self.levels.iter().skip(1).find(|level| !sampled && !self.lines_up(level));
        if let Some(level) = off {
            let what = format!(
                "the level {:?} is shifted against the finest: a mean of elements lies between them, \
                 and the translation does not say so",
                level.path
            );
            self.warn(what);
        }
        self
    }

    /// Whether the first element of a level begins where that of the finest one does.
    fn lines_up(&self, level: &Level) -> bool {
        let Some(finest) = self.levels.first() else { return true };
        let start = |level: &Level, at: usize| level.translation[at] - level.scale[at] / 2.0;
        (0..self.axes.len()).filter(|&at| self.axes[at].kind == AxisKind::Space).all(|at| {
            // Writers round.
            (start(level, at) - start(finest, at)).abs() <= 0.02 * finest.scale[at].abs()
        })
    }

    /// Takes the scales from the shapes of the arrays in C order, `None` for those that cannot be
    /// opened. The finest has the most elements, wherever it is listed (OME-02).
    pub(crate) fn scale_by_shapes(&mut self, shapes: &[Option<Vec<u64>>]) -> Result<(), String> {
        self.warn("no scales are stated: they follow from the shapes");
        let Some(n_axes) = shapes.iter().flatten().next().map(Vec::len) else { return Ok(()) };
        let n_elements = |shape: &[u64]| shape.iter().map(|&n| n as f64).product::<f64>();
        let alike = shapes.iter().flatten().filter(|shape| shape.len() == n_axes);
        let finest = alike.max_by(|a, b| n_elements(a).total_cmp(&n_elements(b)));
        let Some(finest) = finest.filter(|_| n_axes > 0) else {
            return Err("has a finest level without axes".to_owned());
        };
        // OME-Zarr 0.1 and 0.2 name five axes; arrays of fewer dimensions have the last of them. Axes
        // that are stated and differ from those of the array are an error later (OME-14).
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
            let Some(shape) = shape.as_ref().filter(|shape| shape.len() == finest.len()) else { continue };
            for (at, (&fine, &coarse)) in finest.iter().zip(shape).enumerate() {
                if fine > 0 && coarse > 0 {
                    // The scale so far is that of the finest level, which the entry may state.
                    let factor = fine as f64 / coarse as f64;
                    level.translation[at] += level.scale[at] * (factor - 1.0) / 2.0;
                    level.scale[at] *= factor;
                }
            }
            if level.scale.iter().chain(&level.translation).any(|number| !number.is_finite()) {
                return Err(format!("has a scale that is not finite, at the dataset {:?}", level.path));
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

/// Whether an array has its axes in the order of C, as those of Zarr have: x last.
pub(crate) fn is_in_c_order(array: &AnyArray) -> bool {
    use ndzarr::codec::CodecConfig::Transpose;
    // N5 stores x first. Its own order is a transpose of what is stored, the reversed one is not.
    array.format() != Format::N5
        || array.shape().len() > 1
            && !array.spec().codecs.iter().any(|codec| matches!(codec.config, Transpose { .. }))
}
