#!/bin/busybox sh
# The first process of the guest: downloads by `fairwave shake` over a radio and a wired link of a
# station, while the clock steps, the machine is suspended, an address changes, and the radio's signal
# falls or the station roams. Lines that begin with "SHAKE " are for the page.
/bin/busybox mount -t proc proc /proc 2> /dev/null
MARK=SHAKE
. /radios.sh
for module in virtio_ring virtio libarc4 rfkill cfg80211 mac80211 ctr ccm gf128mul ghash-generic gcm cmac \
    veth sch_tbf llc stp bridge crc32c_generic libcrc32c nfnetlink nf_tables nf_defrag_ipv4 nf_defrag_ipv6 \
    nft_fib nft_fib_ipv4 nft_fib_ipv6 nft_fib_inet nf_tproxy_ipv4 nf_tproxy_ipv6 nf_socket_ipv4 nf_socket_ipv6 nft_tproxy nft_socket; do
    insmod /modules/$module.ko
done
insmod /modules/mac80211_hwsim.ko radios=3
BRIDGE=br0
PARTS="undisturbed steps_of_clock address falls suspended roams killed"
# The server's address is that of neither link, so that both lead to it.
SERVER=10.77.9.9
RATE=2mbit

# The access point and the server are in the first namespace, the client in that of station 1.
network() {
    ip link add $BRIDGE type bridge || return 1
    ip link set $BRIDGE up
    access_point 0 1 || return 1
    ip address add 10.77.0.1/24 dev $BRIDGE
    ip address add $SERVER/32 dev lo
    station 1 || return 1
    ip link add v0 type veth peer name v1 netns sta1 || return 1
    ip address add 10.78.0.1/24 dev v0; ip link set v0 up
    ip -n sta1 address add 10.78.0.2/24 dev v1; ip -n sta1 link set v1 up
    ip -n sta1 route add $SERVER via 10.77.0.1 dev wlan1 metric 10
    ip -n sta1 route add $SERVER via 10.78.0.1 dev v1 metric 11
    limit v0 && limit wlan0
}
# Downloads at this rate leave the emulated processor time for the rest.
limit() { /bin/tc qdisc replace dev $1 root tbf rate $RATE burst 10k limit 40k; }
# Everything in the station's namespace that a client could leave behind. The state of a link is not
# among it, nor the counts of its queue.
everything() {
    ip -n sta1 -o link | sed 's/<[^>]*>//; s/state [A-Z]*//; s/mode [A-Z]*//'; ip -n sta1 -o address | sed 's/valid_lft.*//' | grep -v fe80:
    for family in -4 -6; do ip -n sta1 $family rule; ip -n sta1 $family route show table all | sed 's, linkdown,,' | sort; done | grep -v -e fe80: -e ff00:
    in_station 1 /bin/tc qdisc show; in_station 1 nft list ruleset
}
is_as_before() { everything | cmp -s - /tmp/before; }

# The client, with more options. Its figures are in `connected` once it has ended.
connect() {
    /bin/ip netns exec sta1 fairwave shake connect $SERVER --key shake.key --via wlan1 --via v1 --json \
        --tproxy 1081 --tproxy-for 10.79.0.0/24 --prometheus 127.0.0.1:9439 > connected 2> connect.err & client=$!
    await 60 grep -q SOCKS5 connect.err || { cat connected connect.err; return 1; }
}
# Field $2 of path $1 in the client's figures.
of_path() { awk -v path="\"$1\"," -v field="\"$2\":" '$1 == "\"via\":" { on = $2 == path } on && $1 == field { sub(",", "", $2); print $2; exit }' connected; }
# Value of the client's metric $1 of path wlan1 while it runs.
metric() { in_station 1 curl -sf http://127.0.0.1:9439/metrics | sed -n "s/^fairwave_shake_$1{.*wlan1.*} //p"; }
# A download of $1 MB through the client's SOCKS5 port. Its size is noted about ten times a second, with
# the time since the guest was started, in `sizes`; its exit code and end in `ended`.
download() {
    rm -f got ended
    head -c ${1}000000 /dev/urandom > /tmp/served/file
    { in_station 1 curl -sf --proxy socks5h://127.0.0.1:1080 http://$SERVER:8000/file -o got; echo "$? $(seconds)" > ended; } &
    { while [ ! -e ended ]; do echo "$(seconds) $(size)"; usleep 100000; done > sizes; } &
    await 60 is_beyond 200000
}
size() { stat -c %s got 2> /dev/null || echo 0; }
since() { awk "BEGIN { print $(seconds) - $1 }"; }
is_beyond() { [ $(size) -gt $1 ]; }
# The download goes on after what has happened: it gets $1 bytes more.
goes_on() { await 120 is_beyond $(($(size) + $1)); }
# Bytes that a path of the station has received.
received() { in_station 1 cat /sys/class/net/$1/statistics/rx_bytes; }
has_received() { [ $(received $1) -gt $2 ]; }
# The interface $1 carries $2 more bytes to the station.
carries() { await 120 has_received $1 $(($(received $1) + $2)); }
is_noted() { tail -n +$((${2:-0} + 1)) connect.err | grep -q "$1"; }
notes() { wc -l < connect.err; }
# The download ends, and so does the client: the sum is right, or there was an error in bounded time.
ends() {
    await 300 test -e ended || { cat connect.err; return 1; }
    read code at < ended
    last=$(awk '$2 > size { size = $2; at = $1 } END { print at }' sizes)
    say "curl ended with $code, $(awk "BEGIN { print $at - $last }") s after the last bytes of $(size)"
    # The first bytes are not those after a pause.
    say "longest pause of the file: $(awk 'NR > 1 && $2 > size { pause = $1 - at; if (size > 0 && pause > most) { most = pause; from = at }; size = $2; at = $1 }
        END { printf "%.1f s, from %.1f s on", most, from }' sizes)"
    kill -TERM $client; wait $client || { cat connect.err; return 1; }
    sed "s/^/$MARK /" connect.err
    for path in wlan1 v1; do
        say "$path: $(for field in is_up priority bytes_received rtt_ms loss signal_dbm tx_mbps tx_frames retries given_up; do echo -n "$field $(of_path $path $field)  "; done)"
    done
    say "$(grep -E '"(connections|failed|sessions)"' connected | tr -d ' \n')"
    await 20 is_as_before || { everything | diff /tmp/before - | sed "s/^/$MARK /"; return 1; }
    say "no rule, route or address is left"
    [ $code = 0 ] && [ "$(sha256sum < got)" = "$(sha256sum < served/file)" ] || { say "the file is not right"; return 1; }
    for field in signal_dbm tx_mbps retries; do
        [ -n "$(of_path wlan1 $field)" ] || { say "no $field"; return 1; }
    done
}

undisturbed() {
    say "# Both links, undisturbed"
    connect && download 4 || return 1
    ends
}

steps_of_clock() {
    say "# The wall clock steps an hour ahead and back"
    connect && download 6 || return 1
    step & stepping=$!
    await 300 test -e ended || return 1
    kill $stepping; wait $stepping 2> /dev/null
    say "$(steps) times meanwhile"
    [ $(steps) -gt 3 ] || return 1
    ends
}

# The alarm of the clock on the board wakes the guest up 20 s later. Access point and station forget
# each other in a suspend, and the access point is started anew.
suspended() {
    say "# The machine is suspended to RAM for 20 s"
    connect && download 12 || return 1
    alarm=/sys/class/rtc/rtc0/wakealarm
    echo 0 > $alarm; echo +20 > $alarm || return 1
    asleep=$(seconds)
    echo mem > /sys/power/state || { say "refused"; return 1; }
    say "awake $(since $asleep) s later"
    goes_on 200000 || return 1
    say "200 kB more have come $(since $asleep) s after the beginning of the suspend"
    await 30 is_noted "wlan1 cannot be used" || return 1
    known=$(notes)
    for task in disable enable; do show hostapd_cli -p /run/hostapd0 -i wlan0 $task || return 1; done
    await 120 is_noted "wlan1 can be used" $known || return 1
    limit wlan0
    carries wlan1 300000 || return 1
    ends
}

address() {
    say "# The wired link gets another address"
    connect && download 8 || return 1
    ip -n sta1 address del 10.78.0.2/24 dev v1
    ip -n sta1 address add 10.78.0.9/24 dev v1
    ip -n sta1 route add $SERVER via 10.78.0.1 dev v1 metric 11
    carries v1 500000 || return 1
    ip -n sta1 address del 10.78.0.9/24 dev v1
    ip -n sta1 address add 10.78.0.2/24 dev v1
    ip -n sta1 route add $SERVER via 10.78.0.1 dev v1 metric 11
    carries v1 500000 || return 1
    ends
}

# The radio of the access point becomes weaker, by 2 dB a second, and is then out of range: it is put
# into another group, whose radios do not reach station 1.
falls() {
    say "# The radio's signal falls until the link is lost, and comes back"
    connect && download 16 || return 1
    for db in 40 32 28 26 24 22 20 18 16 14 12 10 8; do
        level 0 $db > /dev/null || return 1
        sleep 1
        say "iw: $(link_signal 1) dBm; the client: $(metric path_signal_dbm) dBm, up $(metric path_up)"
    done
    await 20 is_noted "at risk" || return 1
    echo 2 > /sys/kernel/debug/ieee80211/phy0/hwsim/group
    away=$(seconds)
    await 60 is_noted "wlan1 cannot be used" || return 1
    say "the link was down $(since $away) s after it was out of range"
    known=$(notes)
    goes_on 500000 || return 1
    echo 1 > /sys/kernel/debug/ieee80211/phy0/hwsim/group
    level 0 65 > /dev/null
    await 120 is_noted "wlan1 can be used" $known || return 1
    carries wlan1 500000 || return 1
    ends
}

roams() {
    say "# The station roams to another access point, and is disconnected for a while"
    access_point 2 6 || return 1
    limit wlan2
    other=$(cat /sys/class/net/wlan2/address)
    connect && download 16 || return 1
    await 60 knows $other || return 1
    show in_station 1 wpa_cli -p /run/wpa1 -i wlan1 roam $other || return 1
    await 60 has_joined wlan2 $(mac 1) || return 1
    carries wlan1 500000 || return 1
    known=$(notes)
    show in_station 1 wpa_cli -p /run/wpa1 -i wlan1 disconnect
    await 30 is_noted "wlan1 cannot be used" $known || return 1
    goes_on 300000 || return 1
    known=$(notes)
    show in_station 1 wpa_cli -p /run/wpa1 -i wlan1 reconnect
    await 60 is_noted "wlan1 can be used" $known || return 1
    carries wlan1 300000 || return 1
    ends
}
# Whether the station has found the access point $1. A scan may be refused while another one goes on.
knows() { in_station 1 wpa_cli -p /run/wpa1 -i wlan1 scan > /dev/null; in_station 1 wpa_cli -p /run/wpa1 -i wlan1 scan_results | grep -q $1; }
has_joined() { iw dev $1 station get $2; }

killed() {
    say "# SIGKILL of the client leaves nothing behind"
    connect || return 1
    in_station 1 nft list tables | sed "s/^/$MARK /"; ip -n sta1 rule | sed "s/^/$MARK /"
    is_as_before && { say "nothing is set"; return 1; }
    kill -KILL $client; wait $client
    await 20 is_as_before || { everything | diff /tmp/before - | sed "s/^/$MARK /"; return 1; }
    say "all is as before"
}

run() {
    say "kernel $(uname -r)"
    network || return 1
    say "the station is associated $(seconds) s after power-on"
    everything > before
    mkdir served; httpd -p $SERVER:8000 -h /tmp/served || return 1
    fairwave shake pair --key shake.key > /dev/null || return 1
    fairwave shake serve --listen $SERVER --key shake.key > served.out 2> served.err & server=$!
    for part in $PARTS; do
        $part || { cat served.err; dmesg | tail -20; return 1; }
    done
    say "ended after $(seconds) s"
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
# After a suspend to RAM the guest cannot turn QEMU off; QEMU ends at a reboot, too.
sync; reboot -f
