//! Memory that is available.

use std::fs::read_to_string;
use std::path::Path;

/// Mount point of the system's control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// A version of control groups: where memory's are mounted, and what their files are called.
struct Version {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// Lines of `memory.stat` with what of the usage is a cache of files, which goes when memory is short.
    caches: [&'static str; 2],
}

const VERSION_1: Version = Version {
    mount: "memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    caches: ["total_active_file", "total_inactive_file"],
};

const VERSION_2: Version =
    Version { mount: "", limit: "memory.max", usage: "memory.current", caches: ["active_file", "inactive_file"] };

/// Memory that programs can have without others losing theirs, in bytes, as far as the system tells: caches that can be
/// given back count, and the limits of the control groups hold that this process is in, as in a container.
pub fn available() -> Option<u64> {
    let machine = of_machine(&read_to_string("/proc/meminfo").ok()?)?;
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(of_groups(Path::new(GROUPS), &groups).map_or(machine, |group| machine.min(group)))
}

/// Returns the available memory that `/proc/meminfo` reports.
fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the memory left by the control groups mounted at `mounts`: the minimum over those in `/proc/self/cgroup`
/// and all their ancestors. A container may see its own group at the root, under another name.
fn of_groups(mounts: &Path, groups: &str) -> Option<u64> {
    let memory = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let version = match controllers {
            "" => VERSION_2,
            named => named.split(',').any(|name| name == "memory").then_some(VERSION_1)?,
        };
        let mount = mounts.join(version.mount);
        let path = Path::new(path.trim_start_matches('/'));
        path.ancestors().filter_map(|group| left_in(&mount.join(group), &version)).min()
    };
    groups.lines().filter_map(memory).min()
}

/// Returns the memory that a control group leaves, if it has a limit.
fn left_in(group: &Path, version: &Version) -> Option<u64> {
    let text = |file: &str| read_to_string(group.join(file)).ok();
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (limit, usage) = (number(&text(version.limit)?)?, number(&text(version.usage)?)?);
    let stat = text("memory.stat").unwrap_or_default();
    let cached = stat.lines().filter_map(|line| line.split_once(' '));
    let cached = cached.filter(|(name, _)| version.caches.contains(name)).filter_map(|(_, bytes)| number(bytes));
    let held = cached.fold(usage, u64::saturating_sub);
    Some(limit.saturating_sub(held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells_what_is_available() {
        let text = "MemTotal:       24690044 kB\nMemFree:          812340 kB\nMemAvailable:   21000000 kB\n";
        assert_eq!(of_machine(text), Some(21_000_000 * 1024));
        for text in ["", "MemFree: 1 kB\n", "MemAvailable: much\n", "MemAvailable: 18446744073709551615 kB\n"] {
            assert_eq!(of_machine(text), None, "{text}");
        }
    }

    #[test]
    fn the_least_group_counts_and_its_caches_do_not() {
        let mounts = tempfile::tempdir().unwrap();
        let group = |path: &str, files: &[(&str, &str)]| {
            let path = mounts.path().join(path);
            std::fs::create_dir_all(&path).unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(path.join(name), text).unwrap());
        };
        let of = |groups: &str| of_groups(mounts.path(), groups);
        assert_eq!(of("0::/job\n"), None, "no files");
        group("job/inner", &[("memory.max", "max\n"), ("memory.current", "700\n")]);
        assert_eq!(of("0::/job/inner\n"), None, "no limit");
        let stat = "anon 300\nactive_file 250\ninactive_file 150\ntotal_active_file 7\n";
        group("job", &[("memory.max", "1000\n"), ("memory.current", "700\n"), ("memory.stat", stat)]);
        assert_eq!(of("0::/job/inner\n"), Some(1000 - (700 - 400)));
        assert_eq!(of("0::/job\n"), Some(700));
        assert_eq!(of("0::/\n"), None);
        // Of what is over its limit nothing is left.
        group("full", &[("memory.max", "1000\n"), ("memory.current", "1100\n"), ("memory.stat", "")]);
        assert_eq!(of("0::/full\n"), Some(0));
        // A container whose own group is the root that it sees.
        group("", &[("memory.max", "500\n"), ("memory.current", "100\n")]);
        assert_eq!(of("0::/system.slice/docker-1.scope\n"), Some(400));
        assert_eq!(of("0::/../other\n"), Some(400));

        let files = [("memory.limit_in_bytes", "900\n"), ("memory.usage_in_bytes", "300\n")];
        group("memory/old", &[&files[..], &[("memory.stat", "active_file 9\ntotal_inactive_file 100\n")]].concat());
        assert_eq!(of("4:cpu,memory:/old\n"), Some(700));
        assert_eq!(of("5:cpuset:/old\n4:memory:/old\n"), Some(700));
        for odd in ["", "no group\n", "1:memory\n", "3:pids:/old\n"] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn there_is_memory_here() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
