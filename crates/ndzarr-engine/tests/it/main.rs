//! Parts of the engine in many orders of their threads: `shuttle` decides
//! who runs after every lock.
#![forbid(unsafe_code)]

mod budget_orders;
mod cancel_orders;
