//! Grids, overlaps and windows against simple oracles.

mod met_along;
mod overlaps;
mod picks;
mod rectilinear;
mod windows;
