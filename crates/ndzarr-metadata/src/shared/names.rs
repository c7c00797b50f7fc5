//! Names of the documents of Zarr v2, and of an attribute that several formats have.

/// Name of the document of an array.
pub(crate) const ARRAY: &str = ".zarray";
/// Name of the document of a group.
pub(crate) const GROUP: &str = ".zgroup";
/// Name of the document of attributes.
pub(crate) const ATTRIBUTES: &str = ".zattrs";
/// Attribute in which xarray notes the names of the dimensions.
pub(crate) const DIMENSION_NAMES: &str = "_ARRAY_DIMENSIONS";
