//! Parts of the engine under many thread orders: `shuttle` decides which thread runs after every
//! lock.
#![forbid(unsafe_code)]

mod budget_orders;
mod cancel_orders;
