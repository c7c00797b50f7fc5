#![no_main]

ndzarr_fuzz::target!(archive);
