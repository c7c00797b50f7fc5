//! `Level`: one resolution of an image, and its coordinates.

use std::ops::Range;

use ndzarr::Region;

/// One resolution of an image.
///
/// Along each axis the centre of the element with index `i` lies at `scale * i + translation`, in
/// the unit of the axis; the element reaches half a scale to either side.
///
/// ```
/// # use ndzarr::{DataType, Format, MemoryStore};
/// # use ndzarr_ome::{Axis, Multiscale, NewMultiscale};
/// # let axes = [(Axis::new("y").with_unit("micrometer"), 64), (Axis::new("x").with_unit("micrometer"), 64)];
/// # let new = NewMultiscale::new(DataType::UInt { bits: 8 }, axes).scale([0.5, 0.25]).levels(2);
/// # let image = Multiscale::create(MemoryStore::new(), Format::Zarr3, &new, |layout| layout)?;
/// let half = &image.levels[1];
/// assert_eq!((&half.scale[..], &half.translation[..]), (&[1.0, 0.5][..], &[0.25, 0.125][..]));
/// assert_eq!(half.to_physical(&[2.0, 3.0]), [2.25, 1.625]);
/// assert_eq!(half.to_index(&[2.25, 1.625]), [2.0, 3.0]);
///
/// // The elements that a box of 2 µm overlaps.
/// let region = half.region(&[10.0..12.0, 1.0..3.0], image.array(1)?.shape());
/// assert_eq!(region.ranges(), [10..13, 2..7]);
/// # Ok::<(), ndzarr_ome::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Level {
    /// The path of its array from the group of the image.
    pub path: String,
    /// The size of an element along each axis, in the unit of the axis.
    pub scale: Vec<f64>,
    /// The coordinate of the centre of the first element along each axis.
    pub translation: Vec<f64>,
}

impl Level {
    pub(crate) fn new(path: String, scale: Vec<f64>, translation: Vec<f64>) -> Self {
        Self {
            path,
            scale,
            translation,
        }
    }

    /// The coordinates of a point, one for each axis, from its index, in which whole numbers are
    /// centres of elements. Axes that one of the lists lacks are left out.
    #[must_use]
    pub fn to_physical(&self, index: &[f64]) -> Vec<f64> {
        self.along_each_axis(index, |scale, translation, index| {
            scale * index + translation
        })
    }

    /// The index of a point, with a fraction, from its coordinates.
    #[must_use]
    pub fn to_index(&self, physical: &[f64]) -> Vec<f64> {
        self.along_each_axis(physical, |scale, translation, physical| {
            (physical - translation) / scale
        })
    }

    /// The region of an array of this shape that a box overlaps; `bounds` are the coordinates of
    /// the box along each axis. It can be read: `array.read(region)`. It contains all elements
    /// along axes that `bounds` lacks, and none along an axis on which the box is outside.
    #[must_use]
    pub fn region(&self, bounds: &[Range<f64>], shape: &[u64]) -> Region {
        let starts = self.to_index(&bounds.iter().map(|bound| bound.start).collect::<Vec<_>>());
        let ends = self.to_index(&bounds.iter().map(|bound| bound.end).collect::<Vec<_>>());
        let mut bounds = starts.into_iter().zip(ends);
        Region::new(shape.iter().map(|&len| match bounds.next() {
            // The element i reaches from i - 1/2 to i + 1/2. `as` saturates, and turns NaN into 0.
            Some((a, b)) => {
                let start = ((a.min(b) + 0.5).floor() as u64).min(len);
                start..((a.max(b) + 0.5).ceil() as u64).clamp(start, len)
            }
            None => 0..len,
        }))
    }

    /// Calls with the scale, the translation and the coordinate or index of each axis.
    fn along_each_axis(&self, point: &[f64], convert: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let axes = self.scale.iter().zip(&self.translation).zip(point);
        axes.map(|((&scale, &translation), &along)| convert(scale, translation, along))
            .collect()
    }

    /// The size of an element, for the order of levels.
    pub(crate) fn volume(&self) -> f64 {
        self.scale.iter().map(|scale| scale.abs()).product()
    }
}
