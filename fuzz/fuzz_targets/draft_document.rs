#![no_main]

ndzarr_fuzz::target!(draft_document);
