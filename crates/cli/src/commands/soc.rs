//! `fairwave soc`: stations that report their SoC, and an access point that schedules by it.

use crate::args::Common;
use crate::args::soc::{Ap, Soc, SocTask, Station};
use crate::outcome::Failure;
use crate::{clock, output, stop};
use fairwave_agent::Error;
use fairwave_agent::access_point::{self, ApNews, ApPlan};
use fairwave_agent::key::{Secret, line_of_station};
use fairwave_agent::source::{Fixed, FromFile, NoRadio, SnrSource};
use fairwave_agent::station::{self, StationNews, StationPlan};
use fairwave_agent::status::{Status, ask};
use fairwave_netns::{KeeperCommand, STATIONS_MOST, Shapeable, ShaperPlan, shapeable};
use fairwave_soc::{Action, ApConfig, Decision, Policies, TableConfig};
use serde_json::json;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Reports, serves, or tells.
pub(crate) fn run(common: &Common, soc: &Soc) -> Result<(), Failure> {
    match &soc.task {
        SocTask::Station(station) => report(common, station),
        SocTask::Ap(ap) if ap.plan => plan(common, ap),
        SocTask::Ap(ap) => serve(common, ap),
        SocTask::Status { interface } => show(common, &ask(interface).map_err(failure)?),
        SocTask::Key { key, station } => {
            let network = secret(key)?.network(&key.display().to_string()).map_err(failure)?;
            Ok(output::print(&line_of_station(&network, *station))?)
        }
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Usage(text) => Failure::Usage(text),
        _ => Failure::run(error),
    }
}

fn secret(file: &Path) -> Result<Secret, Failure> {
    let place = file.display().to_string();
    let text =
        fs::read_to_string(file).map_err(|error| Failure::Run(format!("{place}: {error}")))?;
    Secret::parse(&text, &place).map_err(failure)
}

fn report(common: &Common, station: &Station) -> Result<(), Failure> {
    let source: Box<dyn SnrSource> = match (station.snr, &station.snr_from) {
        (Some(level), _) => Box::new(Fixed(level)),
        (None, Some(file)) => Box::new(FromFile(file.clone())),
        (None, None) => {
            let remedy = "say it by --snr or --snr-from";
            return Err(Failure::Usage(format!("where does the level come from? {remedy}")));
        }
    };
    let plan = StationPlan {
        interface: station.interface.clone(),
        secret: secret(&station.key)?,
        interval: station.interval,
        filter: station.filter,
        epoch: u32::try_from(clock::unix_s()).unwrap_or(u32::MAX),
        source,
    };
    let stop = stop::on(&stop::SIGNALS)?;
    let tell = |news: StationNews| match news {
        StationNews::Heard(mac) if !common.quiet => output::note(&format!("{mac} listens")),
        StationNews::Alone if !common.quiet => output::note("nobody listens any more"),
        StationNews::Trouble(why) => output::warn(&why),
        StationNews::Heard(_) | StationNews::Alone => {}
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

fn config(ap: &Ap) -> Result<(ApConfig, ShaperPlan), Failure> {
    let (Some(file), Some(rate)) = (&ap.key, ap.rate) else {
        return Err(Failure::Usage("--key and --rate are needed".to_owned()));
    };
    let network = secret(file)?.network(&file.display().to_string()).map_err(failure)?;
    let mut table = TableConfig::new(Policies::per_host(ap.policy.clone()));
    table.stations_most = table.stations_most.min(STATIONS_MOST);
    let config = ApConfig { step: ap.step, pace: ap.pace, ..ApConfig::new(table, network) };
    let shaper = ShaperPlan {
        interface: ap.interface.clone(),
        rate_bps: rate.0,
        queue_packets: ap.queue,
        keeper: KeeperCommand::default(),
    };
    Ok((config, shaper))
}

fn serve(common: &Common, ap: &Ap) -> Result<(), Failure> {
    let (config, shaper) = config(ap)?;
    let stop = stop::on(&stop::SIGNALS)?;
    let plan = ApPlan {
        interface: ap.interface.clone(),
        config,
        shaper: (!ap.dry_run).then_some(shaper),
        radio: Box::new(NoRadio),
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
    show(common, &status)
}

/// A decision in words. What is refused is counted, and not told: a flood would fill the log.
fn line(decision: &Decision) -> Option<String> {
    let Decision::Changed { action, reason, .. } = decision else { return None };
    match action {
        Action::Serve { station, weights } => {
            let weights: Vec<String> =
                weights.iter().map(|weight| format!("{:.3}", weight.fraction())).collect();
            Some(format!("{station} gets weight {}: {reason}", weights.join(", ")))
        }
        Action::Stop { station } => Some(format!("{station} gets no share of its own: {reason}")),
        Action::Answer { .. } => None,
    }
}

fn show(common: &Common, status: &Status) -> Result<(), Failure> {
    if common.json {
        return Ok(output::print_json(&json!(status))?);
    }
    Ok(output::print(&words(status))?)
}

fn words(status: &Status) -> String {
    let mut text = format!(
        "{}: {} stations after {:.0} s; {} reports believed, {} missing, {} changes.\n",
        status.interface,
        status.stations.len(),
        status.lasted_s,
        status.accepted,
        status.missed,
        status.changes
    );
    for station in &status.stations {
        let soc = station.soc_db.map_or("unknown SoC".to_owned(), |soc| format!("{soc:.1} dB"));
        let weights: Vec<String> =
            station.weights.iter().map(|weight| format!("{weight:.3}")).collect();
        let age = station.age_s.map_or(String::new(), |age| format!(", {age:.1} s ago"));
        let _ = writeln!(
            text,
            "  {}  {soc:>11}  weight {}  ({}{age})",
            station.station,
            weights.join(", "),
            station.source
        );
    }
    for (why, count) in &status.refused {
        let _ = writeln!(text, "  refused as {}: {count}", why.replace('_', " "));
    }
    text
}

fn plan(common: &Common, ap: &Ap) -> Result<(), Failure> {
    let found = shapeable(&ap.interface).map_err(Failure::run)?;
    if common.json {
        return Ok(output::print_json(&json!({
            "interface": ap.interface,
            "foreign_qdisc": found.foreign,
            "htb": found.htb,
            "hfsc": found.hfsc,
            "actuator": actuator(&found),
        }))?);
    }
    Ok(output::print(&plan_words(&ap.interface, &found))?)
}

/// What would be used.
fn actuator(found: &Shapeable) -> Option<&'static str> {
    (found.htb && found.foreign.is_none()).then_some("htb")
}

fn plan_words(interface: &str, found: &Shapeable) -> String {
    let has = |has: bool| if has { "has" } else { "does not have" };
    let kernel = format!("The kernel {} HTB, and {} HFSC.\n", has(found.htb), has(found.hfsc));
    let what = match (&found.foreign, found.htb) {
        (Some(root), _) => format!(
            "Nothing: interface `{interface}` has the qdisc {root}, which somebody set. \
             `tc qdisc delete dev {interface} root` would make room.\n"
        ),
        (None, false) => "Nothing: without HTB there is no way to set shares.\n".to_owned(),
        (None, true) => format!(
            "HTB at interface `{interface}`, a class for each station behind a classifier by link \
             address (u32), as its qdisc is the kernel's default.\n"
        ),
    };
    kernel + &what
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qdisc_of_somebody_else_is_named_and_left_alone() {
        let foreign = Some("tbf 1:".to_owned());
        let found = Shapeable { foreign, htb: true, hfsc: false };
        let text = plan_words("wlan0", &found);
        assert!(text.contains("has HTB, and does not have HFSC"), "{text}");
        assert!(text.contains("Nothing") && text.contains("tbf 1:"), "{text}");
        assert_eq!(actuator(&found), None);
        let free = Shapeable { foreign: None, ..found };
        assert!(plan_words("wlan0", &free).contains("HTB at interface `wlan0`"));
    }
}
