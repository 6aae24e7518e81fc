//! Every listener of the program, with a thousand strangers: they lock nobody out, and leave nothing behind.

mod pages;
mod parties;
mod services;
