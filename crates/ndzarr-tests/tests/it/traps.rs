//! Traps of the checklists that only show when documents, codecs and the data path work together,
//! named by number. Bytes and values come from the checklists.

mod codecs;
mod draft;
mod n5;
mod refusals;
mod store;
mod zarr2;
mod zarr3;
