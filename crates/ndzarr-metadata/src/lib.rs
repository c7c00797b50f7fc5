//! Zarr v2, Zarr v3, draft v3 and N5 documents to and from the neutral model
