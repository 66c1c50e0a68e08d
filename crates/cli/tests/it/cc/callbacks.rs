//! Windows after single callbacks of the kernel.

use super::{Shell, may_load};

/// Reno widens the window, then each algorithm in turn takes the connection over, and the
/// connection is idle for longer than its retransmission timeout.
#[test]
fn an_algorithm_that_is_chosen_later_restarts_from_ten_segments() {
    let Some(_lock) = may_load() else { return };
    let mut shell = Shell::start(
        r#"
$F cc load fw_ackloss_reno fw_ackloss_cubi fw_compound fw_tcp_av
cat > idle.py <<'END'
import socket, struct, sys, threading
TCP = socket.IPPROTO_TCP
listener = socket.create_server(('127.0.0.1', 0))
client = socket.socket()
client.setsockopt(TCP, socket.TCP_MAXSEG, 536)
client.setsockopt(TCP, socket.TCP_CONGESTION, b'reno')
client.connect(listener.getsockname())
server, _ = listener.accept()
def drain():
    while server.recv(1 << 16): pass
threading.Thread(target=drain, daemon=True).start()
# Offsets in struct tcp_info.
def info(at): return struct.unpack_from('I', client.getsockopt(TCP, socket.TCP_INFO, 104), at)[0]
def rto_us(): return info(8)
def unacked(): return info(24)
def idle_us(): return info(44) * 1000
def window(): return info(80)
while window() <= 40: client.sendall(bytes(1 << 20))
while unacked(): pass
client.setsockopt(TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
before = window()
while idle_us() < rto_us() + 10_000: pass
client.sendall(b'.')
while unacked(): pass
print(before, window())
END
for algorithm in fw_ackloss_reno fw_ackloss_cubi fw_compound fw_tcp_av; do
    python3 idle.py $algorithm >> windows
done
$F cc unload --all
"#,
    );
    shell.leaves_nothing();
    let windows = shell.file("windows");
    assert_eq!(windows.lines().count(), 4, "{windows}");
    for line in windows.lines() {
        let [before, after] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(before.parse::<u32>().expect("a number") > 40, "{windows}");
        assert_eq!(after, "10", "{windows}");
    }
}

/// A router between two namespaces lowers the path's MTU, and then drops all packets for a time.
/// Data is in flight both times, less than the window allows.
#[test]
fn a_lowered_path_mtu_leaves_the_window_and_a_timeout_does_not() {
    let Some(_lock) = may_load() else { return };
    let mut shell = Shell::start(
        r#"
a=fwcc-a-$$ b=fwcc-b-$$ r=fwcc-r-$$
end() { for one in "$a" "$b" "$r"; do ip netns del "$one" || true; done; $F cc unload --all; }
trap end EXIT
for one in "$a" "$b" "$r"; do ip netns add "$one"; ip -n "$one" link set lo up; done
ip -n "$a" link add va type veth peer name va netns "$r"
ip -n "$b" link add vb type veth peer name vb netns "$r"
ip -n "$a" addr add 10.8.0.1/24 dev va; ip -n "$r" addr add 10.8.0.2/24 dev va
ip -n "$b" addr add 10.9.0.1/24 dev vb; ip -n "$r" addr add 10.9.0.2/24 dev vb
for one in va vb; do ip -n "$r" link set $one up; done
ip -n "$a" link set va up; ip -n "$b" link set vb up
# With the usual minimum of 200 ms a busy machine might delay an ACK for longer than the timeout.
ip -n "$a" route add default via 10.8.0.2 rto_min 2s; ip -n "$b" route add default via 10.9.0.2
ip netns exec "$r" sysctl -q net.ipv4.ip_forward=1
# The commands of the router take a while, which shall not count as an idle time.
ip netns exec "$a" sysctl -q net.ipv4.tcp_slow_start_after_idle=0
ip netns exec "$b" busybox nc -ll -p 9 -e sh -c 'cat > /dev/null' > sink & sink=$!
await listens "$b" 9
cat > send.py <<'END'
import socket, struct, subprocess, sys
TCP = socket.IPPROTO_TCP
_, router, algorithm, mtu = sys.argv
def within(*command): subprocess.run(['ip', 'netns', 'exec', router, *command], check=True)
client = socket.socket()
client.setsockopt(TCP, socket.TCP_CONGESTION, algorithm.encode())
client.setsockopt(TCP, socket.TCP_NODELAY, 1)
client.connect(('10.9.0.1', 9))
# Offsets in struct tcp_info.
def info(at): return struct.unpack_from('I', client.getsockopt(TCP, socket.TCP_INFO, 104), at)[0]
def timeouts(): return client.getsockopt(TCP, socket.TCP_INFO, 104)[2]
def unacked(): return info(24)
def window(): return info(80) * info(16)
def retransmissions(): return info(100)
def send():
    client.sendall(bytes(20_000))
while window() <= 200_000: client.sendall(bytes(1 << 20))
while unacked(): pass
windows = [window()]
within('ip', 'link', 'set', 'vb', 'mtu', mtu)
send()
while unacked(): assert not timeouts(), 'the router was too slow'
assert retransmissions()
windows.append(window())
hook = '{ type filter hook forward priority 0; policy drop; }'
within('nft', 'add table ip t; add chain ip t c ' + hook)
send()
while not timeouts(): pass
within('nft', 'delete table ip t')
while unacked(): pass
print(*windows, window())
END
$F cc load fw_ackloss_reno fw_ackloss_cubi fw_compound fw_tcp_av
mtu=1400
for algorithm in fw_ackloss_reno fw_ackloss_cubi fw_compound fw_tcp_av; do
    ip netns exec "$a" python3 send.py "$r" $algorithm $mtu >> windows
    mtu=$((mtu - 100))
done
kill $sink; trap - EXIT; end
"#,
    );
    shell.leaves_nothing();
    let windows = shell.file("windows");
    assert_eq!(windows.lines().count(), 4, "{windows}");
    for line in windows.lines() {
        let cells: Vec<u32> = line.split(' ').map(|cell| cell.parse().expect("a number")).collect();
        let [before, lowered, timed_out] = cells[..] else { panic!("{line}") };
        assert!(lowered > before / 2 && timed_out < before / 2, "{windows}");
    }
}
