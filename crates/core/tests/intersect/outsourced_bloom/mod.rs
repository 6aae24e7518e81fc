//! Intersections through a helper that adds Bloom filters.

mod results;
