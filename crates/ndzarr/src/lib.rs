//! Chunked N-dimensional arrays: Zarr v2, Zarr v3, draft v3 and N5
