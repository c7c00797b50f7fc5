#![no_main]

ndzarr_fuzz::target!(n5_document);
