//! Grids, overlaps and windows against simple oracles.

mod overlaps;
mod picks;
mod rectilinear;
mod windows;
