//! New images: their description, their metadata, and images of existing elements.

pub(crate) mod entries;
mod from_elements;
pub(crate) mod new_multiscale;
