//! Intersections through a helper.

mod deviating;
mod hostile;
mod results;
mod times;
mod views;
