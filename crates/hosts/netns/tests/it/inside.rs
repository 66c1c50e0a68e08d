//! What a node is like inside, and what comes out of its TUN device.

use crate::{await_end, build, can, output, plan, start};
use fairwave_linux::OwnProcessor;
use fairwave_netns::{
    Dropped, Error, LinkState, Namespaces, Offload, Plan, Prefix, VNET_HEADER_LENGTH,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, connect, ipproto, listen,
    socket_with,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write, stderr};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Waits for a packet for so many milliseconds.
fn readable(namespaces: &Namespaces, node: usize, most_ms: i64) -> bool {
    let max = Timespec { tv_sec: most_ms / 1000, tv_nsec: most_ms % 1000 * 1_000_000 };
    let fd = namespaces.tun_fd(node);
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&max)).unwrap() > 0
}

#[test]
fn what_nobody_reads_in_time_is_counted() {
    if !can() {
        return;
    }
    let mut plan = plan();
    plan.nodes[0].txqueuelen = 77;
    let namespaces = Namespaces::build(&plan).unwrap();
    let socket = namespaces.within(0, || UdpSocket::bind("10.0.0.1:0").unwrap()).unwrap();
    for _ in 0..100 {
        let _ = socket.send_to(b"four", "10.0.0.2:9");
    }
    assert_eq!([0, 1].map(|node| namespaces.dropped(node).unwrap().unread), [23, 0]);
}

#[test]
fn namespaces_are_shared_among_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Namespaces>();
}

#[test]
fn what_a_socket_of_a_node_sends_comes_out_of_its_tun_device() {
    if !can() {
        return;
    }
    let namespaces = build();
    let socket = namespaces.within(0, || UdpSocket::bind("10.0.0.1:0").unwrap()).unwrap();
    socket.send_to(b"four", "10.0.0.2:9").unwrap();
    assert!(readable(&namespaces, 0, 5000));
    let mut packet = [0; 2000];
    let length = namespaces.tun(0).receive(&mut packet).unwrap().unwrap();
    // IPv4 and UDP have 28 bytes of headers.
    assert_eq!(length, VNET_HEADER_LENGTH + 28 + 4);
    let ip = &packet[VNET_HEADER_LENGTH..length];
    assert_eq!((ip[0], &ip[12..20]), (0x45, &[10, 0, 0, 1, 10, 0, 0, 2][..]));
    assert!(ip.ends_with(b"four"));
    assert_eq!(namespaces.tun(0).receive(&mut packet).unwrap(), None);
}

/// The kernel gives an interface an IPv6 address, and takes packets to it a moment later.
#[test]
fn the_first_packet_to_an_address_is_not_lost() {
    if !can() {
        return;
    }
    let mut plan = plan();
    plan.nodes.truncate(1);
    for run in 0..30 {
        let namespaces = Namespaces::build(&plan).unwrap();
        let to_itself = || {
            let socket = UdpSocket::bind("[::]:7000").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket.send_to(b"x", "[fdfa:1afe::1]:7000").unwrap();
            socket.recv(&mut [0]).unwrap()
        };
        assert_eq!(namespaces.within(0, to_itself).unwrap(), 1, "run {run}");
    }
}

#[test]
fn the_kernel_sends_nothing_of_its_own_accord() {
    if !can() {
        return;
    }
    let namespaces = build();
    // Router solicitations and reports of multicast groups come within a second.
    assert!(!readable(&namespaces, 0, 1300));
}

#[test]
fn the_plan_is_seen_inside_and_the_machine_keeps_its_own() {
    if !can() {
        return;
    }
    let hosts = fs::read_to_string("/etc/hosts").unwrap();
    let mut plan = plan();
    plan.nodes[0].mtu = 1400;
    plan.nodes[0].txqueuelen = 77;
    plan.nodes[0].nameservers = vec![Ipv4Addr::new(192, 0, 2, 53).into()];
    plan.nodes[0].sysctls = vec![
        ("net.ipv4.tcp_congestion_control".to_owned(), "reno".to_owned()),
        ("net.ipv4.tcp_rmem".to_owned(), "4096 8192 16384".to_owned()),
    ];
    let namespaces = Namespaces::build(&plan).unwrap();
    let line = "cd /proc/sys/net/ipv4; cat tcp_congestion_control tcp_rmem; \
        cat /sys/class/net/fw0/mtu /sys/class/net/fw0/tx_queue_len; cat /etc/resolv.conf; \
        tail -n 4 /etc/hosts";
    let expected = "reno\n4096\t8192\t16384\n1400\n77\nnameserver 192.0.2.53\n\
        10.0.0.1 sta1\nfdfa:1afe::1 sta1\n10.0.0.2 server\nfdfa:1afe::2 server\n";
    assert_eq!(output(&namespaces, 0, line), expected);
    assert_eq!(fs::read_to_string("/etc/hosts").unwrap(), hosts);
}

#[test]
fn a_wrong_setting_is_named_with_its_node() {
    if !can() {
        return;
    }
    let mut plan = plan();
    plan.nodes[1].sysctls = vec![("net.ipv4.tcp_congestion_control".into(), "none".into())];
    let error = Namespaces::build(&plan).unwrap_err().to_string();
    let named = "server: sysctl net.ipv4.tcp_congestion_control = none: No such file";
    assert!(error.starts_with(named), "{error}");
    plan.nodes[1].sysctls = vec![("kernel.hostname".into(), "x".into())];
    let error = Namespaces::build(&plan).unwrap_err().to_string();
    assert!(error.contains("only settings below `net` belong to a namespace"), "{error}");
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    let mut twice = plan();
    twice.nodes[1].name = "sta1".to_owned();
    let error = Namespaces::build(&twice).unwrap_err();
    assert!(
        matches!(&error, Error::Plan(what) if what == "two nodes are called `sta1`"),
        "{error}"
    );
    let mut long = plan();
    long.nodes[0].addresses = vec![Prefix::new(Ipv4Addr::LOCALHOST, 33)];
    assert!(Namespaces::build(&long).is_err());
    let mut unnamed = plan();
    unnamed.nodes[0].name = "two words".to_owned();
    assert!(Namespaces::build(&unnamed).is_err());
}

#[test]
fn an_interface_that_a_program_deletes_is_missed() {
    if !can() {
        return;
    }
    let namespaces = build();
    namespaces.check().unwrap();
    let _ = output(&namespaces, 0, "ip link del fw0");
    let gone = "sta1: interface fw0 is gone: a program in the node's namespace has deleted it";
    let mut packet = [0; 2000];
    assert_eq!(namespaces.tun(0).receive(&mut packet).unwrap_err().to_string(), gone);
    assert_eq!(namespaces.tun(0).send(&packet).unwrap_err().to_string(), gone);
    assert_eq!(namespaces.check().unwrap_err().to_string(), gone);
    assert!(matches!(namespaces.tun(1).receive(&mut packet), Ok(None)));
}

#[test]
fn an_interface_that_flaps_loses_packets_and_comes_back() {
    if !can() {
        return;
    }
    let namespaces = build();
    let _ = output(&namespaces, 0, "ip link set fw0 down");
    // An IPv4 packet without options or payload behind the virtio header.
    let mut packet = [0; VNET_HEADER_LENGTH + 20];
    packet[VNET_HEADER_LENGTH] = 0x45;
    assert!(!namespaces.tun(0).send(&packet).unwrap());
    let _ = output(&namespaces, 0, "ip link set fw0 up");
    assert!(namespaces.tun(0).send(&packet).unwrap());
}

#[test]
fn a_device_without_a_carrier_drops_packets_and_a_dormant_one_passes_them() {
    if !can() {
        return;
    }
    let namespaces = build();
    let state = || output(&namespaces, 0, "ip -o link show fw0");
    let send = || {
        let sent = namespaces.within(0, || {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.send_to(b"anybody", "10.0.0.2:9")
        });
        assert_eq!(sent.unwrap().unwrap(), 7);
    };
    let passes = || {
        send();
        let mut packet = [0; 2000];
        readable(&namespaces, 0, 5000) && namespaces.tun(0).receive(&mut packet).unwrap().is_some()
    };
    let change = |from, to| namespaces.set_link(0, from, to).unwrap();
    // The state of a new device may be unknown until its carrier changes.
    assert!(state().contains("LOWER_UP") && passes(), "{}", state());
    change(LinkState::Up, LinkState::NoCarrier);
    assert!(state().contains("NO-CARRIER") && state().contains("state DOWN"), "{}", state());
    send();
    send();
    assert!(!readable(&namespaces, 0, 0));
    let dropped = Dropped { unread: 0, without_carrier: 2 };
    assert_eq!(namespaces.dropped(0).unwrap(), dropped);
    change(LinkState::NoCarrier, LinkState::Up);
    assert!(state().contains("state UP") && passes());
    change(LinkState::Up, LinkState::Dormant);
    assert!(state().contains("state DORMANT") && passes(), "{}", state());
    change(LinkState::Dormant, LinkState::Up);
    assert!(state().contains("state UP") && passes());
    assert_eq!(namespaces.dropped(0).unwrap(), dropped);
}

/// What arrives at a node is taken on the processors that the plan names.
#[test]
fn receivers_have_processors_of_their_own() {
    if !can() {
        return;
    }
    let steers = fs::exists("/proc/sys/net/core/rps_default_mask").unwrap();
    let Some(own) = OwnProcessor::reserve().filter(|_| steers) else {
        let why = "SKIPPED: it needs net.core.rps_default_mask and two processors";
        let _ = writeln!(stderr().lock(), "{why}");
        return;
    };
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let mask = (0..128).filter(|number| allowed.is_set(*number)).map(|number| 1u128 << number);
    let namespaces = Namespaces::build(&Plan { receivers: Some(own.others()), ..plan() }).unwrap();
    let printed = output(&namespaces, 1, "cat /sys/class/net/fw0/queues/rx-0/rps_cpus");
    let printed = u128::from_str_radix(&printed.trim().replace(',', ""), 16).unwrap();
    assert_eq!(printed, mask.sum::<u128>());
    let printed = output(&build(), 1, "cat /sys/class/net/fw0/queues/rx-0/rps_cpus");
    assert_eq!(printed.trim().trim_matches(['0', ',']), "", "without, nothing is steered");
}

#[test]
fn a_panic_inside_goes_on_outside_and_the_node_lives() {
    if !can() {
        return;
    }
    let namespaces = build();
    let work = || namespaces.within(0, || -> u8 { panic!("as told") });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    assert_eq!(namespaces.within(0, || thread::spawn(|| 5).join().unwrap()).unwrap(), 5);
}

#[test]
fn a_keeper_that_was_killed_is_missed_and_its_programs_are_dead() {
    if !can() {
        return;
    }
    let namespaces = build();
    let null = fs::File::create("/dev/null").unwrap();
    let program = start(&namespaces, 0, "exec busybox sleep 1000", &null);
    let status = fs::read_to_string(format!("/proc/{}/status", program.pid())).unwrap();
    assert!(status.lines().any(|line| line.starts_with("NSpid:") && line.split('\t').count() > 2));
    let keepers = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let path = process.path();
        let same = |kind: &str, of: &str| {
            fs::read_link(path.join("ns").join(kind)).ok()
                == fs::read_link(format!("/proc/{of}/ns/{kind}")).ok()
        };
        let command = fs::read(path.join("cmdline")).unwrap_or_default();
        command.starts_with(b"fairwave-keeper") && same("pid", &program.pid().to_string())
    });
    let keepers: Vec<i32> =
        keepers.map(|found| found.file_name().to_string_lossy().parse().unwrap()).collect();
    let [keeper] = keepers[..] else { panic!("{keepers:?}") };
    let keeper = rustix::process::Pid::from_raw(keeper).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    await_end(&program);
    let _ = program.try_wait().unwrap();
    let gone = (0..200).find_map(|_| {
        let _ = readable(&namespaces, 0, 20);
        namespaces.check().err()
    });
    let gone = gone.unwrap().to_string();
    assert!(gone.starts_with("the keeper process has ended"), "{gone}");
}

/// The longest packet of a transfer of a megabyte by TCP, with what the kernel leaves to us.
fn longest_packet(offload: Offload) -> usize {
    let mut plan = plan();
    plan.nodes.iter_mut().for_each(|node| node.offload = offload);
    let namespaces = Namespaces::build(&plan).unwrap();
    let listener = namespaces.within(1, || TcpListener::bind("10.0.0.2:80").unwrap()).unwrap();
    let sent = vec![7; 1_000_000];
    let (stop, longest) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut packet = vec![0; 70_000];
            while !stop.load(Ordering::Relaxed) {
                for from in 0..2 {
                    let _ = readable(&namespaces, from, 1);
                    while let Some(length) = namespaces.tun(from).receive(&mut packet).unwrap() {
                        longest.fetch_max(length, Ordering::Relaxed);
                        namespaces.tun(1 - from).send(&packet[..length]).unwrap();
                    }
                }
            }
        });
        let sender = scope.spawn(|| {
            let connect = || TcpStream::connect("10.0.0.2:80").unwrap();
            namespaces.within(0, connect).unwrap().write_all(&sent).unwrap();
        });
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        sender.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        assert!(received == sent);
    });
    longest.into_inner()
}

#[test]
fn large_segments_come_with_offloads_alone() {
    if !can() {
        return;
    }
    let with = longest_packet(Offload::On);
    assert!(with > 4000, "{with}");
    assert_eq!(longest_packet(Offload::Off), VNET_HEADER_LENGTH + 1500);
}

/// The kernel's MPTCP opens a further subflow from each address that was announced: the namespaces'
/// packets are handed from one to the other here.
#[test]
fn a_connection_of_mptcp_has_a_subflow_from_each_address() {
    if !can() {
        return;
    }
    if let Err(why) = fs::read_to_string("/proc/sys/net/mptcp/enabled") {
        let _ = writeln!(stderr().lock(), "SKIPPED: this kernel has no MPTCP: {why}");
        return;
    }
    let mut plan = plan();
    let more = [Ipv4Addr::new(10, 128, 0, 1), Ipv4Addr::new(10, 128, 0, 2)];
    plan.nodes[0].aliases = more.to_vec();
    plan.nodes[0].endpoints = Some(more.to_vec());
    plan.nodes[1].endpoints = Some(Vec::new());
    let namespaces = Namespaces::build(&plan).unwrap();
    let stream = || {
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let flags = flags | SocketFlags::NONBLOCK;
        socket_with(AddressFamily::INET, kind, flags, Some(ipproto::MPTCP)).unwrap()
    };
    let server = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 7000);
    let listening = move || {
        let socket = stream();
        bind(&socket, &server).unwrap();
        listen(&socket, 1).unwrap();
        socket
    };
    let listener = namespaces.within(1, listening).unwrap();
    let opening = move || {
        let socket = stream();
        assert_eq!(connect(&socket, &server), Err(Errno::INPROGRESS));
        socket
    };
    let source = namespaces.within(0, opening).unwrap();
    let mut joined = BTreeSet::new();
    let mut accepted = None;
    while joined.len() < more.len() {
        if accepted.is_none() {
            accepted = acceptfrom_with(&listener, SocketFlags::CLOEXEC).ok();
            // Subflows are opened once the connection is known to be one of MPTCP: by data.
            if accepted.is_some() {
                rustix::io::write(&source, b"four").unwrap();
            }
        }
        let max = Timespec { tv_sec: 5, tv_nsec: 0 };
        let tuns = [0, 1].map(|node| namespaces.tun_fd(node));
        let mut both = tuns.each_ref().map(|tun| PollFd::new(tun, PollFlags::IN));
        assert!(poll(&mut both, Some(&max)).unwrap() > 0, "only {joined:?} joined");
        joined.extend(pass_on(&namespaces, 0, 1));
        pass_on(&namespaces, 1, 0);
    }
    assert_eq!(joined, BTreeSet::from(more));
}

/// Hands what one node sends to the other; source addresses of 10.128.0.0/9 among it.
fn pass_on(namespaces: &Namespaces, from: usize, to: usize) -> Vec<Ipv4Addr> {
    let mut seen = Vec::new();
    let mut packet = [0; 65536];
    while let Some(length) = namespaces.tun(from).receive(&mut packet).unwrap() {
        namespaces.tun(to).send(&packet[..length]).unwrap();
        let ip = &packet[VNET_HEADER_LENGTH..length];
        let source = Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]);
        seen.extend((ip[0] >> 4 == 4 && ip[13] >= 128).then_some(source));
    }
    seen
}
