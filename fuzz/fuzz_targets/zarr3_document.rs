#![no_main]

ndzarr_fuzz::target!(zarr3_document);
