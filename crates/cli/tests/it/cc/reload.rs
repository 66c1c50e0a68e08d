//! Algorithms that are unloaded and loaded again beside others.

use super::{Shell, may_load, turn};

#[test]
fn unloading_one_algorithm_of_a_load_for_a_time_leaves_the_others() {
    let Some(_lock) = may_load() else { return };
    let mut shell = Shell::start(
        r#"
# Keepers would outlive a script that fails.
trap '$F cc unload --all' EXIT
$F cc load fw_compound fw_tcp_av --for 10m --json > loaded
$F cc unload fw_compound
$F cc list --json > list
$F cc load fw_compound fw_tcp_av fw_ackloss_reno --for 10m > failed 2>&1 && exit 1
$F cc list --json > after
$F cc unload --all --json > unloaded
"#,
    );
    shell.leaves_nothing();
    for name in ["list", "after"] {
        let list = shell.json(name);
        let loaded = list.as_array().expect("a list").iter().filter(|one| one["loaded"] == true);
        let loaded: Vec<_> = loaded.map(|one| one["name"].clone()).collect();
        assert_eq!(loaded, ["fw_tcp_av"], "{name}: {list}");
    }
    assert!(shell.file("failed").contains("fw_tcp_av"), "{}", shell.file("failed"));
    assert!(shell.file("unloaded").contains("fw_tcp_av"), "{}", shell.file("unloaded"));
}

/// The watcher is stopped from before the connection until the algorithm is loaded again, so that
/// it finds both at its next look.
#[test]
fn a_watcher_receives_the_last_events_of_an_algorithm_that_was_loaded_again() {
    let Some(_turn) = turn() else { return };
    let mut shell = Shell::start(
        r#"
$F cc load fw_compound
$F cc status --watch --json > told 2> watching & watcher=$!
await has '^\[' told
kill -STOP $watcher
connect 1
$F cc unload fw_compound
$F cc load fw_compound
looks=$(grep -c '^\[' told)
kill -CONT $watcher
# The first of these looks may have begun before the watcher was stopped.
looked_twice() { [ "$(grep -c '^\[' told)" -ge $((looks + 2)) ]; }
await looked_twice
kill $watcher; wait $watcher || true
$F cc unload --all
"#,
    );
    shell.leaves_nothing();
    let told = shell.file("told");
    for happened in ["began", "ended"] {
        assert!(told.contains(&format!("\"happened\":\"{happened}\"")), "{told}");
    }
}
