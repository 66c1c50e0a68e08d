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
