//! Experiments of this study, their axes, and the compared schemes.

use crate::declare::experiment;
use fairwave_study::Experiment;

pub(super) const GOOD_TCP: &str = "good-tcp";
pub(super) const GOOD_VOIP: &str = "good-voip";
pub(super) const BAD_TCP: &str = "bad-tcp";
pub(super) const BAD_VOIP: &str = "bad-voip";
pub(super) const BAD_CBR: &str = "bad-cbr";
pub(super) const BAD_MIXED: &str = "bad-mixed";
pub(super) const MOVING: &str = "moving-tcp";
pub(super) const SLOPE: &str = "slope";
pub(super) const LOAD: &str = "load-voip";
pub(super) const BAD_LOAD: &str = "bad-load-voip";

pub(super) const VARIANT: &str = "variant";
pub(super) const OTHERS: &str = "node.others.count";
pub(super) const ARQ: &str = "cell.acknowledgements";
pub(super) const PERIOD: &str = "flow.c.interval";
pub(super) const JITTER: &str = "link.wires.jitter";

/// The groups of [`BAD_MIXED`] the other way round.
pub(super) const SWAPPED: &str = "bad-swapped";
pub(super) const FILTERS_RUN: &str = "filters";
pub(super) const MODERN_TCP: &str = "modern-tcp";
pub(super) const MODERN_UDP: &str = "modern-udp";

/// Payload of a packet of voice, 322 bytes, and how often the paper sends one.
pub(super) const VOICE_BITS: f64 = 322.0 * 8.0;
pub(super) const VOICE_EVERY_MS: f64 = 30.0;

pub(super) const FIFO: &str = "fifo";
/// The paper's schedulers by weight, over H-FSC.
pub(super) const WEIGHTED: [&str; 4] = ["gb1", "gb2", "gb3", "pw"];
/// Schemes for comparison, of others and ours: the paper compares with FIFO alone.
pub(super) const BESIDE: [&str; 9] = [
    "pw-wfq",
    "pw-traffic",
    "fifo-silent",
    "drr",
    "fq-codel",
    "airtime-drr",
    "csdps",
    "iwfq",
    "cif-q",
];
/// Hosts in queues of their own that are served alike, though they report.
pub(super) const EQUAL: &str = "h-fsc-equal";
/// Schemes that separate the effect of weights from that of queues, and of queues from that of
/// room: run in some settings only.
pub(super) const CONTROLS: [&str; 2] = [EQUAL, "fifo-400"];
/// Added to the name of a scheme whose stations report ten times as often.
pub(super) const FAST: &str = "-20ms";

pub(super) const QUICK: &[&str] = &["sweep.seeds=3", "duration=120 s"];

/// The schemes that decide claims on a setting with TCP. The settings with voice and CBR show the
/// others beside them in the quick form, too.
const JUDGED: &str = "variant=['fifo', 'gb1', 'gb2', 'gb3', 'pw', 'pw-traffic']";
const QUICK_JUDGED: &[&str] = &["sweep.seeds=3", "duration=120 s", JUDGED];

/// Voice is the same all the time.
pub(super) const QUICK_VOICE: &[&str] = &["sweep.seeds=3", "duration=60 s"];
pub(super) const QUICK_WARNING: &str = "This is the quick form: shorter runs and fewer seeds, and \
    with TCP alone the schemes that claims are about. Verdicts near their bounds can come out \
    otherwise than in the full form, which counts; SOC-7 on 802.11b once did.";

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment!(
        "socps",
        GOOD_TCP,
        "good-tcp",
        &[
            "sweep.seeds=3",
            "duration=120 s",
            "variant=['fifo', 'gb1', 'gb2', 'gb3', 'pw', 'h-fsc-equal', 'fifo-400', 'drr']",
        ],
        false
    ),
    experiment!("socps", BAD_TCP, "bad-tcp", QUICK_JUDGED, false),
    experiment!("socps", GOOD_VOIP, "good-voip", QUICK_VOICE, false),
    experiment!("socps", BAD_VOIP, "bad-voip", QUICK_VOICE, false),
    experiment!(
        "socps",
        BAD_CBR,
        "bad-cbr",
        &["sweep.seeds=3", "duration=60 s", "sweep.node.others.count=[1, 7]"],
        false
    ),
    experiment!("socps", BAD_MIXED, "bad-mixed", QUICK_JUDGED, false),
    // Two laps.
    experiment!(
        "socps",
        MOVING,
        "moving-tcp",
        &[
            "sweep.seeds=3",
            "duration=246 s",
            "variant=['fifo', 'gb1', 'gb2', 'gb3', 'pw', 'h-fsc-equal', \
             'fifo-20ms', 'gb1-20ms', 'gb2-20ms', 'gb3-20ms', 'pw-20ms']",
        ],
        true
    ),
    experiment!(
        "socps",
        LOAD,
        "load-voip",
        &[
            "sweep.seeds=2",
            "duration=60 s",
            "sweep.flow.c1.interval, flow.c.interval=[['30 ms', '30 ms'], ['16 ms', '16 ms']]",
        ],
        false
    ),
    experiment!(
        "socps",
        BAD_LOAD,
        "bad-load-voip",
        &[
            "sweep.seeds=3",
            "duration=60 s",
            "sweep.flow.c1.interval, flow.c.interval=[['30 ms', '30 ms'], ['16 ms', '16 ms']]",
        ],
        false
    ),
    experiment!("socps", SLOPE, "slope", &["sweep.seeds=1", "duration=600 s"], true),
    experiment!("socps", SWAPPED, "beyond-swapped", QUICK, false),
    experiment!(
        "socps",
        FILTERS_RUN,
        "beyond-filters",
        &[
            "sweep.seeds=1",
            "duration=40 s",
            "sweep.cell.soc.interval=['20 ms', '200 ms', '1 s']",
            "sweep.cell.fading.rice_k=['none']",
        ],
        true
    ),
    experiment!("socps", MODERN_TCP, "beyond-tcp", &["sweep.seeds=1", "duration=20 s"], true),
    experiment!("socps", MODERN_UDP, "beyond-udp", &["sweep.seeds=1", "duration=20 s"], false),
];

/// In real time there is time for the paper's schemes alone.
const QUICK_REAL: &[&str] = &["sweep.seeds=2", "duration=30 s"];

/// With the sockets of a kernel: experiments of the same names.
pub(super) const EMULATED: &[Experiment] = &[
    experiment!("socps", GOOD_TCP, "emulated-good-tcp", QUICK_REAL, true),
    experiment!("socps", BAD_TCP, "emulated-bad-tcp", QUICK_REAL, true),
    experiment!("socps", GOOD_VOIP, "emulated-good-voip", QUICK_REAL, true),
    experiment!("socps", BAD_VOIP, "emulated-bad-voip", QUICK_REAL, true),
    experiment!(
        "socps",
        BAD_CBR,
        "emulated-bad-cbr",
        &["sweep.seeds=2", "duration=30 s", "variant=['fifo', 'gb1', 'gb2', 'pw']"],
        true
    ),
    experiment!("socps", BAD_MIXED, "emulated-bad-mixed", QUICK_REAL, true),
    // A lap is what it is: 46 minutes.
    experiment!("socps", MOVING, "emulated-moving-tcp", &["sweep.seeds=2"], true),
];
