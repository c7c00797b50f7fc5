//! Test helpers of the ndzarr workspace
