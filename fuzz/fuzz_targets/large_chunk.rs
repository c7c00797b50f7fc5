#![no_main]

ndzarr_fuzz::target!(large_chunk);
