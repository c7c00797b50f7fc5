#![no_main]

ndzarr_fuzz::target!(two_values);
