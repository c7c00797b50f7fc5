#![no_main]

ndzarr_fuzz::target!(deflate_two);
