//! The blocking side of an opened node.

use crate::hierarchy::node;
use crate::mode::Blocking;

/// An array or a group.
///
/// ```
/// use ndzarr::{AnyNode, Array, MemoryStore};
///
/// let store = MemoryStore::new();
/// Array::<u8>::builder([3]).create((&store, "group/array"))?;
/// assert!(matches!(AnyNode::open((&store, "group"))?, AnyNode::Group(group) if group.children()?.len() == 1));
/// assert!(matches!(AnyNode::open((&store, "group/array"))?, AnyNode::Array(array) if array.shape() == [3]));
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub type AnyNode = node::AnyNode<Blocking>;
