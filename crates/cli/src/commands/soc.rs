//! `fairwave soc`: stations that report their SoC, and an access point that schedules by it.

mod prometheus;
mod told;
mod watch;

use crate::args::Common;
use crate::args::soc::{Actuator, Ap, Soc, SocTask, Station, Watching};
use crate::outcome::Failure;
use crate::{clock, output, stop};
use fairwave_agent::access_point::{self, ApNews, ApPlan};
use fairwave_agent::key::{Secret, line_of_station};
use fairwave_agent::source::{Fixed, FromFile, NoRadio, SnrSource, StationSource};
use fairwave_agent::station::{self, StationNews, StationPlan};
use fairwave_agent::{AccessPointRadio, StationRadio};
use fairwave_netns::{
    Discipline, KeeperCommand, Shapeable, ShaperPlan, Traffic, shapeable, stations_most,
};
use fairwave_soc::{Action, ApConfig, Decision, KEY_LEN, Policies, Reach, TableConfig};
use fairwave_wire::seal::Key;
use fairwave_wire::soc::ETHER_TYPE;
use serde_json::json;
use std::fs;
use std::io::Read;
use std::path::Path;
use told::failure;

/// Where hostapd has its control sockets, one for each interface.
const HOSTAPD: &str = "/run/hostapd";

/// Reports, serves, or tells.
pub(crate) fn run(common: &Common, soc: &Soc) -> Result<(), Failure> {
    match &soc.task {
        SocTask::Station(station) => report(common, station),
        SocTask::Ap(ap) if ap.plan => plan(common, ap),
        SocTask::Ap(ap) => serve(common, ap),
        SocTask::Status(watching) => tell(common, watching),
        SocTask::Key { key, station } => {
            let network = secret(key)?.network(&key.display().to_string()).map_err(failure)?;
            Ok(output::print(&line_of_station(&network, *station))?)
        }
    }
}

/// Asks, and shows once, until interrupted, or to Prometheus.
fn tell(common: &Common, watching: &Watching) -> Result<(), Failure> {
    let found = told::found(watching)?;
    if let Some(at) = watching.prometheus {
        return prometheus::serve(watching.clone(), at);
    }
    if common.json && found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|one| one.interface.as_str()).collect();
        let several = format!("access points serve {}", names.join(", "));
        return Err(Failure::Usage(format!("{several}: name one by --interface")));
    }
    if watching.watch {
        return watch::watch(common, watching);
    }
    found.iter().try_for_each(|status| told::show(common, status))
}

fn secret(file: &Path) -> Result<Secret, Failure> {
    let place = file.display().to_string();
    let text =
        fs::read_to_string(file).map_err(|error| Failure::Run(format!("{place}: {error}")))?;
    Secret::parse(&text, &place).map_err(failure)
}

/// The radio that tells a station's level.
fn radio(interface: &str) -> Result<StationRadio, Failure> {
    let found = StationRadio::open(interface).map_err(failure)?;
    found.ok_or_else(|| {
        let remedy = "say the level over noise by --snr DB, or in a file by --snr-from FILE";
        Failure::Usage(format!("interface `{interface}` has no radio to ask: {remedy}"))
    })
}

fn report(common: &Common, station: &Station) -> Result<(), Failure> {
    let secret = secret(&station.key)?;
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
        filter: station.filter,
        epoch: u32::try_from(clock::unix_s()).unwrap_or(u32::MAX),
        source,
    };
    let stop = stop::on(&stop::SIGNALS)?;
    let tell = |news: StationNews| match news {
        StationNews::Associated(mac) if !common.quiet => {
            output::note(&format!("associated with {mac}, where reports go now"));
        }
        StationNews::Heard(by) if !common.quiet => output::note(&format!("{by} listens")),
        StationNews::Alone if !common.quiet => output::note("nobody listens any more"),
        StationNews::Trouble(why) => output::warn(&why),
        StationNews::Associated(_) | StationNews::Heard(_) | StationNews::Alone => {}
    };
    let counts = station::run(plan, &stop, tell).map_err(failure)?;
    let told = json!({
        "made": counts.made,
        "sent": counts.sent,
        "answers": counts.answers,
        "refused": counts.refused,
    });
    if common.json {
        return Ok(output::print_json(&told)?);
    }
    Ok(output::print(&format!(
        "{} reports were made, {} of them sent; {} answers came.\n",
        counts.made, counts.sent, counts.answers
    ))?)
}

/// The policies, and what those after the first are for.
fn policies(ap: &Ap) -> Result<(Policies, Vec<Traffic>), Failure> {
    let mut kinds: Vec<Traffic> = ap.policy_for.iter().map(|(kind, _)| *kind).collect();
    let own = ap.policy_for.iter().map(|(_, curve)| curve.clone());
    let policies = Policies::per_class([ap.policy.clone()].into_iter().chain(own).collect());
    let traffic = kinds.clone();
    kinds.sort_unstable();
    match kinds.windows(2).find(|two| two[0] == two[1]) {
        Some(twice) => {
            let name = twice[0].name();
            Err(Failure::Usage(format!("--policy-for has `{name}` twice: one policy is needed")))
        }
        None => Ok((policies, traffic)),
    }
}

/// What makes tokens: nobody knows it, and it is another one at each start.
fn tokens() -> Result<Key, Failure> {
    let mut secret = [0; KEY_LEN];
    let mut random = fs::File::open("/dev/urandom").map_err(Failure::run)?;
    random.read_exact(&mut secret).map_err(Failure::run)?;
    Key::new(&secret).map_err(Failure::run)
}

fn config(ap: &Ap, policies: Policies, traffic: &[Traffic]) -> Result<ApConfig, Failure> {
    let needed = || Failure::Usage("--key and --rate are needed".to_owned());
    let file = ap.key.as_ref().ok_or_else(needed)?;
    let network = secret(file)?.network(&file.display().to_string()).map_err(failure)?;
    let mut table = TableConfig::new(policies);
    table.stations_most = table.stations_most.min(stations_most(traffic));
    let tokens = ap.udp.map(|_| tokens()).transpose()?;
    Ok(ApConfig { step: ap.step, pace: ap.pace, tokens, ..ApConfig::new(table, network) })
}

fn shaper(ap: &Ap, traffic: &[Traffic]) -> Result<ShaperPlan, Failure> {
    let rate = ap.rate.ok_or_else(|| Failure::Usage("--key and --rate are needed".to_owned()))?;
    Ok(ShaperPlan {
        interface: ap.interface.clone(),
        rate_bps: rate.0,
        discipline: discipline(ap)?,
        queue_packets: ap.queue,
        traffic: traffic.to_vec(),
        urgent: ETHER_TYPE.number(),
        keeper: KeeperCommand::default(),
    })
}

/// What is asked for, or else the best that the kernel has.
fn discipline(ap: &Ap) -> Result<Discipline, Failure> {
    let has = shapeable(&ap.interface).map_err(Failure::run)?.disciplines();
    let wanted = ap.actuator.map(Actuator::discipline);
    let chosen = has.iter().copied().find(|one| wanted.is_none_or(|wanted| wanted == *one));
    chosen.or(wanted.filter(|_| ap.dry_run)).ok_or_else(|| {
        let what = wanted.map_or_else(|| "neither HFSC nor HTB".to_owned(), |w| format!("no {w}"));
        Failure::run(format!("the kernel has {what}: `fairwave soc ap --plan` says what it has"))
    })
}

/// What tells an access point of its stations beside their reports.
fn own_view(ap: &Ap) -> Result<Box<dyn StationSource>, Failure> {
    let usual = || Path::new(HOSTAPD).join(&ap.interface);
    let hostapd = ap.hostapd.clone().unwrap_or_else(usual);
    Ok(match AccessPointRadio::open(&ap.interface, &hostapd).map_err(failure)? {
        Some(radio) => Box::new(radio),
        None => Box::new(NoRadio),
    })
}

fn serve(common: &Common, ap: &Ap) -> Result<(), Failure> {
    let (policies, traffic) = policies(ap)?;
    let config = config(ap, policies, &traffic)?;
    let shaper = shaper(ap, &traffic)?;
    let stop = stop::on(&stop::SIGNALS)?;
    let plan = ApPlan {
        interface: ap.interface.clone(),
        listen: ap.udp,
        config,
        traffic,
        shaper: (!ap.dry_run).then_some(shaper),
        radio: own_view(ap)?,
    };
    let tell = |news: ApNews| match news {
        ApNews::Decided(at, decision) if !common.quiet => {
            if let Some(line) = line(&decision) {
                output::note(&format!("{:.3} s: {line}", at.as_secs_f64()));
            }
        }
        ApNews::Decided(..) => {}
        ApNews::Failed(station, why) => output::warn(&format!("{station}: {why}")),
        ApNews::Trouble(why) => output::warn(&why),
    };
    let status = access_point::run(plan, &stop, tell).map_err(failure)?;
    told::show(common, &status)
}

/// A decision in words. What is refused is counted, and not told: a flood would fill the log.
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

fn plan(common: &Common, ap: &Ap) -> Result<(), Failure> {
    let found = shapeable(&ap.interface).map_err(Failure::run)?;
    if common.json {
        return Ok(output::print_json(&json!({
            "interface": ap.interface,
            "foreign_qdisc": found.foreign,
            "htb": found.htb,
            "hfsc": found.hfsc,
            "actuator": actuator(&found, ap.actuator).map(Discipline::name),
        }))?);
    }
    Ok(output::print(&plan_words(&ap.interface, &found, ap.actuator))?)
}

/// What would be used.
fn actuator(found: &Shapeable, wanted: Option<Actuator>) -> Option<Discipline> {
    let wanted = wanted.map(Actuator::discipline);
    let mut has = found.disciplines().into_iter();
    has.find(|one| found.foreign.is_none() && wanted.is_none_or(|wanted| wanted == *one))
}

fn plan_words(interface: &str, found: &Shapeable, wanted: Option<Actuator>) -> String {
    let has = |has: bool| if has { "has" } else { "does not have" };
    let kernel = format!("The kernel {} HTB, and {} HFSC.\n", has(found.htb), has(found.hfsc));
    let what = match (&found.foreign, actuator(found, wanted)) {
        (Some(root), _) => format!(
            "Nothing: interface `{interface}` has the qdisc {root}, which somebody set. \
             `tc qdisc delete dev {interface} root` would make room.\n"
        ),
        (None, None) => "Nothing: without them there is no way to set shares.\n".to_owned(),
        (None, Some(discipline)) => format!(
            "{discipline} at interface `{interface}`, a class for each station behind a classifier \
             by link address (u32), as its qdisc is the kernel's default{}.\n",
            why(discipline, found, wanted)
        ),
    };
    kernel + &what
}

/// Why this one.
fn why(discipline: Discipline, found: &Shapeable, wanted: Option<Actuator>) -> &'static str {
    match (wanted, discipline) {
        (Some(_), _) => "; it was asked for",
        (None, Discipline::Hfsc) if found.htb => {
            "; its link-sharing curves are weights, where HTB has rates and rounds"
        }
        (None, _) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qdisc_of_somebody_else_is_named_and_left_alone() {
        let foreign = Some("tbf 1:".to_owned());
        let found = Shapeable { foreign, htb: true, hfsc: false };
        let text = plan_words("wlan0", &found, None);
        assert!(text.contains("has HTB, and does not have HFSC"), "{text}");
        assert!(text.contains("Nothing") && text.contains("tbf 1:"), "{text}");
        assert_eq!(actuator(&found, None), None);
        let free = Shapeable { foreign: None, ..found };
        assert!(plan_words("wlan0", &free, None).contains("HTB at interface `wlan0`"));
        let both = Shapeable { hfsc: true, ..free };
        assert_eq!(actuator(&both, None), Some(Discipline::Hfsc));
        assert_eq!(actuator(&both, Some(Actuator::Htb)), Some(Discipline::Htb));
        let text = plan_words("wlan0", &both, None);
        assert!(text.contains("its link-sharing curves are weights"), "{text}");
    }
}
