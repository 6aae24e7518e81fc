//! Intersections through a helper.

mod deviating;
mod hostile;
mod orders;
mod results;
mod times;
mod views;
