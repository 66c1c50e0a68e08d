//! Many runs in a row, and long ones, which take minutes; part of `cargo xtask test --slow`.

use super::bystanders::audited;
use super::paths::{ONE_PATH_BPS, bins, has_mptcp, mean};
use super::{Site, machine_can, tutorial};
use std::fs;

/// Maximum increase of the machine's mounts after all runs. The mounts of the last run, about a
/// hundred, are freed a moment later. A namespace has some thirty, and each run makes one for each
/// node: if one stayed of each run it would be 12 000.
const MOUNTS: u64 = 800;

/// Number of mounts in the kernel's memory, from the script's output at `when`.
fn mounts(printed: &str, when: &str) -> Option<u64> {
    let line = printed.lines().find_map(|line| line.strip_prefix(&format!("{when} mnt_cache ")))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Number of runs in a row, as large as a user of Mahimahi requested.
const RUNS: u32 = 400;

#[test]
#[ignore = "minutes: cargo test -p fairwave-cli --test it -- emulate::slow --ignored --nocapture"]
fn four_hundred_runs_leave_nothing() {
    if !machine_can() {
        return;
    }
    let site = Site::new("");
    let script = format!(
        "code=0; count=0; usage before\n\
        while [ $count -lt {RUNS} ]; do\n\
            $EMULATE --force --exec 'sta1=busybox ping -c 1 server' > last 2>&1\n\
            case $? in 0 | 4) ;; *) code=1; cat last; break;; esac\n\
            count=$((count + 1))\n\
        done; usage after; echo runs $count"
    );
    // Freed mounts count as used until the kernel releases the memory that it reserves for the next
    // ones (SLUB's partial slabs). It does so on request, for which root is needed.
    let usage = "usage() {\n\
        { echo 1 > /sys/kernel/slab/mnt_cache/shrink; } 2> /dev/null\n\
        read -r allocated free most < /proc/sys/fs/file-nr\n\
        echo $1 files $allocated $(grep -E 'MemAvailable|^Slab|SUnreclaim' /proc/meminfo)\n\
        grep -E '^(net_namespace|mnt_cache|pid_namespace)' /proc/slabinfo | sed \"s/^/$1 /\"\n}\n";
    let mut shell = audited(&site, &format!("{usage}{script}"));
    let ended = site.start_as(&mut shell).end();
    let code = fs::read_to_string(ended.place.path().join("code"));
    let printed = format!("{}{}", ended.out, ended.err);
    let _ = std::io::Write::write_all(&mut std::io::stderr(), printed.as_bytes());
    assert_eq!((ended.code, code.ok().as_deref()), (Some(0), Some("code 0\n")), "{printed}");
    assert!(printed.contains(&format!("runs {RUNS}")), "{printed}");
    // Only root can see slabs.
    if let (Some(before), Some(after)) = (mounts(&printed, "before"), mounts(&printed, "after")) {
        assert!(after < before + MOUNTS, "{before} mounts before and {after} after: {printed}");
    }
}

#[test]
#[ignore = "half a minute: cargo test -p fairwave-cli --test it -- emulate::slow --ignored"]
fn the_video_and_the_call_arrive_as_the_tutorial_says() {
    if machine_can() {
        tutorial::video_and_call();
    }
}

#[test]
#[ignore = "14 s of real time: cargo test -p fairwave-cli --test it -- emulate::slow --ignored"]
fn a_connection_takes_a_path_again_that_comes_back() {
    if !machine_can() || !has_mptcp() {
        return;
    }
    let ended = Site::catalogued("emulated-paths.toml").run();
    ended.went_well();
    let bins = bins(&ended.summary());
    let [before, without, again] = [&bins[2..10], &bins[12..18], &bins[22..]].map(mean);
    assert!(before > ONE_PATH_BPS, "{before} bit/s with both: {bins:?}");
    assert!(without > 0.3 * ONE_PATH_BPS && without < ONE_PATH_BPS, "{without}: {bins:?}");
    assert!(again > ONE_PATH_BPS, "{again} bit/s once it was back: {bins:?}");
}
