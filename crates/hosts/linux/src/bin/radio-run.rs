//! Prints [`fairwave_linux::radio`]'s readings of a real kernel, for the guest of `cargo xtask vm
//! soc`. Not for users.
//!
//! `radio-run INTERFACE` prints stations, surveys and whether airtime is scheduled by weights.
//! `radio-run INTERFACE CONTROL COUNT` prints events, both of nl80211 and of hostapd's control
//! socket, until there were COUNT of each.

#[cfg(target_os = "linux")]
mod run {
    #![allow(clippy::print_stdout, reason = "a command of its own")]

    use fairwave_linux::radio::hostapd::Control;
    use fairwave_linux::radio::{Events, Radio, Station};
    use fairwave_wire::ethernet::Mac;
    use rustix::event::{PollFd, PollFlags, poll};
    use std::error::Error;
    use std::path::Path;

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match arguments.as_slice() {
            [interface] => show(interface),
            [interface, control, count] => watch(interface, Path::new(control), count.parse()?),
            _ => Err("usage: radio-run INTERFACE [CONTROL COUNT]".into()),
        }
    }

    fn show(name: &str) -> Result<(), Box<dyn Error>> {
        let mut radio = Radio::open()?;
        let interface = radio.interface(name)?.index;
        let stations = radio.stations(interface)?;
        for Station { mac, signal_dbm, tx_kbps, rx_kbps, tx_retries, tx_failed, .. } in &stations {
            println!(
                "{mac} signal {signal_dbm:?} dBm, sends at {tx_kbps:?} kbps, receives at \
                 {rx_kbps:?} kbps, retries {tx_retries:?}, failed {tx_failed:?}"
            );
        }
        match radio.surveys(interface) {
            Ok(surveys) => surveys.iter().filter(|one| one.is_in_use).for_each(|one| {
                println!("{} MHz: noise {:?} dBm", one.frequency_mhz, one.noise_dbm);
            }),
            Err(error) => println!("no survey: {error}"),
        }
        println!("schedules airtime by weights: {}", radio.schedules_airtime(interface)?);
        let unknown = radio.station(interface, Mac::local(0xffff_ffff))?;
        println!("a stranger is asked for: {unknown:?}");
        if let Some(station) = stations.first() {
            let alone = radio.station(interface, station.mac)?;
            println!("{} is asked for: {:?}", station.mac, alone.map(|one| one.mac));
            match radio.set_airtime_weight(interface, station.mac, 512) {
                Ok(()) => println!("weight 512 is set"),
                Err(error) => println!("weight 512 is refused: {error}"),
            }
        }
        Ok(())
    }

    fn watch(name: &str, control: &Path, count: usize) -> Result<(), Box<dyn Error>> {
        let (events, control) = (Events::open()?, Control::attach(control)?);
        let interface = Radio::open()?.interface(name)?.index;
        println!("{name} is interface {interface}");
        let (mut by_kernel, mut by_hostapd) = (0, 0);
        while by_kernel < count || by_hostapd < count {
            let mut waiting =
                [PollFd::new(&events, PollFlags::IN), PollFd::new(&control, PollFlags::IN)];
            poll(&mut waiting, None)?;
            for event in events.take()? {
                println!("nl80211: {event:x?}");
                by_kernel += 1;
            }
            for event in control.take()? {
                println!("hostapd: {event:x?}");
                by_hostapd += 1;
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match run::main() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("radio-run: {error}\n"),
            );
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
