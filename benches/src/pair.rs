//! Two parties in one process, each with threads of its own.

use rayon::ThreadPool;
use tacita_core::channel::Traffic;
use tacita_core::{Channel, Result};
use tacita_node::base::usage;

use crate::{Sample, measure};

/// The two parties' ends and threads.
pub struct Pair {
    channels: [Channel; 2],
    pools: [ThreadPool; 2],
}

impl Pair {
    /// Parties with so many threads each.
    pub fn new(threads: usize) -> Pair {
        let (sender, receiver) = Channel::pair("sender", "receiver");
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        Pair { channels: [sender, receiver], pools: [pool(), pool()] }
    }

    /// Runs both roles, which must succeed: what they return, the wall milliseconds, and the CPU milliseconds of the
    /// sender and of the receiver.
    pub fn run<S: Send, R: Send>(
        &mut self,
        send: impl FnOnce(&mut Channel) -> Result<S> + Send,
        receive: impl FnOnce(&mut Channel) -> Result<R> + Send,
    ) -> ((S, R), f64, [f64; 2]) {
        let cpu = |pool: &ThreadPool| -> f64 {
            pool.broadcast(|_| usage::thread_cpu_time()).iter().map(|time| time.as_secs_f64() * 1e3).sum()
        };
        let before = [cpu(&self.pools[0]), cpu(&self.pools[1])];
        let [sender, receiver] = &mut self.channels;
        let pools = &self.pools;
        let (results, sample) = measure(|| {
            std::thread::scope(|scope| {
                let sent = scope.spawn(|| pools[0].install(|| send(sender).expect("the sender succeeds")));
                let received = pools[1].install(|| receive(receiver).expect("the receiver succeeds"));
                (sent.join().expect("the sender does not panic"), received)
            })
        });
        let cpu = [cpu(&self.pools[0]) - before[0], cpu(&self.pools[1]) - before[1]];
        (results, sample.wall.as_secs_f64() * 1e3, cpu)
    }

    /// Bytes that the sender and the receiver have sent so far.
    pub fn bytes(&self) -> [u64; 2] {
        self.channels.each_ref().map(|channel| channel.traffic().sent)
    }
}

/// Both sides of one run, on all threads of the process, and the CPU and wall time of both: what the receiver returns,
/// and its traffic.
pub fn both<R: Send, S: Send>(
    receive: impl FnOnce(&mut Channel) -> Result<R>,
    send: impl FnOnce(&mut Channel) -> Result<S> + Send,
) -> (Result<(R, Traffic)>, Sample) {
    let (mut receiver, mut sender) = Channel::pair("receiver", "sender");
    measure(|| {
        std::thread::scope(|scope| {
            let sending = scope.spawn(move || {
                send(&mut sender)?;
                sender.finish()
            });
            let found = receive(&mut receiver)?;
            receiver.finish()?;
            Ok((found, sending.join().expect("the sender does not panic")?))
        })
    })
}
