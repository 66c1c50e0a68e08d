//! Experiments of this study, their axes, and the paper's constants.

use crate::declare::experiment;
use fairwave_study::Experiment;

pub(super) const HANDOVER: &str = "handover";
pub(super) const STEADY: &str = "steady";
pub(super) const REMEDIES: &str = "remedies";
pub(super) const AMOUNT: &str = "amount";
pub(super) const JOIN: &str = "join";
pub(super) const WIRE: &str = "wire";
pub(super) const CCID2: &str = "others-ccid2";
pub(super) const UDP: &str = "others-udp";
pub(super) const TCP: &str = "others-tcp";
pub(super) const GCC: &str = "others-gcc";
pub(super) const VIDEO: &str = "video";
pub(super) const FRIENDLY: &str = "friendly";

pub(super) const DISCONNECTION: &str = "node.mobile.roaming.handovers.0.disconnection";
pub(super) const PROFILE: &str = "flow.mobile.profile";
pub(super) const VARIANT: &str = "variant";
pub(super) const DISCARD: &str = "node.mobile.roaming.discard";
pub(super) const DELAY: &str = "link.ap-host.delay";
/// The flow of the mobile.
pub(super) const MOBILE: &str = "mobile";
/// The edition of TFRC that the paper simulated, and the present one.
pub(super) const PAPERS: &str = "rfc3448";
pub(super) const PRESENT: &str = "rfc5348";

/// Time at which the mobile leaves its access point, in seconds.
pub(super) const HANDOVER_S: f64 = 20.0;
/// Interval of the series, in seconds.
pub(super) const STEP_S: f64 = 0.1;
/// Rate of the source: 629 bytes every 10 ms.
pub(super) const SOURCE_KBPS: f64 = 503.2;
/// The paper's steady state: a standard deviation of the ten sending rates below this.
pub(super) const LIMIT_KBPS: f64 = 85.0;
/// As near to the residents' rate as HO-4 asks for, and how long the mean must stay so.
pub(super) const NEAR: f64 = 0.2;
pub(super) const STEADY_S: f64 = 2.0;

pub(super) const ONE_SEED: &str = "sweep.seeds=1";
pub(super) const TWO_SEEDS: &str = "sweep.seeds=2";
/// Combinations of remedies in the quick form.
pub(super) const SOME_REMEDIES: &str = r#"variant=["none", "A", "B", "C", "D", "E", "AB", "ABCD",
    "A'", "B'", "A'BB'D", "AA'BB'CDE"]"#;
pub(super) const FEW: &str =
    "sweep.node.mobile.roaming.handovers.0.disconnection=['0.5 s', '3 s', '6 s']";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!(
        "tfrc-handover",
        "handover",
        &[
            ONE_SEED,
            "sweep.node.mobile.roaming.handovers.0.disconnection=['0.5 s', '1 s', '1.5 s', \
             '2.5 s', '3 s', '3.5 s', '4.5 s', '6 s']"
        ],
        true
    ),
    experiment!("tfrc-handover", "steady", &[ONE_SEED], true),
    experiment!("tfrc-handover", "remedies", &[TWO_SEEDS, FEW, SOME_REMEDIES], true),
    experiment!(
        "tfrc-handover",
        "amount",
        &[ONE_SEED, "sweep.node.mobile.roaming.handovers.0.disconnection=['3 s']"],
        true
    ),
    experiment!("tfrc-handover", "join", &["sweep.seeds=2"], true),
    experiment!(
        "tfrc-handover",
        "wire",
        &[ONE_SEED, "sweep.node.mobile.roaming.handovers.0.disconnection=['3 s']"],
        true
    ),
    experiment!("tfrc-handover", "video", &[ONE_SEED, FEW], false),
    experiment!("tfrc-handover", "others-ccid2", &[ONE_SEED, FEW], true),
    experiment!("tfrc-handover", "others-udp", &[ONE_SEED, FEW], true),
    experiment!("tfrc-handover", "others-tcp", &[ONE_SEED, FEW], true),
    experiment!("tfrc-handover", "others-gcc", &[ONE_SEED, FEW], true),
    experiment!(
        "tfrc-handover",
        "friendly",
        &[
            ONE_SEED,
            "sweep.link.bottleneck.delay=['10 ms', '100 ms']",
            "sweep.link.bottleneck.loss=[0.001, 0.02]"
        ],
        false
    ),
];

/// In real time, with the mobile's stream on sockets and the residents simulated.
pub(super) const EMULATED: &[Experiment] = &[
    experiment!(
        "tfrc-handover",
        HANDOVER,
        "emulated-handover",
        &[
            ONE_SEED,
            "sweep.node.mobile.roaming.handovers.0.disconnection=['1.5 s', '2.5 s', '3 s', \
             '3.5 s', '4.5 s', '6 s']"
        ],
        true
    ),
    experiment!(
        "tfrc-handover",
        REMEDIES,
        "emulated-remedies",
        &[ONE_SEED, FEW, r#"variant=["none", "B", "D", "B'D", "DE"]"#],
        true
    ),
    experiment!("tfrc-handover", JOIN, "emulated-join", &[ONE_SEED], true),
];

/// Number of runs that go at the same time in real time. A run has one stream on sockets, of 100
/// packets per second.
pub(super) const EMULATED_AT_ONCE: usize = 8;
