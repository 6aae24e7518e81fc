//! Tables: what is read, under every form and fault, and what is written.

mod aggregate_data;
mod answer;
mod columns;
mod data;
mod formats;
mod hostile;
mod keys;
mod output;
mod parquet;
mod profiles;
mod read;
mod thrift;
