#![no_main]

ndzarr_fuzz::target!(zarr2_document);
