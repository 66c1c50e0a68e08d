//! Tasks of the commands: a station, an access point, pairing and status.

use crate::access_point::{self, AccessPointEvent, ApPlan};
use crate::command::choice::Facts;
use crate::command::log::Log;
use crate::command::options::{Actuator, Ap, Frame, Join, Pair, Station, StationKey};
use crate::key::{Secret, line_of, line_of_station};
use crate::pairing::{self, Confirm, random};
#[cfg(feature = "user-space")]
use crate::plane::PlanePlan;
use crate::report::words;
use crate::source::{Fixed, FromFile, NoRadio, SnrSource, StationSource};
use crate::station::{self, StationEvent, StationPlan};
use crate::status::{Status, ask, is_served, served};
use crate::{AccessPointRadio, ActuatorPlan, Error, StationRadio};
use fairwave_linux::{Discipline, KeeperCommand, ShaperPlan, Traffic, clock, max_stations};
use fairwave_soc::pairing::Code;
use fairwave_soc::{
    Action, ApConfig, Decision, INTERVAL_DESIGN, KEY_LEN, MIN_INTERVAL, Policies, Reach,
    TableConfig,
};
use fairwave_units::Duration;
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{ETHER_TYPE, Session};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Directories of hostapd's control sockets, one socket for each interface. OpenWrt has no `/run`;
/// on other systems both names usually refer to one directory.
const HOSTAPD: [&str; 2] = ["/run/hostapd", "/var/run/hostapd"];

/// Standard error and standard input of a task.
pub trait Console {
    /// Prints a note on the progress, unless the user wants none.
    fn note(&self, text: &str);
    /// Prints a warning.
    fn warn(&self, text: &str);
    /// An access point serves this interface from now on, and takes datagrams at this address.
    fn serving(&self, _interface: &str, _listen: Option<SocketAddr>) {}
    /// Prints a question whose answer is yes or no.
    fn ask(&self, question: &str);

    /// Reads the answer from standard input: no for anything but yes, and if there is none.
    fn answer(&self) -> bool {
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).is_ok() && answer.trim() == "yes"
    }
}

/// The wall clock, in seconds since 1970.
fn unix_s() -> u64 {
    clock::wall_ns() / 1_000_000_000
}

/// A result in words, and the same as a value.
#[derive(Debug)]
pub struct CommandResult {
    /// In words, with line ends.
    pub words: String,
    /// The same as a value, with more details.
    pub value: Value,
}

fn secret(file: &Path) -> Result<Secret, Error> {
    let place = file.display().to_string();
    let text = fs::read_to_string(file).map_err(Error::at(place.clone()))?;
    Secret::parse(&text, &place)
}

/// Opens the radio that measures a station's level.
fn radio(interface: &str) -> Result<StationRadio, Error> {
    let found = StationRadio::open(interface)?;
    found.ok_or_else(|| {
        let remedy = "say the level over noise by --snr DB, or in a file by --snr-from FILE";
        Error::Usage(format!("interface `{interface}` has no radio to ask: {remedy}"))
    })
}

/// The key of one station, in the format of key files.
///
/// # Errors
/// If the network's key cannot be read.
pub fn key(options: &StationKey) -> Result<String, Error> {
    let network = secret(&options.key)?.network(&options.key.display().to_string())?;
    Ok(line_of_station(&network, options.station))
}

/// Gives a station its key, if a person confirms that it shows the same code.
///
/// # Errors
/// As [`pairing::offer`].
pub fn pair(
    options: &Pair,
    stop: &AtomicBool,
    console: &impl Console,
) -> Result<CommandResult, Error> {
    let network = secret(&options.key)?.network(&options.key.display().to_string())?;
    let (interface, window) = (&options.interface, options.window);
    console.note(&format!("waiting {window} for a station that runs `soc join`"));
    let person = Prompt { console, trusts_first: options.trust_first };
    let station = pairing::offer(interface, network, window, stop, &person)?;
    let words = format!("{station} has its key.\n");
    Ok(CommandResult {
        words,
        value: json!({ "interface": interface, "station": station.to_string() }),
    })
}

/// A person at a console.
struct Prompt<'a, C> {
    console: &'a C,
    trusts_first: bool,
}

impl<C: Console> Confirm for Prompt<'_, C> {
    fn ask(&self, station: Mac, code: Code) -> Option<bool> {
        if self.trusts_first {
            self.console.note(&format!("{station} comes first, with the code {code}"));
            return Some(true);
        }
        self.console.ask(&format!("{station} requests its key. Does it show {code}?"));
        None
    }

    fn answer(&self) -> bool {
        self.console.answer()
    }
}

/// Asks for this station's key, and writes it into a new file.
///
/// # Errors
/// As [`pairing::join`], and if there is such a file already.
pub fn join(
    options: &Join,
    stop: &AtomicBool,
    console: &impl Console,
) -> Result<CommandResult, Error> {
    let (interface, file) = (&options.interface, &options.write);
    let place = file.display();
    if file.exists() {
        let remedy = "move it away first, or name another one";
        return Err(Error::Usage(format!("{place}: there is such a file; {remedy}")));
    }
    console.note("asking for a key: run `soc pair` at the access point");
    let show = |access_point, code| {
        console.note(&format!("{access_point} answers. It has to show {code}: confirm it there"));
    };
    let key = pairing::join(interface, options.window, stop, show)?;
    let mut opened = OpenOptions::new();
    let opened = opened.write(true).create_new(true).mode(0o600).open(file);
    let written = opened.and_then(|mut file| file.write_all(line_of(&key).as_bytes()));
    written.map_err(Error::at(place.to_string()))?;
    let words = format!("{place} has this station's key.\n");
    Ok(CommandResult { words, value: json!({ "interface": interface, "file": place.to_string() }) })
}

/// Refuses the format without a seal unless the user has accepted that, and his word where there
/// is nothing to accept.
fn check_frame(frame: Frame, is_accepted: bool) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Usage(why.to_owned()));
    match (frame, is_accepted) {
        (Frame::Plain, false) => refused(
            "--frame plain is not authenticated: whoever can send on the link can set the weight \
             of a station; --unauthenticated accepts that",
        ),
        (Frame::Sealed, true) => refused(
            "--unauthenticated is for --frame plain: without that, reports are authenticated, and \
             --key has the key",
        ),
        (Frame::Plain, true) | (Frame::Sealed, false) => Ok(()),
    }
}

/// Reports until `stop` is set.
///
/// # Errors
/// As [`station::run`], and if there is no key or no source of levels.
pub fn report(
    station: &Station,
    stop: &AtomicBool,
    console: &impl Console,
) -> Result<CommandResult, Error> {
    check_frame(station.frame, station.unauthenticated)?;
    let asks_radio = station.snr.is_none() && station.snr_from.is_none();
    if station.piggyback && station.frame == Frame::Plain && !asks_radio {
        let why = "--piggyback with --frame plain needs a radio, which names the access point: \
                   leave out --snr and --snr-from";
        return Err(Error::Usage(why.to_owned()));
    }
    let secret = station.key.as_deref().map(secret).transpose()?;
    let source: Box<dyn SnrSource> = match (station.snr, &station.snr_from) {
        (Some(level), _) => Box::new(Fixed(level)),
        (None, Some(file)) => Box::new(FromFile(file.clone())),
        (None, None) => Box::new(radio(&station.interface)?),
    };
    let plan = StationPlan {
        interface: station.interface.clone(),
        to: station.to,
        secret,
        interval: station.interval,
        piggyback: station.piggyback,
        filter: station.filter,
        epoch: station::date(),
        source,
    };
    let notify = |events: StationEvent| match events {
        StationEvent::Associated(mac) => {
            console.note(&format!("associated with {mac}, where reports go now"));
        }
        StationEvent::ReceivedFrame(by) => console.note(&format!("{by} listens")),
        StationEvent::Alone => console.note("the access point no longer answers"),
        StationEvent::KeyRefused(by) => console.warn(&format!(
            "{by} refuses the key in {}: it is not this station's key of that network; `soc pair` \
             there and `soc join` here give one",
            station.key.as_deref().map_or(Path::new("-"), |file| file).display()
        )),
        StationEvent::Trouble(why) => console.warn(&why),
    };
    let counts = station::run(plan, stop, notify)?;
    let value = json!({
        "made": counts.made,
        "sent": counts.sent,
        "in_front": counts.in_front,
        "answers": counts.answers,
        "refused": counts.refused,
    });
    let words = format!(
        "{} reports were made, {} of them sent; {} answers arrived.\n",
        counts.made, counts.sent, counts.answers
    );
    Ok(CommandResult { words, value })
}

/// The policies, and the kinds of traffic to which those after the first apply.
fn policies(ap: &Ap) -> Result<(Policies, Vec<Traffic>), Error> {
    let mut kinds: Vec<Traffic> = ap.policy_for.iter().map(|(kind, _)| *kind).collect();
    let own = ap.policy_for.iter().map(|(_, curve)| curve.clone());
    let policies = Policies::per_class([ap.policy.clone()].into_iter().chain(own).collect());
    let traffic = kinds.clone();
    kinds.sort_unstable();
    match kinds.windows(2).find(|two| two[0] == two[1]) {
        Some(twice) => {
            let name = twice[0].name();
            Err(Error::Usage(format!("--policy-for has `{name}` twice: one policy is needed")))
        }
        None => Ok((policies, traffic)),
    }
}

/// The interval of reports in the format that does not say it.
fn checked(interval: Duration, frame: Frame) -> Result<Duration, Error> {
    if frame != Frame::Plain {
        let why = "--plain-interval is for --frame plain: other reports say when the next is due";
        return Err(Error::Usage(why.to_owned()));
    }
    if !(MIN_INTERVAL..=*INTERVAL_DESIGN.end()).contains(&interval) {
        return Err(Error::Usage(format!(
            "--plain-interval {interval} is not within 20 ms and 1 s"
        )));
    }
    Ok(interval)
}

fn random_key() -> Result<Key, Error> {
    let secret: [u8; KEY_LEN] = random()?;
    Key::new(&secret).map_err(|error| Error::Usage(error.to_string()))
}

fn config(ap: &Ap, policies: Policies, traffic: &[Traffic]) -> Result<ApConfig, Error> {
    check_frame(ap.frame, ap.unauthenticated)?;
    let needed = || Error::Usage("--key and --rate are needed".to_owned());
    let network = match &ap.key {
        Some(file) => secret(file)?.network(&file.display().to_string())?,
        // Nobody has this key: there are no stations but those without a seal.
        None if ap.frame == Frame::Plain => random_key()?,
        None => return Err(needed()),
    };
    let mut table = TableConfig::new(policies);
    (table.beta, table.smoothing) = (ap.beta, ap.smoothing);
    table.compat = ap.frame == Frame::Plain;
    if let Some(interval) = ap.plain_interval {
        table.compat_interval = checked(interval, ap.frame)?;
    }
    table.max_stations = table.max_stations.min(max_stations(traffic));
    // The tokens' key is new at each start.
    let tokens = ap.udp.map(|_| random_key()).transpose()?;
    let session = Session(random()?);
    Ok(ApConfig { step: ap.step, pace: ap.pace, tokens, ..ApConfig::new(table, network, session) })
}

fn shaper(ap: &Ap, traffic: &[Traffic], discipline: Discipline) -> Result<ShaperPlan, Error> {
    let rate = ap.rate.ok_or_else(|| Error::Usage("--key and --rate are needed".to_owned()))?;
    Ok(ShaperPlan {
        interface: ap.interface.clone(),
        rate_bps: rate.0,
        discipline,
        queue_packets: ap.queue,
        leaf: ap.leaf.map(Into::into),
        overhead: ap.overhead,
        traffic: traffic.to_vec(),
        replace: ap.replace,
        urgent: ETHER_TYPE.number(),
        keeper: KeeperCommand::default(),
    })
}

/// The requested actuator, or else the best that driver and kernel have.
fn actuator_plan(ap: &Ap, traffic: &[Traffic]) -> Result<ActuatorPlan, Error> {
    if ap.dry_run {
        return Ok(ActuatorPlan::Nothing);
    }
    let facts = Facts::ask(ap, false)?;
    let chosen = facts.chosen(ap).map_err(|lack| {
        let cause = io::Error::other(format!("{lack}; --plan says what there is"));
        Error::at(format!("no actuator for interface `{}`", ap.interface))(cause)
    })?;
    let plan = plan_of(ap, traffic, chosen)?;
    let other = facts.after(chosen, ap).map(|other| plan_of(ap, traffic, other)).transpose()?;
    Ok(match plan {
        ActuatorPlan::Airtime { keeper, .. } => {
            ActuatorPlan::Airtime { keeper, otherwise: other.map(Box::new) }
        }
        plan => plan,
    })
}

fn plan_of(ap: &Ap, traffic: &[Traffic], actuator: Actuator) -> Result<ActuatorPlan, Error> {
    let keeper = KeeperCommand::default();
    Ok(match (actuator, actuator.discipline()) {
        (Actuator::Airtime, _) => ActuatorPlan::Airtime { keeper, otherwise: None },
        (_, Some(discipline)) => ActuatorPlan::Classes(shaper(ap, traffic, discipline)?),
        #[cfg(feature = "user-space")]
        (_, None) => {
            let ShaperPlan { interface, rate_bps, queue_packets, traffic, urgent, replace, .. } =
                shaper(ap, traffic, Discipline::Htb)?;
            let plan =
                PlanePlan { interface, rate_bps, queue_packets, traffic, urgent, replace, keeper };
            ActuatorPlan::UserSpace(plan)
        }
        #[cfg(not(feature = "user-space"))]
        (_, None) => ActuatorPlan::Nothing,
    })
}

/// The usual control socket of hostapd for an interface. If there is none yet, the path is
/// hostapd's own default, the second of [`HOSTAPD`], where it may appear later.
fn usual_hostapd(interface: &str) -> PathBuf {
    let [run, var_run] = HOSTAPD.map(|directory| Path::new(directory).join(interface));
    if run.exists() { run } else { var_run }
}

/// The access point's own observations of its stations.
fn own_view(ap: &Ap) -> Result<Box<dyn StationSource>, Error> {
    let hostapd = ap.hostapd.clone().unwrap_or_else(|| usual_hostapd(&ap.interface));
    Ok(match AccessPointRadio::open(&ap.interface, &hostapd)? {
        Some(radio) => Box::new(radio),
        None => Box::new(NoRadio),
    })
}

/// Shares an interface until `stop` is set, and restores it; or shows the plan, if that is
/// requested.
///
/// # Errors
/// As [`access_point::run`], and if options contradict each other.
pub fn serve(ap: &Ap, stop: &AtomicBool, console: &impl Console) -> Result<CommandResult, Error> {
    if is_served(&ap.interface) {
        return Err(crate::status::already_served(&ap.interface));
    }
    if ap.plan {
        return plan(ap);
    }
    let (policies, traffic) = policies(ap)?;
    let config = config(ap, policies, &traffic)?;
    let actuator = actuator_plan(ap, &traffic)?;
    let plan = ApPlan {
        interface: ap.interface.clone(),
        listen: ap.udp,
        piggyback: ap.piggyback,
        config,
        traffic,
        actuator,
        radio: own_view(ap)?,
    };
    let open = |file: &PathBuf| Log::open(file, &ap.interface, unix_s());
    let mut log = ap.log.as_ref().map(open).transpose()?;
    let notify = |events: AccessPointEvent| {
        if let Some(Err(error)) = log.as_mut().map(|log| log.add(&events)) {
            console.warn(&format!("the log ends here: {error}"));
            log = None;
        }
        match events {
            AccessPointEvent::Serving(listen) => console.serving(&ap.interface, listen),
            AccessPointEvent::Decided(at, decision) => {
                if let Some(line) = line(&decision) {
                    console.note(&format!("{:.3} s: {line}", at.as_secs_f64()));
                }
            }
            AccessPointEvent::Failed(_, station, why) => {
                console.warn(&format!("{station}: {why}"));
            }
            AccessPointEvent::Trouble(why) => console.warn(&why),
        }
    };
    Ok(status_result(&access_point::run(plan, stop, notify)?))
}

/// A decision in words. Refused reports are only counted, as a flood of them would fill the log.
fn line(decision: &Decision) -> Option<String> {
    let Decision::Changed { action, reason, .. } = decision else { return None };
    match action {
        Action::Serve { station, reach, weights } => {
            let weights: Vec<String> =
                weights.iter().map(|weight| format!("{:.3}", weight.fraction())).collect();
            let at = match reach {
                Reach::Link => String::new(),
                Reach::Address(address) => format!(" at {address}"),
            };
            Some(format!("{station}{at} gets weight {}: {reason}", weights.join(", ")))
        }
        Action::Stop { station } => Some(format!("{station} gets no share of its own: {reason}")),
        Action::Answer { .. } | Action::Reply { .. } => None,
    }
}

fn plan(ap: &Ap) -> Result<CommandResult, Error> {
    let facts = Facts::ask(ap, true)?;
    Ok(CommandResult { words: facts.words(ap), value: facts.value(ap) })
}

/// The requested access points: that of an interface, or all that run in this network namespace.
///
/// # Errors
/// If there is none, or one does not answer.
pub fn found(interface: Option<&str>) -> Result<Vec<Status>, Error> {
    let interfaces = match interface {
        Some(interface) => vec![interface.to_owned()],
        None => served()?,
    };
    if interfaces.is_empty() {
        let what = "no `fairwave soc ap` runs";
        let remedy = "`ip netns exec` looks into another";
        return Err(Error::at("this network namespace")(io::Error::other(format!(
            "{what} here; {remedy}"
        ))));
    }
    interfaces.iter().map(|interface| ask(interface)).collect()
}

/// The status of an access point and its stations.
pub fn status_result(status: &Status) -> CommandResult {
    CommandResult { words: words(status), value: json!(status) }
}
