//! Opening a port: what needs privileges, and giving them up.

use crate::options::Line;
use fairwave_console::{Console, Failure};
use fairwave_dccp::Standard;
use fairwave_dccp_host::{Over, Port, Request, remedies};
use fairwave_linux::{KeeperCommand, Silence, become_ordinary_user};

/// An open port, and the rule that keeps the kernel silent as long as it lives.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) port: Port,
    pub(crate) silence: Option<Silence>,
}

/// Opens a port, with `before` as long as there are privileges, then gives them up.
///
/// # Errors
/// If a step fails. A kernel that cannot be kept silent is a warning if it speaks DCCP.
pub(crate) fn open<T>(
    console: &dyn Console,
    mut request: Request,
    before: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Opened, T), Failure> {
    let silence = match request.over {
        Over::Udp => None,
        Over::Ip => {
            let mark = request.mark.unwrap_or(Silence::MARK);
            let silence = silence(console, mark);
            // A mark needs the same privilege.
            request.mark = request.mark.or(silence.is_some().then_some(mark));
            silence
        }
    };
    let port = Port::open(&request).map_err(Failure::run)?;
    let opened = before()?;
    become_ordinary_user(&[]).map_err(Failure::run)?;
    Ok((Opened { port, silence }, opened))
}

fn silence(console: &dyn Console, mark: u32) -> Option<Silence> {
    let started = Silence::start(&KeeperCommand::default(), mark);
    if let Err(error) = &started
        && Silence::is_needed()
    {
        console.warn(&format!(
            "this kernel speaks DCCP and will reset the connections, as its Resets cannot be \
             dropped: {error}"
        ));
    }
    started.ok()
}

/// A request with the options of every connection.
pub(crate) fn with_line(request: Request, line: &Line) -> Request {
    let mut profiles = Standard::default();
    if !line.no_handovers {
        profiles.tfrc_sender.remedies = remedies();
        profiles.tfrc_receiver.remedies = remedies();
    }
    Request { service: line.service, watch: !line.no_handovers, profiles, ..request }
}
