//! `fairwave soc` between namespaces: shares, hostile stations, and the state after a kill.

use crate::common::{fairwave, scratch};
use crate::real::in_namespaces;
use serde_json::Value;
use std::fs;

/// Result of a task of `soc.py`, in its own namespaces.
fn found(task: &str) -> Option<Value> {
    in_namespaces("soc.py", &[task])
}

/// Checks that each of three flows has a share. A sender that waits for a processor leaves its
/// share to the others, so that no size of it is certain on a busy machine.
fn assert_shares(found: &Value) {
    let shares = found["shares"].as_array().expect("three");
    assert_eq!(shares.len(), 3, "{found}");
    assert!(shares.iter().all(|share| share.as_f64() > Some(0.0)), "{found}");
}

/// Checks that three shares are within 5 % of those given by the weights.
fn assert_sharp_shares(found: &Value, weights: [f64; 3]) {
    let sum: f64 = weights.iter().sum();
    for (share, weight) in found["shares"].as_array().expect("three").iter().zip(weights) {
        let share = share.as_f64().expect("a number");
        assert!((share * sum / weight - 1.0).abs() < 0.05, "{found}");
    }
}

/// Tasks that measure shares, and the weights of their three flows.
const SHARES: [(&str, [f64; 3]); 6] = [
    ("shares", BY_PW),
    ("plane-shares", BY_PW),
    ("plane-routed", BY_PW),
    ("plane-classes", BY_KIND),
    ("routed", BY_PW),
    ("classes", BY_KIND),
];

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_saturating_flows_follow_the_weights() {
    for (task, weights) in SHARES {
        let Some(found) = found(task) else { return };
        assert_sharp_shares(&found, weights);
    }
}

/// Weights by pw for SoC of 14, 10 and 4 dB: 1, 0.8 and 0.2.
const BY_PW: [f64; 3] = [1.0, 0.8, 0.2];
/// Weights of voice, and of other traffic by pw at 4 and at 14 dB.
const BY_KIND: [f64; 3] = [1.0, 0.2, 1.0];

#[test]
fn saturating_datagrams_are_shared_by_htb() {
    let Some(found) = found("shares") else { return };
    assert_shares(&found);
    assert_eq!(found["actuator"], "htb", "{found}");
}

/// Segments of up to 64 kB were turns of whole segments: a station with weight 0.2 had 0.38 of the
/// bytes instead of 0.17, and less than its share for half a minute afterwards.
#[test]
fn streams_in_joined_segments_follow_the_weights() {
    let Some(found) = found("segments") else { return };
    let tcp = &found["tcp"];
    assert_eq!(tcp["verdict"], "follows", "{found}");
    let share = |at: usize| tcp["shares"][at]["share"].as_f64().expect("a share");
    assert!((0.1..0.25).contains(&share(1)) && share(0) > 0.75, "{found}");
    let tbf = |line: &&Value| line.as_str().is_some_and(|line| line.starts_with("qdisc tbf"));
    // Two stations and the others.
    assert_eq!(found["qdiscs"].as_array().expect("lines").iter().filter(tbf).count(), 3, "{found}");
}

/// To a station and to an unknown one, by both kinds of queues: nothing that was longer than the
/// first MTU arrived.
#[test]
fn longer_frames_pass_after_the_mtu_was_raised() {
    let Some(found) = found("raised") else { return };
    for leaf in ["default", "fifo"] {
        assert_eq!(found[leaf][0], found[leaf][1], "the same qdiscs: {found}");
        assert_eq!(found[leaf][2], false, "{found}");
    }
}

#[test]
fn weights_without_effect_are_noticed_by_their_shares() {
    let Some(found) = found("measured") else { return };
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let problem = text(&found["deviates"]["problem"]);
    assert!(problem.starts_with("weights have little effect at interface `w0`: "), "{problem}");
    assert!(text(&found["words"]).contains(&problem[..40]), "{found}");
    let past = text(&found["bypassed"]["problem"]);
    assert!(past.contains("pass by its qdisc"), "{past}");
    let err = text(&found["err"]);
    assert!(err.contains("another program has deleted the qdisc"), "{err}");
    // A problem that stays is reported once.
    assert_eq!(err.matches("weights have little effect").count(), 1, "{err}");
    assert_eq!(found["rc"], 0, "{found}");
}

#[test]
fn whoever_ends_or_has_another_key_is_known_at_once() {
    let Some(found) = found("ends") else { return };
    // A minute of missing reports would be 300 of them.
    assert!(found["missed"].as_u64().expect("a count") < 50, "{found}");
    let refused = found["refused"].as_str().expect("a line");
    assert!(refused.contains("02:00:00:00:00:01 refuses the key in"), "{refused}");
    for second in [&found["second"], &found["plan"]] {
        let text = second[0].as_str().expect("a message");
        assert!(text.contains("another `fairwave soc ap` serves it already"), "{text}");
        assert!(!text.contains("tc qdisc delete"), "{text}");
        assert_eq!(second[1], 2, "{found}");
    }
}

/// The name of a socket without a file is anybody's.
#[test]
fn nobody_keeps_an_access_point_from_starting_or_answers_for_it() {
    let Some(found) = found("taken") else { return };
    let text = |name: &str, at: usize| found[name][at].as_str().expect("a message").to_owned();
    for name in ["taken", "full"] {
        assert!(text(name, 1).contains("no `fairwave soc ap` runs here"), "{found}");
        let warned = text(name, 2);
        assert!(warned.contains("has taken the name of the status socket"), "{warned}");
        assert_eq!(found[name][3], 0, "{found}");
    }
    assert!(text("taken", 0).contains("a program of user 65534"), "{found}");
    assert!(text("full", 0).contains("no `fairwave soc ap` answers there"), "{found}");
}

/// By HTB, in a dry run with a thread for reports in front of data, and a station whose datagrams
/// can leave by any interface: all of them ran on.
#[test]
fn all_end_with_their_interface() {
    let Some(found) = found("gone") else { return };
    for name in ["htb", "dry", "station"] {
        assert_eq!(found[name][0], 1, "{name}: {found}");
        let why = found[name][1].as_str().expect("a message");
        assert!(why.contains("interface `w0`: the interface is gone"), "{name}: {why}");
    }
}

/// By HTB, by HTB in place of another qdisc, and by our own scheduler, which ended: the keeper
/// looked for the old name, and nothing left the interface any more.
#[test]
fn nothing_is_left_at_an_interface_that_was_renamed() {
    let Some(found) = found("renamed") else { return };
    assert_eq!(found["seen"], 6, "{found}");
}

/// gb1 gives 0 below 12 dB. A class with the kernel's minimum rate sent some packets at once, and
/// one each few seconds.
#[test]
fn a_station_without_weight_is_sent_nothing_until_its_soc_is_back() {
    let Some(found) = found("closed") else { return };
    assert_eq!((&found["served"], &found["arrived"]), (&1.into(), &0.into()), "{found}");
    assert_eq!((&found["fresh"], &found["other"]), (&0.into(), &5.into()), "{found}");
    assert_eq!(found["closed"], 2, "{found}");
}

#[test]
fn the_frame_of_the_paper_counts_where_both_sides_accept_it() {
    let Some(found) = found("plain") else { return };
    // The type, 10.79.0.2 and 10 dB, and Ethernet's padding if the link has that.
    let report = found["report"].as_str().expect("hexadecimal");
    assert!(report.starts_with("88b50a4f00020000000a"), "{report}");
    assert!(report[20..].bytes().all(|digit| digit == b'0'), "{report}");
    let weight = |station: &str| found["weights"][station].as_f64().expect("a weight");
    let weights = [weight("02:00:00:00:00:02"), weight("02:00:00:00:00:03")];
    assert!((weights[0] - 0.8).abs() < 1e-3 && weights[1] == 1.0, "{found}");
    let count = |name: &str| found[name].as_u64().expect("a count");
    assert!(
        count("unauthenticated") > 0 && count("accepted") > count("unauthenticated"),
        "{found}"
    );
    for (refused, word) in
        [("unasked", "--unauthenticated accepts that"), ("pointless", "for --frame plain")]
    {
        for one in found[refused].as_array().expect("refusals") {
            assert!(one[0].as_str().is_some_and(|why| why.contains(word)), "{one}");
            assert_eq!(one[1], 2, "{one}");
        }
    }
}

#[test]
fn reports_ride_on_data_that_leaves_within_the_interval() {
    let Some(found) = found("piggyback") else { return };
    let riding = found["riding"].as_array().expect("frames");
    // Ethernet's header, the report, and a datagram of 104 bytes: never one that fills the MTU.
    assert!(
        riding.len() >= 8 && riding.iter().all(|bytes| *bytes == 14 + 64 + 28 + 104),
        "{found}"
    );
    assert_eq!((&found["lost"], &found["again"]), (&serde_json::json!([]), &0.into()), "{found}");
    let count = |value: &Value| value.as_u64().expect("a count");
    assert!(count(&found["believed"]) >= 8, "{found}");
    let (in_front, sent) = (count(&found["counts"]["in_front"]), count(&found["counts"]["sent"]));
    assert!(in_front >= 8 && sent >= in_front + 3, "{found}");
    assert_eq!(found["restored"], true, "{found}");
}

/// Frames with a tag of 802.1Q, one of 802.1ad, and both: the report stands behind the tags.
#[test]
fn reports_ride_behind_vlan_tags() {
    let Some(found) = found("vlans") else { return };
    let kinds = found["kinds"].as_object().expect("kinds");
    assert_eq!(kinds.len(), 3, "{found}");
    for one in kinds.values() {
        let before = format!("{}88b5", one["tags"].as_str().expect("tags"));
        let loaded = one["loaded"].as_array().expect("frames");
        assert!(loaded.len() >= 4 && loaded.iter().all(|all| *all == before), "{found}");
        assert_eq!((&one["lost"], &one["again"]), (&serde_json::json!([]), &0.into()), "{found}");
        assert_eq!(one["believed"], true, "{found}");
    }
    assert!(found["in_front"].as_u64().expect("a count") >= 12, "{found}");
}

/// How long it takes is `cargo xtask bench-soc`'s; here each packet is traced from its receipt to
/// the end of its transmission.
#[test]
fn the_kernel_forwards_by_each_policy_and_is_traced() {
    let Some(found) = found("table4-short") else { return };
    let rows = found.as_array().expect("rows");
    let schemes: Vec<_> = rows.iter().filter_map(|row| row["scheme"].as_str()).collect();
    assert_eq!(schemes, ["fifo", "gb1", "gb2", "gb3", "pw"]);
    for row in rows {
        let times = row["ns"].as_array().expect("times");
        assert!(times.len() == 10 && times.iter().all(|ns| ns.as_i64() > Some(0)), "{row}");
    }
}

#[test]
fn our_own_scheduler_shares_by_link_by_address_and_by_kind() {
    let Some(by_link) = found("plane-shares") else { return };
    assert_shares(&by_link);
    assert_eq!(by_link["actuator"], "user-space", "{by_link}");
    let Some(by_address) = found("plane-routed") else { return };
    assert_shares(&by_address);
    let Some(by_kind) = found("plane-classes") else { return };
    assert_shares(&by_kind);
}

#[test]
fn whatever_a_frame_is_it_passes_our_own_scheduler() {
    let Some(found) = found("plane-frames") else { return };
    let kinds = ["tcp", "jumbo", "fragments", "vlan", "broadcast", "multicast", "ipv6", "other"];
    // 8 MiB in frames of 9000 bytes would be a thousand frames.
    assert!(found["pieces"]["sent"].as_u64().expect("a count") < 800, "{found}");
    for kind in kinds.iter().chain(&["working", "whole", "restored"]) {
        assert_eq!(found[kind], true, "{kind}: {found}");
    }
    assert_eq!(found["gone"][0], 1, "{found}");
    let why = found["gone"][1].as_str().expect("a message");
    assert!(why.contains("interface `w0`: the interface is gone"), "{why}");
}

#[test]
fn kill_9_of_our_own_scheduler_leaves_all_as_it_was() {
    let Some(found) = found("plane-killed") else { return };
    assert_eq!((&found["seen"], &found["kept"]), (&2.into(), &true.into()), "{found}");
    for (refusal, word) in
        found["refusals"].as_array().expect("two").iter().zip(["clsact", "pfifo 7:"])
    {
        assert_eq!(refusal[1], 1, "{found}");
        assert!(refusal[0].as_str().is_some_and(|why| why.contains(word)), "{found}");
    }
}

/// Two stations behind a router, one by IPv4 and one by IPv6, and one on the access point's link.
#[test]
fn stations_behind_a_router_have_shares_of_their_own() {
    let Some(found) = found("routed") else { return };
    assert_shares(&found);
    let addresses =
        [&found["addresses"]["02:00:00:00:01:01"], &found["addresses"]["02:00:00:00:01:02"]];
    assert_eq!(addresses, ["10.80.1.2", "fd80:2::2"], "{found}");
    assert!(found["challenges"].as_u64().expect("a count") >= 2, "{found}");
    // An attacker who cannot receive at a neighbour's address claims it without effect.
    assert_eq!(found["stolen"], 0, "{found}");
}

/// pw is 0.2 at 4 dB and 1 at 14 dB; voice has weight 1 at any level.
#[test]
fn kinds_of_traffic_have_policies_of_their_own() {
    let Some(found) = found("classes") else { return };
    assert_shares(&found);
}

/// At 16 kbps 50 kB are 25 s of data, which is longer than a station waits for an answer.
#[test]
fn answers_do_not_wait_behind_data() {
    let Some(found) = found("answered") else { return };
    assert!(found["queued"].as_u64().expect("bytes") > 50_000, "{found}");
}

#[test]
fn a_hostile_station_moves_no_weight_and_no_memory() {
    let Some(found) = found("hostile") else { return };
    // The weight by pw at 10 dB, of the only station that has ever reported.
    let weights = found["weights"].as_object().expect("weights");
    let victim = weights["02:00:00:00:00:02"].as_f64().expect("a number");
    assert!(weights.len() == 1 && (victim - 0.8).abs() < 1e-3, "{found}");
    assert_eq!(found["stations"], 1, "{found}");
    assert!(found["grown"].as_i64().expect("bytes") < 4 << 20, "{found}");
}

#[test]
fn what_was_recorded_is_worth_nothing_after_a_new_start() {
    let Some(found) = found("restarted") else { return };
    assert_eq!(found["moved"], serde_json::json!([]), "{found}");
    let back = found["back"]["02:00:00:00:00:02"].as_f64().expect("a weight");
    assert!((back - 0.8).abs() < 1e-3, "{found}");
}

#[test]
fn kill_9_at_any_moment_leaves_the_interface_as_it_was() {
    let Some(found) = found("killed") else { return };
    assert_eq!(found["seen"], 2, "{found}");
    // At least six changes before each of eight kills during a change.
    assert!(found["changes"].as_u64().expect("a count") >= 48, "{found}");
}

#[test]
fn a_qdisc_that_was_replaced_comes_back_whatever_happens() {
    let Some(found) = found("replaced") else { return };
    assert_eq!(found["settings"], 4, "{found}");
    let err = found["err"].as_str().expect("a message");
    assert!(err.contains("has the qdisc htb 7:") && err.contains("its classes"), "{err}");
    let plan = &found["plan"];
    assert_eq!((&plan["actuator"], &plan["foreign_qdisc"]), (&Value::Null, &"htb 7:".into()));
    assert!(plan["obstacle"].as_str().is_some_and(|why| why.contains("its classes")), "{plan}");
}

#[test]
fn a_station_that_nobody_knows_is_paired_by_a_code() {
    let Some(found) = found("paired") else { return };
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let code = |printed: String| {
        let at = printed.find("show ").expect("a code") + "show ".len();
        printed[at..at + 7].to_owned()
    };
    let (pair, join) = (&found["pair"], &found["join"]);
    assert_eq!((&pair[0], &join[0]), (&0.into(), &0.into()), "{found}");
    assert_eq!(code(text(&pair[2])), code(text(&join[2])), "{found}");
    assert_eq!((&found["same"], &found["mode"]), (&true.into(), &"0o600".into()), "{found}");
    let no = &found["no"];
    assert_eq!((&no[0][0], &no[1][0], &no[2]), (&1.into(), &1.into(), &false.into()), "{found}");
    assert!(text(&no[1][2]).contains("the codes were not confirmed"), "{found}");
    assert_eq!((&found["first"][0][0], &found["first"][2]), (&0.into(), &true.into()), "{found}");
    let late = text(&found["late"][0]);
    assert!(late.contains("no access point gave a key within 1 s"), "{late}");
    assert!(text(&found["again"][0]).contains("there is such a file"), "{found}");
    assert_eq!((&found["late"][1], &found["again"][1]), (&1.into(), &2.into()), "{found}");
    // The access point on the same host does not take any of this for reports.
    assert_eq!(found["refused"], serde_json::json!({}), "{found}");
}

#[test]
fn an_access_point_is_found_watched_and_scraped() {
    let Some(found) = found("told") else { return };
    assert_eq!(found["nobody"][0], 1, "{found}");
    let why = found["nobody"][2].as_str().expect("a message");
    assert!(why.contains("this network namespace: no `fairwave soc ap` runs here"), "{why}");
    let station = "02:00:00:00:00:02";
    let (once, lines) = (&found["once"], found["lines"].as_array().expect("lines"));
    assert_eq!(
        (&once["interface"], &once["stations"][0]["station"]),
        (&"w0".into(), &station.into())
    );
    let lasted = |line: &Value| line["lasted_s"].as_f64().expect("seconds");
    assert!(lasted(&lines[1]) > lasted(&lines[0]), "{found}");
    assert_eq!(found["ended"], 0, "{found}");
    let page = found["page"].as_str().expect("a page");
    let weight =
        format!("fairwave_soc_weight{{ifname=\"w0\",mac=\"{station}\",class=\"rest\"}} 1.0\n");
    assert!(page.contains(&weight), "{page}");
    assert_eq!(found["without"], "500", "an access point that is gone is an error");
}

#[test]
fn a_station_without_a_radio_is_told_what_to_give() {
    let place = scratch();
    fs::write(place.path().join("key"), format!("{}=\n", "A".repeat(43))).expect("a key");
    let mut command = fairwave(place.path(), &["soc", "station", "--interface", "lo"]);
    let output = command.args(["--key", "key"]).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    for word in ["interface `lo` has no radio", "--snr DB", "--snr-from FILE"] {
        assert!(err.contains(word), "{err}");
    }
}
