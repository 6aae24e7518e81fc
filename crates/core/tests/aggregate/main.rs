//! Over-threshold aggregation.

mod round;

mod results;
