//! Grids, overlaps and windows against simple oracles.

mod overlaps;
mod rectilinear;
mod windows;
