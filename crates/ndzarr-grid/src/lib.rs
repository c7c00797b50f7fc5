//! Integer geometry of arrays, regions and chunks
