//! Intersections by Bloom filters through a helper.

mod hostile;
mod leaks;
mod results;
