//! Groups and nodes: found, listed, described by consolidated copies, and removed.

pub(crate) mod blocking;
pub(crate) mod consolidated;
pub(crate) mod contents;
pub(crate) mod erase;
pub(crate) mod find_node;
pub(crate) mod group;
pub(crate) mod group_info;
pub(crate) mod key_name;
pub(crate) mod node;
pub(crate) mod note;
