//! SHAKE flows in scenarios: what is left out is the profile's, and every key acts.

use fairwave_scenario::Scenario;
use fairwave_shake::{LossDetection, Profile, RetransmissionPath, TimeoutRule};
use fairwave_sim::world::{ShakeFlow, ShakeFormat, ShakePath, Traffic};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Bytes, Duration};

const WORLD: &str = r#"
[[node]]
name = "host"
kind = "host"
[[node]]
name = "phone"
kind = "host"
count = 2
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["host", "phone*"]
[[link]]
ends = ["phone*", "server"]
[[flow]]
name = "transfer"
from = "host"
to = "server"
transport = "shake"
"#;

fn read(keys: &str) -> (Scenario, ShakeFlow) {
    let text = format!("{WORLD}{keys}");
    let scenario = Scenario::parse("shake.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let Traffic::Shake(flow) = scenario.to_world(1).flows[0].traffic.clone() else {
        panic!("it is SHAKE")
    };
    (scenario, flow)
}

#[test]
fn what_is_left_out_is_the_profiles() {
    for profile in Profile::ALL {
        let name = profile.name();
        let (scenario, flow) =
            read(&format!("profile = {name:?}\npaths = [{{ via = \"phone2\" }}]"));
        assert_eq!(flow.config, profile.config());
        let rules = profile.rules();
        assert_eq!(flow.scheduler.name(), rules.scheduler.name());
        assert_eq!(flow.growth, rules.growth.name());
        assert_eq!((flow.size, flow.format), (None, ShakeFormat::Udp));
        let (join, leave, rejoin) = (Duration::ZERO, None, None);
        let path = ShakePath { via: NodeId(2), nominal: None, join, leave, rejoin };
        assert_eq!(flow.paths, [path]);
        let again = Scenario::parse("resolved.toml", &scenario.to_toml());
        assert_eq!(again.unwrap_or_else(|e| panic!("{e}")), scenario);
    }
}

#[test]
fn every_key_acts() {
    let keys = r#"
profile = "paper"
size = "1000 KB"
paths = [
    { via = "phone1", bandwidth = "64 kbps" },
    { via = "phone2", join = "2 s", leave = "60 s", rejoin = "90 s" },
]
format = "tcp"
scheduler = "ecf"
growth = "olia"
retransmission = "same"
sack = false
mss = "1000 B"
send_buffer = "100 KB"
receive_buffer = "50 KB"
initial_window = "2 segments"
initial_ssthresh = "unlimited"
duplicates = 3
timeouts = "arrivals"
timeout_rewinds = false
timer_tick = "10 ms"
spills = true
pacing = true
opportunistic = true
"#;
    let (scenario, flow) = read(keys);
    assert_eq!((flow.scheduler.name(), &*flow.growth), ("ecf", "olia"));
    assert_eq!(flow.size, Some(Bytes(1_000_000)));
    let first = ShakePath {
        via: NodeId(1),
        nominal: Some(BitRate(64_000)),
        join: Duration::ZERO,
        leave: None,
        rejoin: None,
    };
    let second = ShakePath {
        via: NodeId(2),
        nominal: None,
        join: Duration::from_secs(2),
        leave: Some(Duration::from_secs(60)),
        rejoin: Some(Duration::from_secs(90)),
    };
    assert_eq!(flow.paths, [first, second]);
    let config = fairwave_shake::Config {
        mss: 1000,
        send_buffer: 100_000,
        receive_buffer: 50_000,
        initial_window: 2000,
        initial_ssthresh: u32::MAX,
        loss_detection: LossDetection::Duplicates(3),
        sack_blocks: 0,
        retransmission: RetransmissionPath::Same,
        timeouts: TimeoutRule::Arrivals,
        timeout_rewinds: false,
        tick: Duration::from_millis(10),
        retransmission_spills: true,
        pacing: true,
        opportunistic: true,
        ..Profile::Paper.config()
    };
    assert_eq!((flow.config, flow.format), (config, ShakeFormat::Tcp));
    let again = Scenario::parse("resolved.toml", &scenario.to_toml());
    assert_eq!(again.unwrap_or_else(|e| panic!("{e}")), scenario);
}

/// Every segment on every path makes acknowledgements that do not advance meaningless: losses are
/// detected path by path, and paths do not count.
#[test]
fn the_paper_does_not_count_where_every_path_carries_everything() {
    let paths = "profile = \"paper\"\npaths = [{ via = \"phone2\" }]";
    let (_, flow) = read(&format!("{paths}\nscheduler = \"redundant\""));
    assert_eq!(flow.config.timeouts, TimeoutRule::Arrivals);
}
