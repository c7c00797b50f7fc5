//! Safe calls of c-blosc 1
