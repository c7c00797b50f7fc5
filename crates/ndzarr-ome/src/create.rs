//! New images: their description, their metadata, and images of existing elements.

mod from_elements;
pub(crate) mod new_multiscale;
