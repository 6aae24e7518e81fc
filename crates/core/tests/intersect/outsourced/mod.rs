//! Intersections through a helper.

mod results;
