#![no_main]

ndzarr_fuzz::target!(round_trip);
