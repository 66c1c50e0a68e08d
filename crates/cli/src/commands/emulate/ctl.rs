//! `fairwave emulate ctl`: sends one command to a running emulation.

use crate::args::assignment;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_emulator::emulation;
use serde_json::{Map, Value, json};
use std::io;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave emulate ctl out/home status
  fairwave emulate ctl out/home move node=sta1 to='[\"10 m\", \"0 m\"]'
  fairwave emulate ctl out/home link ap-server rate='1 Mbps' loss=0.01
  fairwave emulate ctl out/home link name=ap-server up=false
  fairwave emulate ctl out/home remove sta1
  fairwave emulate ctl out/home queue ap discipline=fq-codel target='3 ms'
  fairwave emulate ctl out/home '{\"weight\": {\"station\": \"sta1\", \"weight\": 2}}'

The answer is a line of JSON. Exit code 1: it says that the command was refused.";

/// Control a run while it lasts: move stations, change links and queues, look, stop
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ctl {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// move, remove, restore, link, queue, weight, status, stop, or a whole line of JSON
    command: String,
    /// Arguments of the command; the first may be the bare name of the node, link or queue
    #[arg(value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

/// Sends the command to the run, and prints its answer.
pub(super) fn run(ctl: &Ctl) -> Result<(), Failure> {
    let Ctl { directory, command, settings } = ctl;
    let line = line(command, settings)?;
    let name = directory.join(emulation::SOCKET);
    let name = name.display();
    let answer = emulation::ask(directory, &line)
        .map_err(|error| Failure::Run(format!("{name}: {error}{}", remedy(&error))))?;
    match serde_json::from_str::<Value>(&answer) {
        Ok(answer) if answer.get("error").is_none() => Ok(output::print(&format!("{answer}\n"))?),
        Ok(answer) => {
            Err(Failure::Run(answer["error"].as_str().unwrap_or("it was refused").to_owned()))
        }
        Err(error) => Err(Failure::Run(format!("{name}: {error}"))),
    }
}

/// Advice for the error message if the run did not answer.
fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    match error.kind() {
        NotFound | ConnectionRefused => "; no emulation runs in this directory",
        PermissionDenied => "; only the user who started the emulation may control it",
        _ => "",
    }
}

/// Converts a command of the command line to a line of JSON.
fn line(command: &str, settings: &[String]) -> Result<String, Failure> {
    if command.trim_start().starts_with('{') {
        return match settings.first() {
            None => Ok(command.to_owned()),
            Some(setting) => {
                Err(Failure::Usage(format!("{setting}: nothing may follow a line of JSON")))
            }
        };
    }
    let mut table = Map::new();
    let name = settings.first().filter(|first| !first.contains('=')).zip(key_of_name(command));
    let rest = &settings[usize::from(name.is_some())..];
    table.extend(name.map(|(name, key)| (key.to_owned(), json!(name))));
    for setting in rest {
        let setting = assignment(setting).map_err(Failure::Usage)?;
        let Some((key, value)) = setting.split_once('=') else { continue };
        // A value that is not JSON is taken as text, so that units need no quotes within quotes.
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        table.insert(key.trim().to_owned(), value);
    }
    Ok(json!({ command: table }).to_string())
}

/// The key of the name of the object that a command changes.
fn key_of_name(command: &str) -> Option<&'static str> {
    match command {
        "move" | "remove" | "restore" => Some("node"),
        "link" => Some("name"),
        "queue" => Some("at"),
        "weight" => Some("station"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_values_of_json() {
        let printed = |command: &str, settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|text| (*text).to_owned()).collect();
            line(command, &settings).expect("a line")
        };
        let link = printed("link", &["name=ap-server", "rate=1 Mbps", "up=false", "loss=0.5"]);
        assert_eq!(link, r#"{"link":{"name":"ap-server","rate":"1 Mbps","up":false,"loss":0.5}}"#);
        let moved = printed("move", &["to=[\"1 m\", \"2 m\"]"]);
        assert_eq!(moved, r#"{"move":{"to":["1 m","2 m"]}}"#);
        let named = printed("link", &["isp", "rate=1 Mbps"]);
        assert_eq!(named, r#"{"link":{"name":"isp","rate":"1 Mbps"}}"#);
        assert_eq!(printed("remove", &["sta1"]), r#"{"remove":{"node":"sta1"}}"#);
        for settings in [["isp", "down"], ["rate=1 Mbps", "isp"]] {
            let settings = settings.map(str::to_owned);
            assert!(line("link", &settings).is_err(), "{settings:?}");
        }
        assert!(line("status", &["isp".to_owned()]).is_err());
        assert_eq!(printed("status", &[]), r#"{"status":{}}"#);
        assert_eq!(printed(r#"{"stop":{}}"#, &[]), r#"{"stop":{}}"#);
        assert!(line("{}", &["a=b".to_owned()]).is_err());
    }
}
