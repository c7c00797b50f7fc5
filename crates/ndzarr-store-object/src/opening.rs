//! The constructors of each service, and options from the environment.

mod builder;
mod constructors;
mod environment;
