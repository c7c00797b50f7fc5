//! `Axis`: the name, kind and unit of an axis of an image.

mod unit;

/// An axis of an image.
///
/// ```
/// use ndzarr_ome::{Axis, AxisKind};
///
/// let x = Axis::new("x").with_unit("µm");
/// assert_eq!(x.kind, AxisKind::Space);
/// assert_eq!(x.unit_in("nanometer"), Some(1000.0));
/// assert_eq!(Axis::new("angle").kind, AxisKind::Other(None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// The name: mostly `t`, `c`, `z`, `y` or `x`.
    pub name: String,
    /// What the axis measures.
    pub kind: AxisKind,
    /// The unit of scales and coordinates along the axis, as the metadata state it.
    pub unit: Option<String>,
}

/// What an axis measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// Space.
    Space,
    /// Time.
    Time,
    /// Channels, such as wavelengths.
    Channel,
    /// Something else, with the stated type, if any.
    Other(Option<String>),
}

impl Axis {
    /// An axis without a unit, of the kind that its name suggests: `x`, `y` and `z` are space, `t`
    /// is time, `c` are channels.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            kind: AxisKind::of(None, &name),
            name,
            unit: None,
        }
    }

    /// Returns the axis with another kind.
    #[must_use]
    pub fn with_kind(self, kind: AxisKind) -> Self {
        Self { kind, ..self }
    }

    /// Returns the axis with a unit. OME-Zarr recommends the names of UDUNITS-2, such as
    /// `micrometer`.
    #[must_use]
    pub fn with_unit(self, unit: impl Into<String>) -> Self {
        Self {
            unit: Some(unit.into()),
            ..self
        }
    }

    /// The size of the unit in units of `other`: 1000 for micrometers in `nm`. `None` if the axis
    /// has no unit, or one of the units is unknown, or they measure different quantities.
    #[must_use]
    pub fn unit_in(&self, other: &str) -> Option<f64> {
        unit::ratio(self.unit.as_deref()?, other)
    }

    /// An axis of metadata that state this name, type and unit.
    pub(crate) fn stated(name: String, kind: Option<&str>, unit: Option<String>) -> Self {
        Self {
            kind: AxisKind::of(kind, &name),
            name,
            unit: unit.filter(|unit| !unit.is_empty()),
        }
    }
}

impl AxisKind {
    fn of(stated: Option<&str>, name: &str) -> Self {
        match (stated, name) {
            (Some("space"), _) | (None, "x" | "y" | "z") => Self::Space,
            (Some("time"), _) | (None, "t") => Self::Time,
            (Some("channel"), _) | (None, "c") => Self::Channel,
            (other, _) => Self::Other(other.map(str::to_owned)),
        }
    }

    /// The name of the kind in OME-Zarr; `None` if no kind is stated and the name of the axis
    /// suggests none.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Space => Some("space"),
            Self::Time => Some("time"),
            Self::Channel => Some("channel"),
            Self::Other(other) => other.as_deref(),
        }
    }
}
