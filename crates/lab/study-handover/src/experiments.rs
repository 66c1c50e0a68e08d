//! What is run for this study, its axes, and the paper's constants.

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
pub(super) const FRIENDLY: &str = "friendly";

pub(super) const DISCONNECTION: &str = "node.mobile.roaming.handovers.0.disconnection";
pub(super) const PROFILE: &str = "flow.mobile.profile";
pub(super) const VARIANT: &str = "variant";
pub(super) const DISCARD: &str = "node.mobile.roaming.discard";
pub(super) const DELAY: &str = "link.ap-host.delay";
/// The flow of the mobile.
pub(super) const MOBILE: &str = "mobile";
/// The edition of TFRC that the paper simulated.
pub(super) const PAPERS: &str = "rfc3448";

/// When the mobile leaves its access point, in seconds.
pub(super) const HANDOVER_S: f64 = 20.0;
/// Interval of the series, in seconds.
pub(super) const STEP_S: f64 = 0.1;
/// What the source makes: 629 bytes every 10 ms.
pub(super) const SOURCE_KBPS: f64 = 503.2;
/// The paper's steady state: a standard deviation of the ten sending rates below this.
pub(super) const LIMIT_KBPS: f64 = 85.0;
/// As near to the residents' rate as HO-4 asks for, and how long the mean must stay so.
pub(super) const NEAR: f64 = 0.2;
pub(super) const STEADY_S: f64 = 2.0;

/// An experiment of this study by its name, of which `--quick` runs less.
macro_rules! experiment {
    ($name:literal, $series:expr, $quick:expr) => {
        Experiment {
            name: $name,
            file: concat!("studies/tfrc-handover/", $name, ".toml"),
            text: include_str!(concat!("../../../../studies/tfrc-handover/", $name, ".toml")),
            quick: $quick,
            series: $series,
        }
    };
}

pub(super) const ONE_SEED: &str = "sweep.seeds=1";
pub(super) const FEW: &str =
    "sweep.node.mobile.roaming.handovers.0.disconnection=['0.5 s', '3 s', '6 s']";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!(
        "handover",
        true,
        &[
            ONE_SEED,
            "sweep.node.mobile.roaming.handovers.0.disconnection=['0.5 s', '1 s', '1.5 s', \
             '2.5 s', '3 s', '3.5 s', '4.5 s', '6 s']"
        ]
    ),
    experiment!("steady", true, &[ONE_SEED]),
    experiment!("remedies", true, &[ONE_SEED, FEW]),
    experiment!(
        "amount",
        true,
        &[ONE_SEED, "sweep.node.mobile.roaming.handovers.0.disconnection=['3 s']"]
    ),
    experiment!("join", true, &["sweep.seeds=2"]),
    experiment!(
        "wire",
        true,
        &[ONE_SEED, "sweep.node.mobile.roaming.handovers.0.disconnection=['3 s']"]
    ),
    experiment!("others-ccid2", true, &[ONE_SEED, FEW]),
    experiment!("others-udp", true, &[ONE_SEED, FEW]),
    experiment!("others-tcp", true, &[ONE_SEED, FEW]),
    experiment!("others-gcc", true, &[ONE_SEED, FEW]),
    experiment!(
        "friendly",
        false,
        &[
            ONE_SEED,
            "sweep.link.bottleneck.delay=['10 ms', '100 ms']",
            "sweep.link.bottleneck.loss=[0.001, 0.02]"
        ]
    ),
];
