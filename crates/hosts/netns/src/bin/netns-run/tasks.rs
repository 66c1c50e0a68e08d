//! Tasks of a run, and its audit.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a command of its own, which waits for the kernel"
)]

use fairwave_linux::{Discipline, Shaper, ShaperPlan};
use fairwave_netns::between::{self, FrameSocket};
use fairwave_netns::{
    Invocation, KeeperCommand, Namespaces, NodePlan, Plan, Prefix, Program, ProgramPlan, Route,
    UplinkPlan,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::MountFlags;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Lines};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub(crate) fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let outcome = match words[..] {
        [fairwave_netns::keeper::COMMAND, ref words @ ..] => {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            return fairwave_netns::keeper::main(&words).into();
        }
        ["support"] => fairwave_netns::support().map_err(Into::into),
        ["ping"] => ping(),
        ["shell", line] => terminal(line),
        ["hold", ending] => hold(ending),
        ["audit", ending] => audit(&["hold", ending], ending),
        ["audit-as", user, ending] => audit_as(user, ending),
        ["loop", times] => times.parse().map_err(Into::into).and_then(repeat),
        ["uplink"] => uplink(),
        ["uplink-switched"] => uplink_switched(),
        ["uplink-renamed"] => uplink_renamed(),
        ["uplink-shared", ending] => uplink_shared(ending),
        ["uplink-hold"] => uplink_hold(),
        ["between"] => bridge(),
        ["shape"] => shape(),
        _ => Err("unknown task".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Traffic control of the loopback interface.
fn traffic_control() -> Outcome<[String; 3]> {
    let shown = |kind| -> Outcome<String> {
        let output = Command::new("tc").args([kind, "show", "dev", "lo"]).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    Ok([shown("qdisc")?, shown("class")?, shown("filter")?])
}

/// Shares the loopback interface of an own network namespace, and ends or is killed.
fn shape() -> Outcome {
    let before = traffic_control()?;
    let plan = ShaperPlan {
        discipline: Discipline::Htb,
        traffic: Vec::new(),
        replace: false,
        urgent: 0x88b5,
        interface: "lo".to_owned(),
        rate_bps: 8_000_000,
        queue_packets: 50,
        leaf: None,
        overhead: 0,
        keeper: KeeperCommand::default(),
    };
    let mut shaper = Shaper::start(&plan)?;
    let (a, b) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 1, 1]);
    shaper.serve(a, None, &[1.0])?;
    shaper.serve(b, None, &[0.5])?;
    shaper.serve(b, None, &[0.0])?;
    shaper.serve(a, None, &[0.25])?;
    let whole = traffic_control()?;
    println!("{}", whole.concat());
    shaper.stop(a)?;
    println!("without a: {}", traffic_control()?[1]);
    let refused = Shaper::start(&plan).err().ok_or("a second one was let in")?;
    println!("refused: {refused}");
    drop(shaper);
    if traffic_control()? == before { Ok(()) } else { Err("something is left".into()) }
}

/// Two nodes, `sta1` and `server`.
fn plan() -> Plan {
    let node = |name: &str, number: u8| {
        let mut node = NodePlan::new(name);
        let six = Ipv6Addr::new(0xfdfa, 0x1afe, 0, 0, 0, 0, 0, number.into());
        node.addresses =
            vec![Prefix::new(Ipv4Addr::new(10, 0, 0, number), 8), Prefix::new(six, 64)];
        node
    };
    Plan { nodes: vec![node("sta1", 1), node("server", 2)], ..Plan::default() }
}

fn start(namespaces: &Namespaces, node: usize, line: &str, output: File) -> Outcome<Program> {
    let invocation = Invocation::Shell(line.to_owned());
    let plan = ProgramPlan { invocation, output, environment: Vec::new(), directory: None };
    Ok(namespaces.spawn(node, plan)?)
}

fn own_output() -> Outcome<File> {
    Ok(File::from(rustix::io::dup(io::stdout())?))
}

/// Runs `work` while packets of each node are handed to the other.
fn forwarding<T>(namespaces: &Namespaces, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut packet = vec![0; 70_000];
            let tick = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            while !stop.load(Ordering::Relaxed) {
                let fds = [namespaces.tun_fd(0), namespaces.tun_fd(1)];
                let mut polled = fds.each_ref().map(|fd| PollFd::new(fd, PollFlags::IN));
                let _ = poll(&mut polled, Some(&tick));
                for from in 0..2 {
                    while let Ok(Some(length)) = namespaces.tun(from).receive(&mut packet) {
                        let _ = namespaces.tun(1 - from).send(&packet[..length]);
                    }
                }
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

/// Both nodes reach each other by name and address, over IPv4 and IPv6.
fn ping() -> Outcome {
    println!("{:?}", fairwave_netns::become_root_inside()?);
    let namespaces = Namespaces::build(&plan())?;
    let line = "busybox ping -c 2 -i 0.1 -w 5 server && busybox ping6 -c 2 -w 5 fdfa:1afe::2 && \
        busybox hostname && busybox ps -o pid,args && ls /sys/class/net";
    forwarding(&namespaces, || {
        let program = start(&namespaces, 0, line, own_output()?)?;
        await_program(&program)?;
        let status = program.try_wait()?.ok_or("still runs")?;
        if status.success() { Ok(()) } else { Err(status.to_string().into()) }
    })
}

fn await_program(program: &Program) -> Outcome {
    let max = Timespec { tv_sec: 20, tv_nsec: 0 };
    match poll(&mut [PollFd::new(program, PollFlags::IN)], Some(&max))? {
        0 => Err("the program does not end".into()),
        _ => Ok(()),
    }
}

/// Runs a line of the shell on the terminal.
fn terminal(line: &str) -> Outcome {
    fairwave_netns::become_root_inside()?;
    let namespaces = Namespaces::build(&plan())?;
    let program = namespaces.attach(0, &Invocation::Shell(line.to_owned()))?;
    let status = program.wait()?;
    // It has the terminal until then.
    drop(program);
    println!("shell: {status}");
    Ok(())
}

/// Programs that do not want to end, in namespaces whose holder ends in a way of its own.
fn hold(ending: &str) -> Outcome {
    fairwave_netns::become_root_inside()?;
    let namespaces = Namespaces::build(&plan())?;
    let null = || File::create("/dev/null");
    let lines = [
        "exec busybox sleep 1001",
        "trap '' TERM INT HUP; while :; do busybox sleep 1002; done",
        "busybox setsid busybox sh -c 'busybox sleep 1003 & busybox setsid busybox sleep 1004 &'",
    ];
    let mut programs = Vec::new();
    for line in lines {
        programs.push(start(&namespaces, 0, line, null()?)?);
    }
    println!("ready");
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    match ending {
        "error" => Err("as told".into()),
        "panic" => panic!("as told"),
        "build-error" => {
            let mut plan = plan();
            plan.nodes[1].sysctls = vec![("net.ipv4.no_such".to_owned(), "1".to_owned())];
            Err(Namespaces::build(&plan).err().ok_or("a wrong setting was taken")?.into())
        }
        _ => Ok(()),
    }
}

/// Things that can leak: processes, namespaces in use, links, mounts, files, addresses and
/// settings.
fn snapshot() -> Outcome<BTreeMap<String, u32>> {
    let mut seen = BTreeMap::new();
    let mut count = |what: String| *seen.entry(what).or_insert(0) += 1;
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name().to_string_lossy().into_owned();
        if !name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let command = fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        count(format!("process {}", command.replace('\0', " ").trim()));
        for task in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            for kind in ["net", "mnt", "pid", "user", "uts", "ipc"] {
                let link = fs::read_link(task.path().join("ns").join(kind));
                link.into_iter().for_each(|link| count(format!("namespace {}", link.display())));
            }
        }
    }
    for (what, folder) in [("link", "/sys/class/net"), ("file", "/tmp"), ("file", "/run")] {
        let found = fs::read_dir(folder)?.flatten();
        found.for_each(|found| count(format!("{what} {}", found.path().display())));
    }
    for mount in fs::read_to_string("/proc/self/mountinfo")?.lines() {
        count(format!("mount {mount}"));
    }
    for setting in ["ip_forward", "conf/all/forwarding"] {
        let value = fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}"))?;
        count(format!("setting {setting} {}", value.trim()));
    }
    Ok(seen)
}

/// Compares before and after. To be run as init of a PID namespace of the test's own, with network
/// and mounts of its own, so that no other program's changes are seen.
fn audit(task: &[&str], ending: &str) -> Outcome {
    let mut command = Command::new("/proc/self/exe");
    command.args(task);
    audit_run(command, ending)
}

fn audit_as(user: &str, ending: &str) -> Outcome {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    command.arg(std::env::current_exe()?).args(["hold", ending]);
    audit_run(command, ending)
}

fn audit_run(mut command: Command, ending: &str) -> Outcome {
    // Other programs of this machine use these folders.
    for folder in ["/tmp", "/run"] {
        rustix::mount::mount("audit", folder, "tmpfs", MountFlags::empty(), None)?;
    }
    let before = snapshot()?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let ready = lines.next().ok_or("the run says nothing")??;
    if ready != "ready" {
        child.wait()?;
        return Err(format!("the run says {ready}").into());
    }
    let during = await_sleepers()?;
    end(&mut child, ending)?;
    println!("the run ended: {}", child.wait()?);
    for _ in 0..200 {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if snapshot()? == before {
            println!("{} things more while it ran, none left", during.len() - before.len());
            return Ok(());
        }
        thread::sleep(Duration::from_millis(25));
    }
    let after = snapshot()?;
    let left = after.iter().filter(|(what, count)| before.get(*what) != Some(count));
    left.for_each(|(what, count)| println!("left: {count} {what}"));
    let missing = before.keys().filter(|what| !after.contains_key(*what));
    missing.for_each(|what| println!("gone: {what}"));
    Err("before and after differ".into())
}

/// Waits until the programs of a run sleep, those included that have left their parents.
fn await_sleepers() -> Outcome<BTreeMap<String, u32>> {
    let wanted: Vec<String> = (1001..=1004).map(|n| format!("process busybox sleep {n}")).collect();
    for _ in 0..200 {
        let seen = snapshot()?;
        if wanted.iter().all(|wanted| seen.contains_key(wanted)) {
            return Ok(seen);
        }
        thread::sleep(Duration::from_millis(25));
    }
    Err("the programs do not run".into())
}

fn end(child: &mut Child, ending: &str) -> Outcome {
    let signal = match ending {
        "interrupt" => Signal::INT,
        "kill" => Signal::KILL,
        "terminate" => Signal::TERM,
        _ => {
            drop(child.stdin.take());
            return Ok(());
        }
    };
    let pid = Pid::from_raw(child.id().try_into()?).ok_or("no process")?;
    Ok(kill_process(pid, signal)?)
}

/// Builds and tears down; descriptors, threads and memory stay bounded.
fn repeat(times: u32) -> Outcome {
    fairwave_netns::become_root_inside()?;
    let once = || -> Outcome {
        let namespaces = Namespaces::build(&plan())?;
        namespaces.check()?;
        let program = start(&namespaces, 1, "exit 3", own_output()?)?;
        await_program(&program)?;
        let status = program.try_wait()?.and_then(|status| status.code());
        if status == Some(3) { Ok(()) } else { Err(format!("{status:?}").into()) }
    };
    // The first runs fill the allocator's and the threads' caches.
    (0..5).try_for_each(|_| once())?;
    let before = usage()?;
    (0..times).try_for_each(|_| once())?;
    // A thread that has been joined is still counted for a moment.
    for _ in 0..100 {
        let after = usage()?;
        let [descriptors, threads, memory] = [0, 1, 2].map(|n| after[n].saturating_sub(before[n]));
        if descriptors == 0 && threads == 0 && memory < 4096 {
            println!("descriptors, threads, KiB: {before:?}, then {after:?} after {times} runs");
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Err(format!("something leaks: {before:?} before, {:?} after", usage()?).into())
}

/// Descriptors, threads, and KiB of memory of this process.
fn usage() -> Outcome<[usize; 3]> {
    let status = fs::read_to_string("/proc/self/status")?;
    let number = |key: &str| -> Option<usize> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let descriptors = fs::read_dir("/proc/self/fd")?.count();
    let threads = number("Threads:").ok_or("no count of threads")?;
    Ok([descriptors, threads, number("VmRSS:").ok_or("no size")?])
}

/// Runs a line of the shell in the namespaces of this process.
fn shell(line: &str) -> Outcome<String> {
    let output = Command::new("/bin/sh").args(["-ec", line]).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{line}: {text}").into()) }
}

/// A machine with the interface `wan0`, behind which 192.0.2.1 answers: to be run in namespaces of
/// the test's own.
const WAN: &str = "
    ip link set lo up
    ip link add wan0 type veth peer name isp0
    unshare --net busybox sleep 60 >/dev/null 2>&1 & isp=$!
    for try in 1 2 3 4 5 6 7 8 9 10; do
        busybox usleep 50000
        [ $(readlink /proc/$isp/ns/net) = $(readlink /proc/self/ns/net) ] || break
    done
    ip link set isp0 netns $isp
    nsenter --net -t $isp ip addr add 192.0.2.1/24 dev isp0
    nsenter --net -t $isp ip link set isp0 up
    ip addr add 192.0.2.9/24 dev wan0
    ip link set wan0 up
    echo 0 > /proc/sys/net/ipv4/conf/wan0/forwarding
    mount -t tmpfs t /mnt
    echo nameserver 192.0.2.53 > /mnt/resolv
    mount --bind /mnt/resolv /etc/resolv.conf
    echo $isp";

/// Changes of an uplink on the machine.
const CHANGES: &str = "cat /proc/sys/net/ipv4/conf/wan0/forwarding; nft list ruleset; ip -o link";

fn uplink_plan() -> Plan {
    let mut plan = plan();
    plan.nodes[0].routes = vec![Route::new(Prefix::new(Ipv4Addr::UNSPECIFIED, 0))];
    let (node, interface) = ("server".to_owned(), "wan0".to_owned());
    plan.uplinks = vec![UplinkPlan { node, interface, has_ipv6: false }];
    plan
}

/// The other node reaches beyond the machine by the node with the uplink; afterwards the machine
/// is as it was, after SIGKILL too.
fn uplink() -> Outcome {
    let isp = shell(WAN)?;
    let before = shell(CHANGES)?;
    let namespaces = Namespaces::build(&uplink_plan())?;
    let during = shell(CHANGES)?;
    println!("{during}");
    let line =
        "busybox ping -c 2 -w 5 192.0.2.1 && grep -x 'nameserver 192.0.2.53' /etc/resolv.conf";
    forwarding(&namespaces, || {
        for node in [0, 1] {
            let program = start(&namespaces, node, line, own_output()?)?;
            await_program(&program)?;
            let status = program.try_wait()?.ok_or("still runs")?;
            status.success().then_some(()).ok_or(format!("node {node}: {status}"))?;
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    drop(namespaces);
    await_same(&before)?;
    let (mut child, _lines) = holder()?;
    let during = shell(CHANGES)?;
    if during == before {
        return Err("the run changes nothing".into());
    }
    end(&mut child, "kill")?;
    child.wait()?;
    await_same(&before)?;
    shell(&format!("kill {isp}"))?;
    Ok(())
}

/// Another program switches forwarding on during a run: then it stays on. If it was on before for
/// all interfaces but the uplink, the uplink alone is restored.
fn uplink_switched() -> Outcome {
    let isp = shell(WAN)?;
    let all = "/proc/sys/net/ipv4/ip_forward";
    let own = "/proc/sys/net/ipv4/conf/wan0/forwarding";
    for (before, during, after) in [(0, 1, "1"), (1, 1, "0"), (0, 0, "0")] {
        shell(&format!("echo {before} > {all}; echo 0 > {own}"))?;
        let namespaces = Namespaces::build(&uplink_plan())?;
        // A write of the same value has no effect.
        shell(&format!("echo {during} > {all}"))?;
        drop(namespaces);
        let left = shell(&format!("cat {own}; nft list ruleset"))?;
        if left.trim() != after {
            return Err(format!("{before}, then {during}: {left}").into());
        }
    }
    shell(&format!("kill {isp}"))?;
    Ok(())
}

/// The uplink is renamed during a run, and another interface gets its name.
fn uplink_renamed() -> Outcome {
    let isp = shell(WAN)?;
    let namespaces = Namespaces::build(&uplink_plan())?;
    shell(
        "ip link set wan0 name lan7; ip link add wan0 type veth peer name wan1
         echo 1 > /proc/sys/net/ipv4/conf/wan0/forwarding",
    )?;
    drop(namespaces);
    let left =
        shell("cd /proc/sys/net/ipv4/conf; cat lan7/forwarding wan0/forwarding; nft list ruleset")?;
    shell(&format!("kill {isp}"))?;
    if left.trim() != "0\n1" { Err(left.into()) } else { Ok(()) }
}

/// Two runs have the same uplink, and the first of them to end is this one or, by a signal, the
/// other. The one that stays keeps its way out, and then the machine is as it was.
fn uplink_shared(ending: &str) -> Outcome {
    let isp = shell(WAN)?;
    let before = shell(CHANGES)?;
    let (mut child, _) = holder()?;
    // Both nodes have the uplink, so that this run alone shares it too.
    let mut plan = uplink_plan();
    plan.nodes[0].routes = Vec::new();
    plan.uplinks.push(UplinkPlan { node: plan.nodes[0].name.clone(), ..plan.uplinks[0].clone() });
    let namespaces = Namespaces::build(&plan)?;
    reach_out(&namespaces)?;
    if ending == "returns" {
        drop(namespaces);
        let during = shell(CHANGES)?;
        if !during.starts_with('1') || during.matches("masquerade").count() != 1 {
            return Err(format!("the other run has lost its way out: {during}").into());
        }
        end(&mut child, "terminate")?;
        child.wait()?;
    } else {
        end(&mut child, ending)?;
        child.wait()?;
        // Its keeper ends after it.
        while shell("nft list ruleset")?.matches("masquerade").count() > 2 {
            thread::sleep(Duration::from_millis(25));
        }
        reach_out(&namespaces)?;
        drop(namespaces);
    }
    await_same(&before)?;
    shell(&format!("kill {isp}"))?;
    Ok(())
}

/// Both nodes reach beyond the machine.
fn reach_out(namespaces: &Namespaces) -> Outcome {
    for node in [0, 1] {
        let line = "busybox ping -c 2 -w 5 192.0.2.1";
        let program = start(namespaces, node, line, own_output()?)?;
        await_program(&program)?;
        let status = program.try_wait()?.ok_or("still runs")?;
        status.success().then_some(()).ok_or(format!("node {node}: {status}"))?;
    }
    Ok(())
}

/// Another run with the uplink, once it is ready.
fn holder() -> Outcome<(Child, Lines<BufReader<ChildStdout>>)> {
    let mut command = Command::new("/proc/self/exe");
    let mut child =
        command.arg("uplink-hold").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    println!("{}", lines.next().ok_or("the run says nothing")??);
    Ok((child, lines))
}

fn uplink_hold() -> Outcome {
    let _namespaces = Namespaces::build(&uplink_plan())?;
    println!("ready");
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}

fn await_same(before: &str) -> Outcome {
    for _ in 0..200 {
        if shell(CHANGES)? == before {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(25));
    }
    Err(format!("before: {before}\nafter: {}", shell(CHANGES)?).into())
}

/// Two nodes behind two interfaces reach each other by sockets on those; then one is deleted.
fn bridge() -> Outcome {
    shell("ip link add e0 type veth peer name e1; ip link add f0 type veth peer name f1")?;
    shell("ip link set e0 up; ip link set f0 up")?;
    let namespaces = Namespaces::build(&plan())?;
    for (node, interface) in [(0, "e1"), (1, "f1")] {
        let holder = start(&namespaces, node, "exec busybox sleep 60", own_output()?)?;
        shell(&format!("ip link set {interface} netns {}", holder.pid()))?;
        let address = format!("192.168.7.{}/24", node + 1);
        let line = format!("ip addr add {address} dev {interface} && ip link set {interface} up");
        await_program(&start(&namespaces, node, &line, own_output()?)?)?;
    }
    let sockets = between::open("e0", "f0")?;
    copying(&sockets, || {
        let line = "busybox ping -c 3 -s 1400 -w 5 192.168.7.2";
        let program = start(&namespaces, 0, line, own_output()?)?;
        await_program(&program)?;
        let status = program.try_wait()?.ok_or("still runs")?;
        if status.success() { Ok(()) } else { Err(Box::<dyn Error>::from(status.to_string())) }
    })?;
    shell("ip link del e0")?;
    let mut frame = vec![0; 70_000];
    for _ in 0..100 {
        if let Err(error) = sockets[0].receive(&mut frame) {
            println!("{error}");
            return Ok(());
        }
    }
    Err("nobody noticed that the interface is gone".into())
}

/// Runs `work` while frames of each socket are handed to the other.
fn copying<T>(sockets: &[FrameSocket; 2], work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut frame = vec![0; 70_000];
            let tick = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            while !stop.load(Ordering::Relaxed) {
                let mut polled = sockets.each_ref().map(|fd| PollFd::new(fd, PollFlags::IN));
                let _ = poll(&mut polled, Some(&tick));
                for from in 0..2 {
                    while let Ok(Some(length)) = sockets[from].receive(&mut frame) {
                        let _ = sockets[1 - from].send(&frame[..length]);
                    }
                }
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}
