//! The services, each over connections: the aggregation, the helper, the relay.

mod aggregate;
mod helper;
mod hostile;
mod relay;
