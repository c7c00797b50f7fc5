//! The file-system store
