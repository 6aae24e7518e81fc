//! Intersections through a helper.

mod deviating;
mod given;
mod hostile;
mod orders;
mod results;
mod times;
mod views;
