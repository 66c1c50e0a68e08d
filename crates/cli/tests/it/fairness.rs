//! `fairwave fairness`: over loopback, and between network namespaces with a shaped link.

mod slow;

use crate::common::{ends_with, fairwave, json, scratch};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const CODE: &str = "acodeofthesetestsonly";

/// A server that ends with the value.
struct Serving {
    child: Child,
    port: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may already have ended; in both cases its status must be collected.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server at a port that the kernel chooses, and waits until it prints the port.
fn serve(place: &Path, more: &[&str]) -> Serving {
    let args = ["fairness", "serve", "--listen", "127.0.0.1:0", "--pairing", CODE];
    let mut child =
        fairwave(place, &[&args, more].concat()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let first = lines.next().expect("it greets").expect("text");
    let (address, _) = first.split_once(", TCP").expect("an address");
    let port = address.rsplit(':').next().expect("a port").to_owned();
    // Its later output must be read too: otherwise it would end when the pipe is full or closed.
    std::thread::spawn(move || lines.for_each(drop));
    Serving { child, port }
}

/// Arguments of a station at that server.
fn station<'a>(server: &'a Serving, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["fairness", "run", "127.0.0.1", "--port", &server.port, "--pairing", CODE];
    [&args[..], more].concat()
}

/// A station with a target has one flow alone first, unless the effective bandwidth is stated or
/// the rate of its flows is.
#[test]
fn a_target_is_related_to_a_flow_alone() {
    let place = scratch();
    let server = serve(place.path(), &[]);
    let base = ["-t", "0.2", "-i", "0.1", "--bidir", "--target", "3M"];
    let cases: [(&[&str], _, _); 3] = [
        (&[], "single-flow", 1),
        (&["--effective", "12M"], "stated", 0),
        (&["-b", "5M"], "total", 0),
    ];
    for (more, origin, flows) in cases {
        let found = json(place.path(), &station(&server, &[&base[..], more].concat()));
        let summary = &found["summary"];
        assert_eq!(summary["target"]["effective_from"], origin, "{more:?}");
        assert_eq!(summary["single"].as_array().unwrap().len(), flows, "{more:?}");
        assert_eq!(found["record"]["repetitions"].as_array().unwrap().len(), 1, "{more:?}");
        if flows == 1 {
            let rates = [&summary["single"][0]["mbps"], &summary["target"]["effective_mbps"]];
            let [alone, effective] = rates.map(|rate| rate.as_f64().expect("a rate"));
            // One is converted to bits per second and back.
            assert!((alone - effective).abs() <= 1e-9 * alone, "{alone} {effective}");
        }
    }
}

#[test]
fn a_run_is_printed_kept_shown_again_and_compared() {
    let place = scratch();
    let server = serve(place.path(), &[]);
    for name in ["a", "b"] {
        let requested =
            ["-t", "0.2", "-i", "0.1", "-n", "2", "--bidir", "-u", "-b", "2M", "-P", "2"];
        let kept = ["--name", "here", "--out", name, "--target", "3M", "--effective", "12M"];
        let found = json(place.path(), &station(&server, &[&requested[..], &kept].concat()));
        let stations = found["summary"]["stations"].as_array().unwrap();
        assert_eq!((stations.len(), &stations[0]["name"]), (1, &"here".into()));
        assert_eq!(found["summary"]["target"]["normalized"], 0.25);
        assert_eq!(found["record"]["repetitions"].as_array().unwrap().len(), 2);
        let again = json(place.path(), &["fairness", "show", name]);
        assert_eq!(again["summary"], found["summary"]);
    }
    for file in ["fairness.json", "fairness.html", "repetition-1.flent.gz", "repetition-2.flent.gz"]
    {
        assert!(place.path().join("a").join(file).exists(), "{file}");
    }
    let page = fs::read_to_string(place.path().join("a/fairness.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2, "{page}");
    let (words, _) = ends_with(0, place.path(), &["fairness", "show", "a"]);
    for word in ["here", "####", "Mbps together, mean of 2 repetitions", "No flow starved", "25 %"]
    {
        assert!(words.contains(word), "{word}: {words}");
    }
    let compared = json(place.path(), &["fairness", "--compare", "a", "b"]);
    let first = &compared["comparisons"][0];
    assert_eq!(
        (&first["metric"], &first["difference"]["is_paired"]),
        (&"total_mbps".into(), &false.into())
    );
    assert!(first["difference"]["p"].is_number(), "{first:#}");
}

#[test]
fn what_cannot_be_done_is_said_with_its_remedy() {
    let place = scratch();
    let refused = |code, args: &[&str], remedy: &str| {
        let (_, err) = ends_with(code, place.path(), &[&["fairness"], args].concat());
        assert!(err.contains(remedy), "{remedy}: {err}");
    };
    refused(2, &["run", "127.0.0.1"], "--pairing CODE or --key FILE is missing");
    refused(2, &["run", "127.0.0.1", "--pairing", CODE, "-t", "1", "-i", "0.3"], "whole number");
    refused(2, &["run", "127.0.0.1", "--pairing", CODE, "-C", "nobodys"], "there are");
    refused(2, &["run", "127.0.0.1", "--pairing", CODE, "-u", "-b", "0M"], "more than 0");
    refused(1, &["show", "gone"], "gone");
    refused(2, &["serve", "--max-bytes", "0 B"], "more than 0");
    let server = serve(place.path(), &["--max-time", "1"]);
    let refused = |args: &[&str], remedy: &str| {
        let (_, err) = ends_with(1, place.path(), &station(&server, args));
        assert!(err.contains(remedy), "{remedy}: {err}");
    };
    refused(&["-t", "2"], "raise --max-time there");
    refused(&["-t", "1", "--name", "two words"], "letters, digits");
}

#[test]
fn results_that_cannot_be_kept_are_printed() {
    let place = scratch();
    let server = serve(place.path(), &[]);
    let requested = ["-t", "0.2", "-i", "0.1", "-u", "-b", "2M", "--name", "here"];
    let ended = |more: &[&str]| {
        ends_with(1, place.path(), &station(&server, &[&requested[..], more].concat()))
    };
    let (_, err) = ended(&["--out", "/dev/null/results"]);
    assert!(err.contains("/dev/null/results") && !err.contains("Repetition"), "{err}");
    // Only when the page is written does it turn out that the directory is missing.
    let (out, err) = ended(&["--page", "gone/page.html"]);
    assert!(out.contains("here") && err.contains("gone/page.html"), "{out} {err}");
}

/// A station that measures for a minute; returns when the server has agreed to begin.
fn begun(place: &Path, server: &Serving, more: &[&str]) -> Child {
    let long = ["-t", "60", "-u", "-b", "4M", "-i", "0.1", "--name", "here"];
    let mut command = fairwave(place, &station(server, &[&long[..], more].concat()));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut printed = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("Repetition 1 of 1") {
        line.clear();
        assert!(printed.read_line(&mut line).expect("text") > 0, "it has ended");
    }
    child.stderr = Some(printed.into_inner());
    child
}

fn ended(mut child: Child) -> (Option<i32>, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    child.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    (child.wait().expect("it ends").code(), out, err)
}

#[test]
fn ctrl_c_and_a_server_that_is_killed_leave_what_was_counted() {
    let place = scratch();
    let mut server = serve(place.path(), &[]);
    let child = begun(place.path(), &server, &["--out", "left"]);
    let interrupt = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().expect("a shell").success());
    let (code, out, err) = ended(child);
    assert_eq!(code, Some(1), "{out} {err}");
    assert!(err.contains("interrupted") && out.contains("here"), "{out} {err}");
    let kept = fs::read_to_string(place.path().join("left/fairness.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let station = &kept["record"]["repetitions"][0]["stations"][0];
    assert_eq!(
        (&station["ending"], &station["flows"][0]["counted"]),
        (&"left".into(), &"at-receiver".into())
    );

    let child = begun(place.path(), &server, &["--out", "alone"]);
    server.child.kill().expect("it runs");
    let (code, out, err) = ended(child);
    assert_eq!(code, Some(1), "{out} {err}");
    assert!(err.contains("measurements until then are kept"), "{err}");
    assert!(err.contains("counted by their sender") && out.contains("here"), "{out} {err}");
    assert!(place.path().join("alone/fairness.html").exists());
}

/// Two stations, a router and a server; the router's link to the server carries 20 Mbps.
const CELL: &str = r#"
set -eu
n=fwfair-$$ server=
end() {
    [ -z "$server" ] || kill "$server" || true
    for node in one two router server; do ip netns del "$n-$node" || true; done
}
trap end EXIT
for node in one two router server; do ip netns add "$n-$node"; done
wire() {
    ip -n "$n-$1" link add "$2" type veth peer name "$1" netns "$n-router"
    ip -n "$n-$1" addr add "$3.2/24" dev "$2"; ip -n "$n-router" addr add "$3.1/24" dev "$1"
    ip -n "$n-$1" link set "$2" up; ip -n "$n-router" link set "$1" up
    ip -n "$n-$1" route add default via "$3.1"
}
wire one w0 10.66.1; wire two w0 10.66.2; wire server w0 10.66.3
ip netns exec "$n-router" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
ip netns exec "$n-router" tc qdisc add dev server root tbf rate 20mbit burst 16kb limit 60000
ip netns exec "$n-server" "$F" fairness serve --pairing "$CODE" > server.log & server=$!
until grep -q Listening server.log; do :; done
station() {
    name=$1; shift
    ip netns exec "$n-$name" "$F" fairness run 10.66.3.2 --pairing "$CODE" --hosts 2 \
        --name "$name" -t 3 -i 0.5 -C reno --json "$@"
}
station one > equal & first=$!
station two > equal-two
wait "$first"
station one -b 2M > capped & first=$!
station two > capped-two
wait "$first"

"#;

/// Faults in the same network: a full disk, Ctrl-C at each station, and another address.
const FAULTS: &str = r#"
# A disk with room for one page, that this process alone sees.
mkdir full
ip netns exec "$n-one" sh -c 'mount -t tmpfs -o size=4k none full && exec "$F" fairness run \
    10.66.3.2 --pairing "$CODE" --name one -t 0.4 -i 0.1 --out full/kept' \
    > full-said 2> full-errors || echo $? > full-code

# Ctrl-C at the first, while the second goes on; then at the second.
long="10.66.3.2 --pairing $CODE --hosts 2 -t 60 -i 0.1 -C reno"
ip netns exec "$n-one" \
    "$F" fairness run $long --name one --out left 2> errors-one > said-one & first=$!
ip netns exec "$n-two" \
    "$F" fairness run $long --name two --out stayed 2> errors-two > said-two & second=$!
until grep -q 'Repetition 1' errors-one && grep -q 'Repetition 1' errors-two; do
    kill -0 "$first" && kill -0 "$second"
done
sent() { ip netns exec "$n-router" cat /sys/class/net/server/statistics/tx_bytes; }
before=$(sent)
until [ $(($(sent) - before)) -gt 2000000 ]; do kill -0 "$first" && kill -0 "$second"; done
kill -INT "$first"; wait "$first" || echo $? > left-code
until grep -q 'one has left' server.log; do kill -0 "$second"; done
kill -INT "$second"; wait "$second" || echo $? > stayed-code

# Another address in mid-run.
ip netns exec "$n-one" "$F" fairness run 10.66.3.2 --pairing "$CODE" -t 60 -i 0.1 --name one \
    --out moved 2> errors-moved > said-moved & first=$!
until grep -q 'Repetition 1' errors-moved; do kill -0 "$first"; done
before=$(sent)
until [ $(($(sent) - before)) -gt 1000000 ]; do kill -0 "$first"; done
ip -n "$n-one" addr del 10.66.1.2/24 dev w0
ip -n "$n-one" addr add 10.66.1.7/24 dev w0
ip -n "$n-one" route replace default via 10.66.1.1
wait "$first" || echo $? > moved-code
"#;

/// Record of an interrupted station, in which one station was interrupted first.
fn kept_of_one(place: &Path, directory: &str) -> Value {
    let text = fs::read_to_string(place.join(directory).join("fairness.json")).expect("a record");
    let kept: Value = serde_json::from_str(&text).expect("whole");
    let stations = kept["record"]["repetitions"][0]["stations"].as_array().expect("a list").clone();
    stations.into_iter().find(|station| station["name"] == "one").expect("it took part")
}

/// With a full disk only the files are missing, Ctrl-C at one station does not end the other's run,
/// and a changed address is reported.
fn faults_cost_no_results(place: &Path) {
    let text = |name: &str| fs::read_to_string(place.join(name)).unwrap_or_default();
    let (printed, errors) = (text("full-said"), text("full-errors"));
    assert_eq!(text("full-code"), "1\n", "{printed}{errors}");
    assert!(printed.contains("one ") && errors.contains("full/kept/fairness"), "{printed}{errors}");
    assert!(errors.contains("No space left on device"), "{errors}");
    for (station, directory) in [("one", "left"), ("two", "stayed")] {
        let (printed, errors) =
            (text(&format!("said-{station}")), text(&format!("errors-{station}")));
        assert_eq!(text(&format!("{directory}-code")), "1\n", "{printed}{errors}");
        assert!(errors.contains("interrupted") && printed.contains(station), "{printed}{errors}");
    }
    let (printed, errors) = (text("said-moved"), text("errors-moved"));
    assert_eq!(text("moved-code"), "1\n", "{printed}{errors}");
    assert!(errors.contains("changed from 10.66.1.2 to 10.66.1.7"), "{printed}{errors}");
    assert!(errors.contains("counted by their sender"), "{errors}");
    for directory in ["left", "stayed", "moved"] {
        let one = kept_of_one(place, directory);
        let ending = if directory == "moved" { "open" } else { "left" };
        assert_eq!(one["ending"], ending, "{one:#}");
        assert_eq!(one["address"], "10.66.1.2", "{one:#}");
        let bytes = one["flows"][0]["bytes"].as_array().expect("intervals");
        assert!(bytes.iter().filter_map(Value::as_u64).sum::<u64>() > 0, "{one:#}");
    }
}

/// Results of two equal stations, those of the second one for the same runs, and results of both
/// when the first is held back.
fn stations_at_a_shaped_link(place: &Path, more: &str) -> [Value; 3] {
    fs::write(place.join("script"), format!("{CELL}{more}")).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("script").current_dir(place).env("CODE", CODE);
    let output = shell.env("F", env!("CARGO_BIN_EXE_fairwave")).output().expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    ["equal", "equal-two", "capped"].map(|name| {
        let text = fs::read_to_string(place.join(name)).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {errors}"))
    })
}

/// Mean of a figure of the summary.
fn mean(found: &Value, name: &str) -> f64 {
    found["summary"][name]["mean"].as_f64().unwrap()
}

/// The station that is held back.
fn station_one(found: &Value) -> &Value {
    let stations = found["summary"]["stations"].as_array().unwrap();
    stations.iter().find(|station| station["name"] == "one").unwrap()
}

/// Rate of the shaped link, which no goodput exceeds.
const LINK_MBPS: f64 = 20.0;

#[test]
fn stations_share_a_shaped_link_and_survive_faults() {
    if crate::real::skipped() {
        return;
    }
    let place = scratch();
    let [equal, equal_two, capped] = stations_at_a_shaped_link(place.path(), FAULTS);
    assert_eq!(equal["summary"], equal_two["summary"], "all get the same results");
    for found in [&equal, &capped] {
        let (jain, total) = (mean(found, "jain"), mean(found, "total_mbps"));
        assert!(jain > 0.0 && jain <= 1.0, "{found:#}");
        assert!(total > 0.0 && total < LINK_MBPS, "{found:#}");
    }
    assert_eq!(station_one(&capped)["algorithms"], serde_json::json!(["reno"]));
    faults_cost_no_results(place.path());
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_stations_share_a_shaped_link_and_one_that_is_held_back_has_less() {
    if crate::real::skipped() {
        return;
    }
    let place = scratch();
    let [equal, _, capped] = stations_at_a_shaped_link(place.path(), "");
    assert!(mean(&equal, "jain") > 0.8, "{equal:#}");
    // 20 Mbps less headers, 5.4 % of a segment, and the cost of the start.
    assert!(mean(&equal, "total_mbps") > 14.0, "{equal:#}");
    assert!(mean(&capped, "jain") < 0.8, "{capped:#}");
    assert!(station_one(&capped)["mbps"]["mean"].as_f64().unwrap() < 2.2, "{capped:#}");
}
