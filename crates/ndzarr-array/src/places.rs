//! Where nodes are: paths, URLs and archives, and how they are opened.

#[cfg(feature = "fs")]
pub(crate) mod archive;
pub(crate) mod blocking;
#[cfg(feature = "fs")]
pub(crate) mod folder_store;
pub(crate) mod located;
pub(crate) mod open;
pub(crate) mod open_options;
pub(crate) mod place;
#[cfg(feature = "fs")]
pub(crate) mod remote;
#[cfg(feature = "fs")]
pub(crate) mod roots;
#[cfg(feature = "fs")]
#[doc(hidden)]
pub mod url;
