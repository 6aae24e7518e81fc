//! Intersections through a helper.

mod hostile;
mod results;
mod views;
