//! Sans-I/O chunk machines and their drivers
