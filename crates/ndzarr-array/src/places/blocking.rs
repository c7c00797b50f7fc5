//! The blocking side of the options for opening.

use crate::mode::Blocking;
use crate::places::open_options;

/// Options for opening an array or a group, in the manner of [`std::fs::OpenOptions`].
///
/// ```
/// use ndzarr::{Array, Format, MemoryStore, N5Axes, OpenOptions};
///
/// let store = MemoryStore::new();
/// Array::<u16>::builder([4, 6]).format(Format::N5).create((&store, "a"))?;
/// let options = OpenOptions::new().format(Format::N5).n5_axes(N5Axes::Reversed);
/// assert_eq!(options.open_array::<u16>((&store, "a"))?.shape(), [6, 4]);
/// assert!(options.open_group(&store)?.array::<u16>("a").is_ok());
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub type OpenOptions = open_options::OpenOptions<Blocking>;
