//! `NewMultiscale`: describes a new image, and writes its metadata.

use ndzarr::{
    Any, AnyArray, ArrayBuilder, DataType, Existing, Format, Group, GroupBuilder, MemoryStore,
};
use serde_json::{Value, json};

use crate::axis::{Axis, AxisKind};
use crate::error::{Error, Result};
use crate::json::Object;
use crate::levels::downsample::Downsample;
use crate::levels::make_levels::{MAX_PER_ELEMENT, n_per_element};
use crate::metadata::Metadata;

/// Describes a new image for `create` of [`Multiscale`](crate::Multiscale).
///
/// ```
/// use ndzarr::{DataType, Format, MemoryStore, RunOptions, ndarray::Array3};
/// use ndzarr_ome::{Axis, Downsample, Multiscale, NewMultiscale};
///
/// let micrometers = |name| Axis::new(name).with_unit("micrometer");
/// let axes = [(Axis::new("c"), 2), (micrometers("y"), 512), (micrometers("x"), 512)];
/// let new = NewMultiscale::new(DataType::UInt { bits: 16 }, axes).scale([1.0, 0.25, 0.25]).levels(3);
///
/// // `"image.zarr"` creates a folder.
/// let image = Multiscale::create(MemoryStore::new(), Format::Zarr3, &new, |layout| layout.chunks([1, 128, 128]))?;
/// let elements = Array3::from_shape_fn((2, 512, 512), |(c, _, x)| (c * 1000 + x) as u16);
/// image.array(0)?.write(.., &elements.into())?;
/// image.make_levels(Downsample::Mean, &RunOptions::default())?;
///
/// let coarsest = image.array(2)?;
/// assert_eq!(coarsest.shape(), [2, 128, 128]);
/// // Level 1 has 1000, 1002, 1004 and so on, since halves are rounded to even numbers.
/// assert_eq!(coarsest.read_as::<u16, _>((1, 0, 0..3), Default::default())?.to_vec(), [1001, 1005, 1009]);
/// # Ok::<(), ndzarr_ome::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NewMultiscale {
    axes: Vec<Axis>,
    shape: Vec<u64>,
    data_type: DataType,
    scale: Vec<f64>,
    translation: Vec<f64>,
    factors: Vec<u64>,
    n_levels: Option<usize>,
    method: Downsample,
    name: Option<String>,
    metadata: Metadata,
    existing: Existing,
}

/// A level of a new image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    pub(crate) shape: Vec<u64>,
    pub(crate) scale: Vec<f64>,
    pub(crate) translation: Vec<f64>,
}

/// No more levels are made when no axis of space that they shorten is longer.
const SMALL_LEN: u64 = 256;

impl NewMultiscale {
    /// An image of these axes, each with its length in elements. OME-Zarr allows two to five: at
    /// most one of time, then at most one of channels or another kind, then two or three of space.
    pub fn new(data_type: DataType, axes: impl IntoIterator<Item = (Axis, u64)>) -> Self {
        let (axes, shape): (Vec<Axis>, Vec<u64>) = axes.into_iter().unzip();
        let factors = axes
            .iter()
            .map(|axis| if axis.kind == AxisKind::Space { 2 } else { 1 })
            .collect();
        Self {
            scale: vec![1.0; axes.len()],
            translation: vec![0.0; axes.len()],
            factors,
            axes,
            shape,
            data_type,
            n_levels: None,
            method: Downsample::Mean,
            name: None,
            metadata: Metadata::default(),
            existing: Existing::default(),
        }
    }

    /// The size of an element of the finest level along each axis, in the unit of the axis; 1
    /// unless set.
    #[must_use]
    pub fn scale(self, scale: impl Into<Vec<f64>>) -> Self {
        Self {
            scale: scale.into(),
            ..self
        }
    }

    /// The coordinates of the centre of the first element; 0 unless set.
    #[must_use]
    pub fn translation(self, translation: impl Into<Vec<f64>>) -> Self {
        Self {
            translation: translation.into(),
            ..self
        }
    }

    /// The number of levels, including the finest. Unless set, levels are added until no axis of
    /// space with a factor above 1 is longer than 256 elements.
    #[must_use]
    pub fn levels(self, n_levels: usize) -> Self {
        Self {
            n_levels: Some(n_levels),
            ..self
        }
    }

    /// The number of elements of a level that make one of the next along each axis; their product
    /// is at most 2^20. Unless set, 2 along axes of space and 1 along others.
    #[must_use]
    pub fn factors(self, factors: impl Into<Vec<u64>>) -> Self {
        Self {
            factors: factors.into(),
            ..self
        }
    }

    /// The method that the levels will be made by: their translations depend on it. The mean unless
    /// set.
    #[must_use]
    pub fn method(self, method: Downsample) -> Self {
        Self { method, ..self }
    }

    /// The name of the image.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Other metadata of the group, such as channels, or the colours of labels.
    #[must_use]
    pub fn metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// What happens to a node at the place of the image; an error unless set.
    #[must_use]
    pub fn existing(self, existing: Existing) -> Self {
        Self { existing, ..self }
    }

    pub(crate) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    pub(crate) fn downsample(&self) -> Downsample {
        self.method
    }

    /// Completes the builder of the group.
    pub(crate) fn group<M>(&self, builder: GroupBuilder<M>, format: Format) -> GroupBuilder<M> {
        builder.format(format).existing(self.existing)
    }

    /// Checks that an array can be the finest level.
    pub(crate) fn check_array(&self, array: &AnyArray) -> Result<()> {
        if array.shape() == self.shape && *array.data_type() == self.data_type {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "the array has the shape {:?} and elements of {}, and the image {:?} and {}",
            array.shape(),
            array.data_type(),
            self.shape,
            self.data_type
        )))
    }

    /// The levels, the finest first.
    pub(crate) fn planned(&self) -> Result<Vec<Planned>> {
        self.check()?;
        let is_small = |shape: &[u64]| {
            let mut axes = self.axes.iter().zip(shape).zip(&self.factors);
            axes.all(|((axis, len), factor)| {
                axis.kind != AxisKind::Space || *factor == 1 || *len <= SMALL_LEN
            })
        };
        let mut level = Planned {
            shape: self.shape.clone(),
            scale: self.scale.clone(),
            translation: self.translation.clone(),
        };
        let mut levels = Vec::new();
        loop {
            let next = self.coarser(&level);
            let is_last = match self.n_levels {
                Some(n_levels) => levels.len() + 1 == n_levels,
                None => is_small(&level.shape) || next.shape == level.shape,
            };
            // JSON has neither infinity nor NaN.
            if level
                .scale
                .iter()
                .chain(&level.translation)
                .any(|number| !number.is_finite())
            {
                return Err(Error::Argument(format!(
                    "the scale of level {} is not finite",
                    levels.len()
                )));
            }
            levels.push(level);
            if is_last {
                return Ok(levels);
            }
            level = next;
        }
    }

    fn coarser(&self, level: &Planned) -> Planned {
        let mut next = level.clone();
        for (at, &factor) in self.factors.iter().enumerate() {
            next.shape[at] = level.shape[at].div_ceil(factor);
            next.scale[at] = level.scale[at] * factor as f64;
            next.translation[at] =
                level.translation[at] + level.scale[at] * self.method.offset(factor);
        }
        next
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Argument(what));
        let n_axes = self.axes.len();
        let kinds: Vec<_> = self.axes.iter().map(|axis| &axis.kind).collect();
        let rank = |kind: &AxisKind| match kind {
            AxisKind::Time => 0,
            AxisKind::Channel | AxisKind::Other(_) => 1,
            AxisKind::Space => 2,
        };
        let count = |wanted: usize| kinds.iter().filter(|kind| rank(kind) == wanted).count();
        if !kinds.is_sorted_by_key(|kind| rank(kind))
            || count(0) > 1
            || count(1) > 1
            || !(2..=3).contains(&count(2))
        {
            let names: Vec<_> = self.axes.iter().map(|axis| &axis.name[..]).collect();
            return wrong(format!(
                "OME-Zarr has at most an axis of time, then at most one of channels or another kind, then two or \
                 three of space; these are {names:?}"
            ));
        }
        for (at, axis) in self.axes.iter().enumerate() {
            if axis.name.is_empty() || self.axes[..at].iter().any(|other| other.name == axis.name) {
                return wrong(format!(
                    "two axes have the name {:?}, or it is empty",
                    axis.name
                ));
            }
        }
        for (list, len) in [
            ("scale", self.scale.len()),
            ("translation", self.translation.len()),
            ("factors", self.factors.len()),
        ] {
            if len != n_axes {
                return wrong(format!("a {list} of {len} numbers for {n_axes} axes"));
            }
        }
        if self
            .scale
            .iter()
            .any(|scale| !(scale.is_finite() && *scale > 0.0))
        {
            return wrong(format!("the scale {:?} is not positive", self.scale));
        }
        if self
            .translation
            .iter()
            .any(|translation| !translation.is_finite())
        {
            return wrong(format!(
                "the translation {:?} is not finite",
                self.translation
            ));
        }
        if self
            .factors
            .iter()
            .any(|factor| !(1..=1024).contains(factor))
        {
            return wrong(format!(
                "the factors {:?} are not from 1 to 1024",
                self.factors
            ));
        }
        // `make_levels` adds that many elements exactly.
        if n_per_element(&self.factors).is_none() {
            return wrong(format!(
                "the factors {:?} make one element of more than {MAX_PER_ELEMENT}",
                self.factors
            ));
        }
        if self.shape.contains(&0) {
            return wrong(format!(
                "the shape {:?} has an axis without elements",
                self.shape
            ));
        }
        match self.n_levels {
            // Each level at least halves an axis of up to 2^64 elements, or repeats the one before.
            Some(n_levels) if !(1..=64).contains(&n_levels) => {
                wrong(format!("{n_levels} levels, not 1 to 64"))
            }
            _ => Ok(()),
        }
    }

    /// The attributes of the group.
    pub(crate) fn attributes(&self, format: Format) -> Result<Value> {
        let mut axes = Vec::with_capacity(self.axes.len());
        for axis in &self.axes {
            let mut stated = json!({"name": axis.name});
            if let Some(kind) = axis.kind.name() {
                stated["type"] = kind.into();
            }
            if let Some(unit) = &axis.unit {
                stated["unit"] = unit.clone().into();
            }
            axes.push(stated);
        }
        let planned = self.planned()?;
        let datasets = datasets(&planned, &array_names(planned.len()));
        let mut entry = Object::new();
        entry.insert("axes".to_owned(), axes.into());
        entry.insert("datasets".to_owned(), datasets.into());
        entry.extend(self.made_by());
        if let Some(name) = &self.name {
            entry.insert("name".to_owned(), name.clone().into());
        }
        if format == Format::Zarr2 {
            entry.insert("version".to_owned(), "0.4".into());
        }
        let mut attributes = self.metadata.to_attributes(format)?;
        let holder = if format == Format::Zarr2 {
            &mut attributes
        } else {
            &mut attributes["ome"]
        };
        holder["multiscales"] = json!([entry]);
        Ok(attributes)
    }

    /// How the levels are made, as members of an entry of `multiscales`.
    pub(crate) fn made_by(&self) -> Object {
        made_by(self.method, json!({"factors": self.factors}))
    }

    /// Completes the layout of a level with the settings that OME-Zarr demands.
    pub(crate) fn describe<M>(
        &self,
        layout: ArrayBuilder<Any, M>,
        format: Format,
    ) -> ArrayBuilder<Any, M> {
        let layout = layout.dimension_names(self.axes.iter().map(|axis| axis.name.clone()));
        // Chunks of 0.4 are in nested folders.
        if format == Format::Zarr2 {
            layout.separator('/')
        } else {
            layout
        }
    }
}

/// How levels are made, as members of an entry of `multiscales`.
pub(crate) fn made_by(method: Downsample, arguments: Value) -> Object {
    let metadata = json!({
        "method": "ndzarr_ome::Multiscale::make_levels",
        "version": env!("CARGO_PKG_VERSION"),
        "kwargs": arguments,
    });
    [
        ("type".to_owned(), method.name().into()),
        ("metadata".to_owned(), metadata),
    ]
    .into_iter()
    .collect()
}

/// The datasets of levels whose arrays have these names.
pub(crate) fn datasets(levels: &[Planned], names: &[String]) -> Vec<Value> {
    let dataset = |(level, name): (&Planned, &String)| {
        let mut transformations = vec![json!({"type": "scale", "scale": level.scale})];
        if level
            .translation
            .iter()
            .any(|translation| *translation != 0.0)
        {
            transformations.push(json!({"type": "translation", "translation": level.translation}));
        }
        json!({"path": name, "coordinateTransformations": transformations})
    };
    levels.iter().zip(names).map(dataset).collect()
}

/// Creates the arrays in memory, so that a wrong layout leaves nothing in the store.
pub(crate) fn try_in_memory(builders: &[ArrayBuilder], format: Format) -> Result<()> {
    let group = Group::create(MemoryStore::new(), format)?;
    create_arrays(&group, &array_names(builders.len()), builders.to_vec())?;
    Ok(())
}

/// The names of the arrays of a new image.
pub(crate) fn array_names(n: usize) -> Vec<String> {
    (0..n).map(|number| number.to_string()).collect()
}

pub(crate) fn create_arrays(
    group: &Group,
    names: &[String],
    builders: Vec<ArrayBuilder>,
) -> Result<Vec<AnyArray>> {
    let created = names
        .iter()
        .zip(builders)
        .map(|(name, builder)| group.create_array(name, builder));
    Ok(created.collect::<ndzarr::Result<_>>()?)
}
