#![no_main]

ndzarr_fuzz::target!(n5_block);
