//! Resources that this process has used: CPU time and memory, for reports and benchmarks.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process so far, all threads.
pub fn cpu_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// CPU time of this thread so far.
pub fn thread_cpu_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The most memory that this process has held at once, in bytes; `None` where the system does not tell.
pub fn peak_memory() -> Option<u64> {
    of_status("VmHWM:")
}

/// The memory that this process holds, in bytes; `None` where the system does not tell.
pub fn memory() -> Option<u64> {
    of_status("VmRSS:")
}

/// Returns the number of files that this process has open, and its limit, if the system tells.
pub fn files() -> (Option<u64>, Option<u64>) {
    let open = std::fs::read_dir("/proc/self/fd").ok().map(|all| all.count() as u64);
    (open, rustix::process::getrlimit(rustix::process::Resource::Nofile).current)
}

fn of_status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Seconds to the millisecond: more is noise.
pub fn round(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    #[test]
    fn work_is_counted() {
        let (before, of_thread) = (super::cpu_time(), super::thread_cpu_time());
        let block = vec![1u8; 32 << 20];
        assert_eq!(std::hint::black_box(block).iter().map(|&b| b as u64).sum::<u64>(), 32 << 20);
        assert!(super::cpu_time() > before);
        let of_thread = super::thread_cpu_time() - of_thread;
        assert!(!of_thread.is_zero() && of_thread <= super::cpu_time() - before);
        assert!(super::peak_memory().is_none_or(|bytes| bytes > 32 << 20));
        assert!(super::memory().is_none_or(|bytes| Some(bytes) <= super::peak_memory()));
        let (open, most) = super::files();
        assert!(open.zip(most).is_none_or(|(open, most)| (3..=most).contains(&open)));
    }
}
