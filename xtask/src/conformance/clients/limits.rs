//! What is known of clients. An outcome other than agreement that no entry explains is wrong, and so is
//! an entry that no outcome meets.

use Read::{Differs, Refuses};

/// What a client did with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Read {
    Agrees,
    Differs,
    Refuses,
}

/// Arrays that clients do not read as they are. The clients and arrays are lists of patterns.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) clients: &'static str,
    pub(super) arrays: &'static str,
    pub(super) read: Read,
    /// Part of the client's words.
    pub(super) says: &'static str,
    pub(super) why: &'static str,
}

const fn no(clients: &'static str, arrays: &'static str, says: &'static str, why: &'static str) -> Known {
    Known { clients, arrays, read: Refuses, says, why }
}

const fn wrong(clients: &'static str, arrays: &'static str, why: &'static str) -> Known {
    Known { clients, arrays, read: Differs, says: "", why }
}

const V3: &str = "v3 *|CF in v3, *";
const NETCDF: &str = "netCDF4|netCDF4 of Debian";

/// The table.
pub(super) const TABLE: &[Known] = &[
    no("xarray", "n5 *", "No group found", "has no N5: zarr-python 3 has none"),
    no("Dask", "n5 *", "No array found", "has no N5: zarr-python 3 has none"),
    no("rasterio|GDAL", "n5 *", "No such file or directory", "has no N5"),
    no(NETCDF, "n5 *", "Unknown file format", "has no N5"),
    no("zarrita.js", "n5 *", "Not found", "has no N5"),
    no("rasterio", V3, "Unsupported codec", "has GDAL 3.10, which knows the codecs of a draft of v3 only"),
    no("rasterio|GDAL", "v2 complex64", "Invalid fill_value", "takes no pair of numbers for a fill value"),
    no("rasterio|GDAL", "v2 bz2|v2 lz4", "Decompressor", "is built without this codec"),
    no(
        "rasterio",
        "v2 filter shuffle, zlib",
        "Filter shuffle not handled",
        "has no filter shuffle in this build",
    ),
    no(NETCDF, V3, "Unknown file format", "has no Zarr v3 in this build"),
    no(NETCDF, "v2 bool|v2 float16|v2 complex64", "NCZarr error", "has no such data type"),
    no("netCDF4", "v2 gzip|v2 lz4|v2 lzma", "undefined filter", "comes without this filter"),
    wrong(
        "netCDF4 of Debian",
        "v2 zlib|v2 gzip|v2 bz2|v2 zstd|v2 lz4|v2 lzma|v2 blosc*|v2 filter*",
        "comes without filters, and shows compressed bytes as elements",
    ),
    wrong(NETCDF, "v2 order F", "reads chunks in F order as if they were in C order"),
    wrong(NETCDF, "CF in v2, unpacked", "does not take the fill value of v2 as CF's `_FillValue`"),
    no("zarrita.js", "v2 complex64", "Unsupported or unknown dtype", "has no complex numbers"),
    no("zarrita.js", "v3 complex64", "Unknown or unsupported dataType", "has no complex numbers"),
    no("zarrita.js", "v2 bz2|v2 lzma", "Unknown codec", "has no such codec"),
    no(
        "neuroglancer",
        "v2 bool|v2 float16|v2 float64|v2 complex64",
        "Unsupported numpy data type",
        "has no such data type",
    ),
    no(
        "neuroglancer",
        "v3 bool|v3 int64|v3 float16|v3 float64|v3 complex64",
        "Invalid enum value",
        "has no such data type",
    ),
    no(
        "neuroglancer",
        "n5 int64|n5 float64|n5 bzip2|n5 lz4|n5 xz",
        "Error parsing array metadata",
        "has no such data type or codec in N5",
    ),
    no(
        "neuroglancer",
        "n5 uint64",
        "did not come",
        "takes elements of 8 bytes only where they begin at a multiple of 8, which follows no header of 12 bytes",
    ),
    no("neuroglancer", "v2 bz2|v2 lz4|v2 lzma", "Unsupported compressor", "has no such codec"),
    wrong("neuroglancer", "v2 int64", "reads negative numbers of 8 bytes as positive"),
    wrong("neuroglancer", "v2 filter*", "passes over filters"),
];
