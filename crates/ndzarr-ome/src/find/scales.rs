//! `Scales`: the levels `s0`, `s1` and so on in a group, as N5's viewers and COSEM write them.

use ndzarr::{AnyArray, AnyNode, Format, Group};
use serde_json::Value;

use crate::axis::{Axis, AxisKind};
use crate::convention::Convention;
use crate::find::entry::CosemTransform;
use crate::find::image::{Image, is_in_c_order};
use crate::find::transformation::Placement;
use crate::io::Children;
use crate::json::{Object, numbers, shown, text};
use crate::levels::level::Level;

/// The items of a list whose names are a prefix and a number, in the order of the numbers.
pub(crate) fn numbered<N>(named: Vec<(String, N)>, prefix: &str) -> Vec<(u32, N)> {
    let number = |name: &str| {
        let digits = name.strip_prefix(prefix)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(digits)?
            .parse()
            .ok()
    };
    let mut found: Vec<_> = named
        .into_iter()
        .filter_map(|(name, node)| Some((number(&name)?, node)))
        .collect();
    found.sort_by_key(|(number, _)| *number);
    found
}

/// The levels in a group.
pub(crate) struct Scales<'a> {
    attributes: &'a Object,
    format: Format,
    /// Each with its number, which is the index of its factors in lists (OME-08).
    arrays: Vec<(u32, &'a AnyArray)>,
    /// The factors of a setup of BigDataViewer.
    factors: Option<&'a Value>,
    broken: &'a [(String, String)],
}

impl<'a> Scales<'a> {
    pub(crate) fn of(group: &'a Group, children: &'a Children) -> Self {
        let arrays = children.nodes.iter().filter_map(|(name, node)| match node {
            AnyNode::Array(array) => Some((name.clone(), array)),
            AnyNode::Group(_) => None,
        });
        let arrays = numbered(arrays.collect(), "s");
        let attributes = group.attributes();
        let factors = attributes
            .get("downsamplingFactors")
            .or_else(|| attributes.get("scales"));
        Self {
            attributes,
            format: group.format(),
            arrays,
            factors,
            broken: &children.broken,
        }
    }

    pub(crate) fn with_factors(self, factors: Option<&'a Value>) -> Self {
        Self {
            factors: factors.or(self.factors),
            ..self
        }
    }

    /// The image; `None` if there are no levels.
    pub(crate) fn image(&self, convention: Convention) -> Result<Option<Image>, String> {
        if let Some(image) = self.cosem()? {
            return Ok(Some(image));
        }
        let Some((_, finest)) = self.arrays.first() else {
            return Ok(None);
        };
        let n_axes = finest.shape().len();
        // An array may have the name `s0` by chance.
        let keys = [
            "multiScale",
            "downsamplingFactors",
            "scales",
            "pixelResolution",
            "resolution",
        ];
        let is_stated = self.factors.is_some()
            || keys.iter().any(|key| self.attributes.contains_key(*key))
            || self
                .arrays
                .iter()
                .any(|(_, array)| array.attributes().contains_key("downsamplingFactors"));
        if n_axes == 0 || !is_stated && self.arrays.len() < 2 {
            return Ok(None);
        }
        let mut warnings = Vec::new();
        let size = self.voxel_size(n_axes, &mut warnings);
        let offset = self
            .attributes
            .get("offset")
            .and_then(numbers)
            .filter(|list| list.len() == n_axes);
        let mut levels = Vec::with_capacity(self.arrays.len());
        for (number, array) in &self.arrays {
            if array.shape().len() != n_axes {
                warnings.push(format!(
                    "the level \"s{number}\" has {} axes, not {n_axes}",
                    array.shape().len()
                ));
                continue;
            }
            let factors = self.factors_of(*number, array, n_axes, &mut warnings);
            let mut placement = Placement::identity(n_axes);
            // A factor f puts f elements together: their centre is (f - 1) / 2 after that of the
            // first.
            placement.translate_by(
                &factors
                    .iter()
                    .map(|factor| (factor - 1.0) / 2.0)
                    .collect::<Vec<_>>(),
            );
            placement.scale.copy_from_slice(&factors);
            placement.scale_by(&size);
            if let Some(offset) = &offset {
                placement.translate_by(offset);
            }
            let placement = placement.without_zeros()?;
            levels.push(Level::new(
                format!("s{number}"),
                placement.scale,
                placement.translation,
            ));
        }
        let mut image = Image::new(convention, self.axes(n_axes), levels);
        image.name = self.attributes.get("name").and_then(text);
        image.warn_all(warnings);
        self.warn_of_broken(&mut image);
        let image = image.ordered();
        // All lists are in the order of N5, x first.
        Ok(Some(if is_in_c_order(finest) {
            image.reversed()
        } else {
            image
        }))
    }

    /// The image of arrays that have an attribute `transform` (OME-07).
    pub(crate) fn cosem(&self) -> Result<Option<Image>, String> {
        let mut levels = Vec::new();
        let mut axes = Vec::new();
        let mut finest = None;
        for (number, array) in &self.arrays {
            let Some(transform) = array
                .attributes()
                .get("transform")
                .filter(|t| t.is_object())
            else {
                continue;
            };
            let at_level = |what: String| format!("{what}, at \"s{number}\"");
            let transform = CosemTransform::read(transform).map_err(at_level)?;
            let n_axes = array.shape().len();
            if transform.axes.len() != n_axes {
                let what = format!(
                    "has a transform of {} axes for {n_axes}",
                    transform.axes.len()
                );
                return Err(at_level(what));
            }
            if finest.is_none() {
                axes = transform.axes;
                finest = Some(array);
            }
            levels.push(Level::new(
                format!("s{number}"),
                transform.placement.scale,
                transform.placement.translation,
            ));
        }
        let Some(finest) = finest else {
            return Ok(None);
        };
        if levels.iter().any(|level| level.scale.len() != axes.len()) {
            return Err("has transforms of several numbers of axes".to_owned());
        }
        let mut image = Image::new(Convention::Cosem, axes, levels);
        self.warn_of_broken(&mut image);
        let image = image.ordered();
        let is_reversed = self.format == Format::N5 && !is_in_c_order(finest);
        Ok(Some(if is_reversed { image.reversed() } else { image }))
    }

    fn warn_of_broken(&self, image: &mut Image) {
        let named = self
            .broken
            .iter()
            .map(|(name, what)| (name.clone(), (name, what)));
        for (_, (name, what)) in numbered(named.collect(), "s") {
            image.warn(format!("the level {name:?} cannot be opened: {what}"));
        }
    }

    /// The size of an element of the finest level along each axis (OME-09).
    fn voxel_size(&self, n_axes: usize, warnings: &mut Vec<String>) -> Vec<f64> {
        let pixel = self.attributes.get("pixelResolution");
        let lists = [
            pixel.map(|pixel| &pixel["dimensions"]),
            pixel,
            self.attributes.get("resolution"),
        ];
        let fits = |list: &Vec<f64>| {
            list.len() == n_axes && list.iter().all(|size| size.is_finite() && *size != 0.0)
        };
        let size = lists
            .into_iter()
            .flatten()
            .find_map(|list| numbers(list).filter(fits));
        size.unwrap_or_else(|| {
            warnings.push("no size of voxels is stated: read as 1, without a unit".to_owned());
            vec![1.0; n_axes]
        })
    }

    /// The factors of a level against the finest, one for each axis.
    fn factors_of(
        &self,
        number: u32,
        array: &AnyArray,
        n_axes: usize,
        warnings: &mut Vec<String>,
    ) -> Vec<f64> {
        let of_array = array.attributes().get("downsamplingFactors");
        let listed = self.factors.and_then(|list| list.get(number as usize));
        for list in [of_array, listed].into_iter().flatten() {
            // A single number is the factor of all axes.
            let factors =
                numbers(list).or_else(|| list.as_f64().map(|factor| vec![factor; n_axes]));
            let is_valid = |list: &Vec<f64>| {
                list.len() == n_axes && list.iter().all(|f| f.is_finite() && *f > 0.0)
            };
            if let Some(factors) = factors.filter(is_valid) {
                return factors;
            }
            warnings.push(format!(
                "the factors {} of the level \"s{number}\" are ignored",
                shown(list)
            ));
        }
        if number > 0 {
            warnings.push(format!(
                "no factors are stated for the level \"s{number}\": read as 2 to the power of {number}"
            ));
        }
        vec![2f64.powi(number.min(63) as i32); n_axes]
    }

    /// The axes, in the order of N5 (OME-21).
    fn axes(&self, n_axes: usize) -> Vec<Axis> {
        let listed = |key: &str| {
            let list = self
                .attributes
                .get(key)?
                .as_array()?
                .iter()
                .map(text)
                .collect::<Option<Vec<_>>>()?;
            (list.len() == n_axes).then_some(list)
        };
        let usual = ["x", "y", "z", "c", "t"];
        let usual = |at: usize| {
            usual
                .get(at)
                .map_or_else(|| format!("d{at}"), |name| (*name).to_owned())
        };
        let names = listed("axes").unwrap_or_else(|| (0..n_axes).map(usual).collect());
        let voxel_unit = self
            .attributes
            .get("pixelResolution")
            .and_then(|pixel| text(&pixel["unit"]));
        let units = listed("units");
        let mut axes = Vec::with_capacity(n_axes);
        for (at, name) in names.into_iter().enumerate() {
            let unit = units.as_ref().map(|units| units[at].clone());
            let mut axis = Axis::stated(name, None, unit);
            // The unit of voxels is one of space.
            if axis.unit.is_none() && axis.kind == AxisKind::Space {
                axis.unit.clone_from(&voxel_unit);
            }
            axes.push(axis);
        }
        axes
    }
}
