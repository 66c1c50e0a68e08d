//! The other end of a command: its address, and the secret that both ends share.

use crate::{Console, Failure, Listening};
use clap::Args;
use fairwave_linux::random::fill;
use fairwave_wire::seal::{Key, MIN_SECRET, ShortSecret};
use ipnet::IpNet;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Characters of a pairing code: none that looks like another one.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Length of a pairing code in characters of five bits each.
const CODE_LETTERS: usize = 20;

/// Secret that both ends share.
#[derive(Args, Debug)]
pub struct Secret {
    /// Key file that both ends have, with at least 16 bytes
    #[arg(long, value_name = "FILE", conflicts_with = "pairing")]
    pub key: Option<PathBuf>,
    /// The code that the server prints when it starts
    #[arg(long, value_name = "CODE")]
    pub pairing: Option<String>,
}

impl Secret {
    /// The key of a server, and the code to show: a new one, or the word CODE if the user gave one.
    ///
    /// # Errors
    /// If the secret is too short, or its file cannot be read.
    pub fn of_server(&self) -> Result<(Key, Option<String>), Failure> {
        if let Some(key) = self.given()? {
            return Ok((key, self.pairing.is_some().then(|| "CODE".to_owned())));
        }
        let code = pairing_code().map_err(Failure::run)?;
        let key = key_of(code.as_bytes()).map_err(Failure::run)?;
        Ok((key, Some(code)))
    }

    /// Whether the user gave a secret, so that a server makes no code.
    pub const fn is_given(&self) -> bool {
        self.key.is_some() || self.pairing.is_some()
    }

    /// The key with which a host authenticates to its server, which the command `server` runs.
    ///
    /// # Errors
    /// If there is no secret, if it is too short, or if its file cannot be read.
    pub fn of_client(&self, server: &str) -> Result<Key, Failure> {
        self.given()?.ok_or_else(|| {
            let remedy = "on the other host prints the code";
            Failure::Usage(format!("--pairing CODE or --key FILE is missing: `{server}` {remedy}"))
        })
    }

    /// Reports that the server `command` listens: a line of JSON, with the code if it is new, and a
    /// `text` made of the options for the other host. These are the port if it is not the usual
    /// one, with a blank before it, and the secret.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    pub fn announce(
        &self,
        console: &dyn Console,
        command: &str,
        address: SocketAddr,
        usual_port: u16,
        code: Option<String>,
        text: impl FnOnce(&str, &str) -> String,
    ) -> Result<(), Failure> {
        let (port, secret) = options(address, usual_port, code.as_deref());
        let pairing = code.filter(|_| !self.is_given());
        Listening { pairing, ..Listening::at(command, &[address]) }.print(console)?;
        console.inform(&text(&port, &secret))
    }

    /// The key from the file or from the code.
    fn given(&self) -> Result<Option<Key>, Failure> {
        let usage = |name: &str, error: ShortSecret| Failure::Usage(format!("{name}: {error}"));
        match (&self.key, &self.pairing) {
            (Some(file), _) => {
                let bytes = fs::read(file).map_err(Failure::at(file))?;
                let shown = file.display().to_string();
                key_of(&bytes).map(Some).map_err(|error| usage(&shown, error))
            }
            (None, Some(code)) => {
                key_of(code.as_bytes()).map(Some).map_err(|error| usage("--pairing", error))
            }
            (None, None) => Ok(None),
        }
    }
}

/// Version of IP to use; either one by default.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Family {
    /// Speak IPv4 only
    #[arg(short = '4', conflicts_with = "six")]
    four: bool,
    /// Speak IPv6 only
    #[arg(short = '6')]
    six: bool,
}

/// Options of a command `pair`.
#[derive(Args, Debug)]
pub struct Pair {
    /// The file to make
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The code that the other host has printed [default: a new one]
    #[arg(long, value_name = "CODE")]
    pub code: Option<String>,
}

impl Pair {
    /// Makes the key file, and shows its code for the other host, on which the same `command` runs.
    ///
    /// # Errors
    /// If the code is too short, or the file exists or cannot be written.
    pub fn make(&self, console: &dyn Console, command: &str) -> Result<(), Failure> {
        let code = match &self.code {
            Some(code) => code.trim().to_owned(),
            None => pairing_code().map_err(Failure::run)?,
        };
        key_of(code.as_bytes()).map_err(|error| Failure::Usage(format!("--code: {error}")))?;
        write_key(&self.key, &code)?;
        let file = self.key.display().to_string();
        let text = match self.code {
            None => format!(
                "{file} has a new key. On the other host:\n  {command} pair --key {} --code \
                 {code}\n",
                fairwave_text::quoted(&file)
            ),
            Some(_) => format!("{file} has the key of the other host.\n"),
        };
        console.show(&json!({ "key": file, "code": code }), &text)
    }
}

/// Writes a key file that only its owner can read. One that exists is not overwritten.
fn write_key(path: &Path, code: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(Failure::at(path))?;
    writeln!(file, "{code}").map_err(Failure::at(path))
}

/// The key of a secret that both ends have: the content of a file, or a pairing code. White space
/// around it does not count.
///
/// # Errors
/// If it is shorter than [`MIN_SECRET`].
pub fn key_of(secret: &[u8]) -> Result<Key, ShortSecret> {
    const { assert!(CODE_LETTERS >= MIN_SECRET, "a code makes a key") };
    Key::new(secret.trim_ascii())
}

/// A new pairing code: 100 random bits, to be read aloud or copied.
///
/// # Errors
/// If the kernel gives no random bytes.
pub fn pairing_code() -> std::io::Result<String> {
    let mut bytes = [0; CODE_LETTERS];
    fill(&mut bytes)?;
    Ok(bytes.map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).iter().collect())
}

/// Opens the socket of a server. Without an address it serves IPv6 and IPv4, or only IPv4 if the
/// host has no IPv6.
///
/// # Errors
/// Those of `open`.
pub fn listen<T, E>(
    address: Option<SocketAddr>,
    port: u16,
    open: impl Fn(SocketAddr) -> Result<T, E>,
) -> Result<T, E> {
    match address {
        Some(address) => open(address),
        None => open((Ipv6Addr::UNSPECIFIED, port).into())
            .or_else(|_| open((Ipv4Addr::UNSPECIFIED, port).into())),
    }
}

/// The first address of a host, of the requested family.
///
/// # Errors
/// If the name has no address of the family, or contains a port.
pub fn resolve(host: &str, port: u16, family: Family) -> Result<SocketAddr, Failure> {
    if let Some((name, own)) = host.rsplit_once(':')
        && own.parse::<u16>().is_ok()
        && (!name.contains(':') || name.ends_with(']'))
    {
        let name = name.trim_matches(['[', ']']);
        return Err(Failure::Usage(format!(
            "{host}: the port has an option of its own, {name} --port {own}"
        )));
    }
    let found =
        (host, port).to_socket_addrs().map_err(|error| Failure::Run(format!("{host}: {error}")))?;
    let fits = |address: &SocketAddr| match address {
        SocketAddr::V4(_) => !family.six,
        SocketAddr::V6(_) => !family.four,
    };
    let mut fitting = found.filter(fits);
    let family = if family.six { "IPv6" } else { "IPv4" };
    fitting.next().ok_or_else(|| Failure::Run(format!("{host} has no address of {family}")))
}

/// Parses a prefix, or a single address.
///
/// # Errors
///
/// A sentence with the expected form.
pub fn prefix(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse::<IpNet>()
        .or_else(|_| address())
        .map_err(|_| format!("`{text}`: expected an address or a prefix, such as 192.0.2.0/24"))
}

/// The options for the other host: the port if it is not the `usual` one, with a blank before it,
/// and the secret. A code that the user gave is not shown again.
fn options(address: SocketAddr, usual: u16, code: Option<&str>) -> (String, String) {
    let port = match address.port() {
        port if port == usual => String::new(),
        port => format!(" --port {port}"),
    };
    (port, code.map_or("--key FILE".to_owned(), |code| format!("--pairing {code}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_behind_the_host_is_no_part_of_its_name() {
        for (host, remedy) in
            [("laptop.lan:99", "laptop.lan --port 99"), ("[::1]:99", "::1 --port 99")]
        {
            let refused = resolve(host, 1, Family::default());
            assert!(
                matches!(&refused, Err(Failure::Usage(why)) if why.ends_with(remedy)),
                "{refused:?}"
            );
        }
        let found = resolve("::1", 99, Family::default()).unwrap();
        assert_eq!(found, "[::1]:99".parse().unwrap());
    }

    #[test]
    fn pairing_codes_make_keys_and_differ() {
        let [one, other] = [pairing_code().unwrap(), pairing_code().unwrap()];
        assert_ne!(one, other);
        assert!(key_of(one.as_bytes()).is_ok() && key_of(b"short").is_err());
    }
}
