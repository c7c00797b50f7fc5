//! Not written yet.

use bytes::Bytes;
use ndzarr_model::Attributes;

use crate::known::Stop;
use crate::{
    ArrayRequest, AttributeChange, CreateOptions, Creation, Erasure, Known, Member, MetadataError, Node,
    NodePath, OpenOptions,
};

pub(crate) fn open(_path: &NodePath, _known: &Known, _options: &OpenOptions) -> Result<Option<Node>, Stop> {
    Ok(None)
}

pub(crate) fn members(_node: &Node, _known: &Known) -> Result<Vec<Member>, Stop> {
    Ok(Vec::new())
}

pub(crate) fn create_array(
    _path: &NodePath,
    _request: &ArrayRequest,
    _known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    Err(MetadataError::inexpressible(options.format, "cannot be written yet").into())
}

pub(crate) fn create_group(
    _path: &NodePath,
    _attributes: &Attributes,
    _known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    Err(MetadataError::inexpressible(options.format, "cannot be written yet").into())
}

pub(crate) fn attributes_key(_node: &Node) -> String {
    String::new()
}

pub(crate) fn change_attributes(
    node: &Node,
    _current: Option<&[u8]>,
    _change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    Err(MetadataError::inexpressible(node.format, "cannot be written yet"))
}

pub(crate) fn erase(_node: &Node) -> Erasure {
    Erasure::default()
}
