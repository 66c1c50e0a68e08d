//! TFRC and DCCP across handovers: Otsuka, Tamura and Ishihara.

mod claims;
mod figures;
mod friendly;
mod measure;
mod points;
mod remedies;

use fairwave_study::{Error, Experiment, Findings, Results, Study};

/// The study.
#[derive(Clone, Copy, Debug)]
pub struct TfrcHandover;

const HANDOVER: &str = "handover";
const STEADY: &str = "steady";
const REMEDIES: &str = "remedies";
const AMOUNT: &str = "amount";
const JOIN: &str = "join";
const WIRE: &str = "wire";
const CCID2: &str = "others-ccid2";
const UDP: &str = "others-udp";
const TCP: &str = "others-tcp";
const GCC: &str = "others-gcc";
const FRIENDLY: &str = "friendly";

const DISCONNECTION: &str = "node.mobile.roaming.handovers.0.disconnection";
const PROFILE: &str = "flow.mobile.profile";
const VARIANT: &str = "variant";
const DISCARD: &str = "node.mobile.roaming.discard";
const DELAY: &str = "link.ap-host.delay";
/// The flow of the mobile.
const MOBILE: &str = "mobile";
/// The edition of TFRC that the paper simulated.
const PAPERS: &str = "rfc3448";

/// When the mobile leaves its access point, in seconds.
const HANDOVER_S: f64 = 20.0;
/// Interval of the series, in seconds.
const STEP_S: f64 = 0.1;
/// What the source makes: 629 bytes every 10 ms.
const SOURCE_KBPS: f64 = 503.2;
/// The paper's steady state: a standard deviation of the ten sending rates below this.
const LIMIT_KBPS: f64 = 85.0;
/// As near to the residents' rate as HO-4 asks for, and how long the mean must stay so.
const NEAR: f64 = 0.2;
const STEADY_S: f64 = 2.0;

/// An experiment of this study by its name, of which `--quick` runs less.
macro_rules! experiment {
    ($name:literal, $series:expr, $quick:expr) => {
        Experiment {
            name: $name,
            file: concat!("studies/tfrc-handover/", $name, ".toml"),
            text: include_str!(concat!("../../../studies/tfrc-handover/", $name, ".toml")),
            quick: $quick,
            series: $series,
        }
    };
}

const ONE_SEED: &str = "sweep.seeds=1";
const FEW: &str = "sweep.node.mobile.roaming.handovers.0.disconnection=['0.5 s', '3 s', '6 s']";

const EXPERIMENTS: &[Experiment] = &[
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

impl Study for TfrcHandover {
    fn name(&self) -> &'static str {
        "tfrc-handover"
    }

    fn paper(&self) -> &'static str {
        "Y. Otsuka, D. Tamura, S. Ishihara: Performance evaluation of TFRC focused on \
         disconnection period due to wireless LAN handover (in Japanese), Shizuoka University"
    }

    fn statement(&self) -> &'static str {
        "A mobile that sends video over DCCP CCID 3 comes to an access point where nine others do. \
         How long it takes to send as much as they depends on how long it had no access point: \
         after short times the packets that waited make its round-trip time long, and those lost \
         its loss interval short, so it is slow for more than 10 s; after more than 3 s the run of \
         losses counts as one event, the loss interval is far too long, and it is back in 2-3 s. \
         Four remedies are proposed and not tried."
    }

    fn experiments(&self) -> &'static [Experiment] {
        EXPERIMENTS
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "The curves of Figs 3 to 6 are not in the text; what is judged are the sentences about \
             them.",
            "The paper's OPNET model of DCCP is not described. CCID 3 is here RFC 4342 over RFC \
             3448 or RFC 5348, with the nofeedback timer of either; the send queue holds five \
             packets.",
            "The paper tells neither the delay of the wire nor the distances. With 25 ms each way \
             the MAC's buffer overflows in every gap, as the paper has it; below that the \
             nofeedback timer stops the sender before (table of wires).",
            "A sending rate is the rate that TFRC allows, but not more than the source makes, \
             every 100 ms; of other transports it is what arrived in the last half second.",
            "Scanning, authentication and association take no frames: the disconnection is set.",
            "Remedies are Fairwave's definitions of the paper's sentences \
             (docs/models/handover.md). What is free for remedy A the station reckons from the \
             access point's BSS Load.",
        ]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        let plain = points::points(results, HANDOVER, PROFILE)?;
        let remedies = remedies::Remedies::read(results)?;
        let friendly = friendly::Friendly::read(results);
        let mut claims = claims::all(&plain);
        claims.push(remedies.claim());
        claims.push(friendly.claim());
        let mut exhibits = figures::exhibits(&plain);
        exhibits.push(remedies.exhibit());
        let mut tables = vec![figures::by_disconnection(&plain)];
        tables.extend(remedies.tables());
        tables.extend(figures::others(results)?);
        tables.push(friendly.table());
        let mut explanations = claims::explanations(results, &plain)?;
        explanations.extend(remedies.explanations());
        Ok(Findings { claims, exhibits, tables, explanations })
    }
}

#[cfg(test)]
mod tests;
