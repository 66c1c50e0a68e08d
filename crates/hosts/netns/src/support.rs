//! Missing parts of this machine, and the user namespace of an unprivileged user.

use fairwave_linux::error::{Error, Lack, Missing};
use fairwave_linux::kernel::unshare;
use fairwave_linux::netlink::Netlink;
use fairwave_linux::virtio::CLONE_DEVICE;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::fs;
use std::io;
use std::path::Path;
use std::thread;

/// Standing of the process that builds namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// With the capabilities of the machine's administrator.
    Root,
    /// As root of a user namespace of its own.
    Inside,
}

/// Files of namespaces without which the kernel cannot do it.
const KINDS: [(&str, &str); 4] =
    [("net", "NET_NS"), ("mnt", "NAMESPACES"), ("pid", "PID_NS"), ("uts", "UTS_NS")];

/// Settings that forbid user namespaces to users, with the value that does.
const FORBIDDING: [(&str, &str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=16384"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

/// Returns the missing parts of this machine. It can be called before or after
/// [`become_root_inside`].
///
/// # Errors
///
/// The list, in plain words.
pub fn support() -> Result<(), Missing> {
    let mut lacks: Vec<Lack> =
        KINDS.iter().filter_map(|(file, option)| namespace_kind(file, option)).collect();
    lacks.extend(tun_device());
    lacks.extend(hosts_file());
    lacks.extend(netlink());
    if is_administrator() {
        lacks.extend(namespaces());
    } else {
        lacks.extend(user_namespaces());
    }
    if lacks.is_empty() { Ok(()) } else { Err(Missing(lacks)) }
}

/// Makes an unprivileged process root in a user namespace of its own; files that it makes are still
/// those of its user. A process with the capabilities already stays as it is. Call this while the
/// process has a single thread.
///
/// # Errors
///
/// If user namespaces are forbidden, or the process has several threads.
pub fn become_root_inside() -> Result<Standing, Error> {
    if is_administrator() {
        return Ok(Standing::Root);
    }
    let lacks = user_namespaces();
    if !lacks.is_empty() {
        return Err(Missing(lacks).into());
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(UnshareFlags::NEWUSER).map_err(refused_user_namespace)?;
    for (path, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(path, text).map_err(Error::at(path))?;
    }
    Ok(Standing::Inside)
}

/// Whether this process has the capabilities of the machine's administrator that namespaces and
/// network settings take: `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
pub fn is_administrator() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

fn lack(what: impl Into<String>, remedy: impl Into<String>) -> Lack {
    Lack { what: what.into(), remedy: remedy.into() }
}

fn namespace_kind(file: &str, option: &str) -> Option<Lack> {
    let missing = !Path::new("/proc/self/ns").join(file).exists();
    missing.then(|| {
        lack(
            format!("namespaces of the kind `{file}`"),
            format!("a kernel with CONFIG_{option}, as those of all distributions have, and /proc"),
        )
    })
}

fn tun_device() -> Option<Lack> {
    let opened = rustix::fs::open(CLONE_DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    Some(match opened.err()? {
        Errno::NOENT => lack(
            format!("the device {CLONE_DEVICE}"),
            "load the module (sudo modprobe tun); for a container, --device /dev/net/tun",
        ),
        Errno::NODEV | Errno::NXIO => {
            lack("the kernel's TUN driver", "load the module (sudo modprobe tun), or CONFIG_TUN")
        }
        Errno::ACCESS | Errno::PERM => lack(
            format!("permission to open {CLONE_DEVICE}"),
            format!("sudo chmod 0666 {CLONE_DEVICE} (udev's default), or run as root"),
        ),
        other => lack(format!("{CLONE_DEVICE}: {other}"), "load the module (sudo modprobe tun)"),
    })
}

fn hosts_file() -> Option<Lack> {
    let missing = !Path::new("/etc/hosts").exists();
    missing.then(|| lack("the file /etc/hosts", "create it (sudo touch /etc/hosts)"))
}

fn netlink() -> Option<Lack> {
    let error = Netlink::open().err()?;
    Some(lack(format!("netlink sockets ({error})"), "a sandbox forbids them: run outside of it"))
}

/// Tries on a thread that ends at once, and its namespaces with it.
fn namespaces() -> Option<Lack> {
    let flags = UnshareFlags::FS | UnshareFlags::NEWNS | UnshareFlags::NEWNET;
    let tried = thread::spawn(move || unshare(flags | UnshareFlags::NEWUTS)).join();
    let error = tried.unwrap_or_else(|_| Err(io::Error::other("the attempt failed"))).err()?;
    let remedy = "in a container, allow it (docker run --privileged); else see the limits in \
        /proc/sys/user/max_net_namespaces and max_mnt_namespaces";
    Some(lack(format!("permission to make namespaces ({error})"), remedy))
}

fn user_namespaces() -> Vec<Lack> {
    if !Path::new("/proc/self/ns/user").exists() {
        return vec![lack("user namespaces", "a kernel with CONFIG_USER_NS, or run as root")];
    }
    let forbids =
        |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|found| found.trim() == value);
    let forbidding = FORBIDDING.iter().filter(|(path, value, _)| forbids(path, value));
    forbidding
        .map(|(path, value, allow)| {
            let what = format!("permission to make user namespaces ({path} is {value})");
            lack(what, format!("sudo sysctl -w {allow}, or run as root"))
        })
        .collect()
}

fn refused_user_namespace(error: io::Error) -> Error {
    // The kernel says "invalid argument" to a process with several threads.
    if Errno::from_io_error(&error) == Some(Errno::INVAL) {
        return Error::at("a user namespace, which only a process with one thread can make")(error);
    }
    let remedy = "in a container, allow it (docker run --privileged); or run as root";
    Missing(vec![lack(format!("permission to make user namespaces ({error})"), remedy)]).into()
}
