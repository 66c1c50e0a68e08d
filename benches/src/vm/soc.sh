#!/bin/busybox sh
# The first process of the guest: an access point with WPA2 and three stations, each in a network
# namespace of its own, over radios of mac80211_hwsim. Lines that begin with "SOC " are for the page.
/bin/busybox mount -t proc proc /proc 2> /dev/null
MARK=SOC
. /radios.sh
tc() { /bin/tc "$@"; }
for module in virtio_ring virtio libarc4 rfkill cfg80211 mac80211 ctr ccm gf128mul ghash-generic gcm cmac sch_hfsc sch_htb cls_u32 sch_codel sch_fq sch_sfq sch_pie sch_cake sch_tbf sch_prio veth tun sch_ingress act_mirred; do
    insmod /modules/$module.ko
done
insmod /modules/mac80211_hwsim.ko radios=5
# Signal of station $1 at the access point on radio 0, in dBm, after it has sent something.
signal() {
    in_station $1 ping -c 2 10.77.0.1 > /dev/null || return 1
    iw dev wlan0 station get $(mac $1) | sed -n 's/^.*signal:[^-]*\(-[0-9]*\).*/\1/p'
}
# What `fairwave soc status` says of the station with address $1: its SoC, weight and source.
told() {
    fairwave soc status --interface wlan0 | sed -n "s/^ *$1 *\([-0-9.]*\) dB  weight \([0-9.]*\)  (\([a-z]*\).*/\1 \2 \3/p"
}
# Whether the station with address $1 is told at $2 dB, give or take one, by the source $3.
is_told() { set -- "$2" "$3" $(told $1); [ "$5" = "$2" ] && near $3 $1 1; }
# The SoC in dB of the newest decision by a report of station 1.
reported() { sed -n "s/.*$first gets weight .*: it reports \(.*\) dB/\1/p" ap.err | tail -1; }
is_reported() { near "$(reported)" $1 1; }
# Whether the access point on interface $1 takes the SoC of station 1 from its reports.
is_reported_to() { fairwave soc status --interface $1 | grep -q "$first .*(report"; }
# The policy pw: lines through (0 dB, 0) (4, 0.2) (10, 0.8) (14, 1).
pw() {
    awk "BEGIN { s = $1; print s <= 0 ? 0 : s <= 4 ? s * 0.05 : s <= 10 ? 0.2 + (s - 4) * 0.1 : s <= 14 ? 0.8 + (s - 10) * 0.05 : 1 }"
}
traffic_control() { for what in qdisc class filter; do tc $what show dev wlan0; done; }
is_restored() { [ "$(traffic_control)" = "$untouched" ]; }
received() { in_station $1 cat /sys/class/net/wlan$1/statistics/rx_bytes; }
has_left() { ! iw dev wlan0 station get $(mac $1); }
has_joined() { iw dev $1 station get $2; }

# The access point's agent, and one station that reports. The two others are clients without our
# program, which the access point weighs by its own view.
loop() {
    first=$(mac 1) second=$(mac 2) third=$(mac 3)
    say "# The loop: station 1 reports, the others do not have our program"
    level 0 14 && level 2 10 && level 3 4 || return 1
    # The driver's average of a station's signal moves with the frames that it sends.
    for number in 2 3; do
        in_station $number bash -c 'for n in {1..100}; do echo > /dev/udp/10.77.0.1/9; done' || return 1
    done
    untouched=$(traffic_control)
    head -c 32 /dev/urandom | base64 > net.key
    fairwave soc key --key net.key --station $first > sta1.key || return 1
    show fairwave soc ap --interface wlan0 --plan || return 1
    fairwave soc ap --interface wlan0 --key net.key --rate '4 Mbps' --policy pw > ap.out 2> ap.err & ap=$!
    /bin/ip netns exec sta1 fairwave-agent station --interface wlan1 --key sta1.key --interval '1 s' > sta.out 2> sta.err & reporter=$!
    await 30 is_told $first 14 report || { cat ap.err sta.err; return 1; }
    await 30 is_told $second 10 view || return 1
    await 30 is_told $third 4 view || return 1
    show fairwave soc status --interface wlan0
    for station in $first $second $third; do
        told $station > now; read soc weight source < now
        say "$station: SoC $soc dB by $source, weight $weight; the policy says $(pw $soc)"
        near $weight $(pw $soc) 0.02 || return 1
    done
}

# The radio of the access point becomes weaker and stronger for all stations.
follows() {
    say "# SoC follows the radio within two intervals (T_soc = 1 s); the check itself takes up to 0.2 s"
    for level in 10 4 14; do
        level 0 $level || return 1
        began=$(seconds)
        await 10 is_reported $level || return 1
        ended=$(seconds)
        say "$(awk "BEGIN { print $ended - $began }") s later the access point acts by a report of $(reported) dB"
        near $ended $began 2.2 || return 1
    done
    await 10 is_told $first 14 report
}

# What there is to share by, and what is taken.
chooses() {
    say "# Airtime weights are refused by this driver, and HFSC takes their place"
    show iw dev wlan0 station set $(mac 1) airtime_weight 512 && return 1
    show fairwave-agent ap --interface wlan0 --plan || return 1
    fairwave-agent ap --interface wlan0 --plan --json > planned
    grep -q '"airtime":false' planned && grep -q '"actuator":"hfsc"' planned || { cat planned; return 1; }
    head -c 32 /dev/urandom | base64 > net.key
    show fairwave-agent ap --interface wlan0 --key net.key --rate '4 Mbps' --actuator airtime && return 1
    grep -q "the driver does not schedule airtime by weights" shown
}

# Shares of datagrams for addresses that no station answers from: three senders that write to bash's
# descriptor 3 as $1 says.
FLOOD="exec dd if=/dev/zero bs=1200 >&3"
TWO_MBPS="while :; do dd if=/dev/zero bs=1200 count=21 >&3; usleep 100000; done"
shares() {
    senders=
    ip route add 10.77.1.0/24 dev wlan0 2> /dev/null
    for number in 1 2 3; do
        ip neigh replace 10.77.1.$number lladdr $(mac $number) dev wlan0 nud permanent
        bash -c "exec 3> /dev/udp/10.77.1.$number/9; $1" 2> /dev/null &
        senders="$senders $!"
    done
    sleep 3
    began=$(seconds)
    for number in 1 2 3; do eval before$number=$(received $number); done
    sleep 15
    # All counts first: asking for a weight takes this machine a part of a second.
    for number in 1 2 3; do eval after$number=$(received $number); done
    ended=$(seconds)
    for number in 1 2 3; do eval echo \$after$number \$before$number $(told $(mac $number)); done > counts
    kill $senders
    awk -v lasted=$(awk "BEGIN { print $ended - $began }") '{ bytes[NR] = $1 - $2; weight[NR] = $4; all += bytes[NR]; weights += weight[NR] }
        END {
            printf "SOC all: %.2f Mbps in %.0f s\n", all * 8e-6 / lasted, lasted
            for (n = 1; n <= NR; n++) {
                share = bytes[n] / all; due = weight[n] / weights
                printf "SOC station %d: %.1f %% of the bytes, %.1f %% of the weights\n", n, share * 100, due * 100
                if (NR != 3 || share > due * 1.05 || share < due * 0.95) failed = 1
            }
            exit failed
        }' counts || { cat counts; return 1; }
}

# Our own scheduler in user space at a radio with WPA2, killed without notice. Its agent takes the
# place of the other for a while. No full queue stops a sender here, and three that flood would leave
# this guest no time to forward: these offer six times the rate.
plane() {
    say "# Our own scheduler in user space: shares of UDP within 5 %, and nothing of it stays"
    kill -INT $ap; wait $ap
    await 10 is_restored || return 1
    everything > all_before
    show fairwave-agent ap --interface wlan0 --plan --actuator user-space || return 1
    fairwave-agent ap --interface wlan0 --key net.key --rate '1 Mbps' --policy pw --actuator user-space > ap.out 2> ap.err & ap=$!
    await 30 is_told $first 14 report || { cat ap.err; return 1; }
    await 30 is_told $second 10 view || return 1
    await 30 is_told $third 4 view || return 1
    for number in 1 2 3; do show ip netns exec sta$number ping -c 2 10.77.0.1 || return 1; done
    shares "$TWO_MBPS" || return 1
    fairwave-agent status --json | grep -o '"frames":{[^}]*}' > frames; sed 's/^/SOC /' frames
    grep -q '"sent":[1-9]' frames || return 1
    show /bin/tc filter show dev wlan0 egress
    kill -KILL $ap; wait $ap
    await 10 is_all_as_before || { everything; return 1; }
    say "after SIGKILL nothing of it is left"
    fairwave soc ap --interface wlan0 --key net.key --rate '4 Mbps' --policy pw > ap.out 2> ap.err & ap=$!
    await 30 is_told $first 14 report
}
everything() { traffic_control; /bin/tc filter show dev wlan0 egress; ip link; ip address | grep -v valid_lft; ip route; }
is_all_as_before() { everything | cmp -s - all_before; }

# The agent is killed without notice; what it has set goes with it.
killed() {
    say "# SIGKILL of the access point's agent leaves the interface as it was"
    say "before it began:"; echo "$untouched" | sed 's/^/SOC /'
    say "while it runs:"; tc class show dev wlan0 | sed 's/^/SOC /'
    is_restored && { say "nothing is set"; return 1; }
    kill -KILL $ap; wait $ap
    await 10 is_restored || return 1
    say "after SIGKILL:"; traffic_control | sed 's/^/SOC /'
}

# What somebody set at the interface comes back when the agent is gone, if it can.
replaces() {
    say "# Qdiscs of somebody else that --replace would put back"
    for kind in fq_codel codel fq sfq pie cake "cake bandwidth 20mbit" "tbf rate 20mbit burst 10k latency 50ms" prio; do
        tc qdisc add dev wlan0 root handle 7: $kind || return 1
        fairwave-agent ap --interface wlan0 --plan --replace --json > planned || { cat planned; return 1; }
        why=$(sed -n 's/.*"obstacle":"\([^"]*\)".*/\1/p' planned)
        say "$kind: ${why:-it comes back}"
        case $kind in tbf*) [ -z "$why" ] || return 1;; esac
        tc qdisc del dev wlan0 root
    done
    say "tbf, before, while the agent runs, and after SIGKILL:"
    tc qdisc add dev wlan0 root handle 7: tbf rate 20mbit burst 10k latency 50ms
    tc qdisc show dev wlan0 root > before; sed 's/^/SOC /' before
    fairwave-agent ap --interface wlan0 --key net.key --rate '4 Mbps' --replace > ap.out 2> ap.err & ap=$!
    await 10 has_class || { cat ap.err; return 1; }
    tc qdisc show dev wlan0 root | sed 's/^/SOC /'
    kill -KILL $ap; wait $ap
    await 10 is_as_before || return 1
    tc qdisc show dev wlan0 root | sed 's/^/SOC /'
    tc qdisc del dev wlan0 root
}
has_class() { tc class show dev wlan0 | grep -q "5343:"; }
is_as_before() { tc qdisc show dev wlan0 root | cmp -s - before; }

# What classes and changes of weights cost.
cost() {
    say "# What a datagram costs the sender: median (least to most) of 5"
    ip link add v0 type veth peer name v1 netns sta3
    ip address add 10.78.0.1/24 dev v0; ip link set v0 up; ip netns exec sta3 ip link set v1 up
    ip neigh add 10.78.0.2 lladdr $(ip netns exec sta3 cat /sys/class/net/v1/address) dev v0 nud permanent
    : > costs
    for turn in 1 2 3 4 5; do
        tc qdisc add dev v0 root pfifo limit 1000
        echo "pfifo 0 $(sent_ns)" >> costs
        tc qdisc del dev v0 root
        for way in "htb 1000" "hfsc 1000" "hfsc 200" "hfsc 20"; do
            set -- $way
            echo 14 > level
            fairwave-agent ap --interface v0 --key net.key --rate '10 Gbps' --actuator $1 --pace '10 ms' --quiet > ap.out 2> ap.err & ap=$!
            /bin/ip netns exec sta3 fairwave-agent station --interface v1 --key net.key --snr-from level --interval "$2 ms" --quiet > sta.out 2> sta.err & reporter=$!
            await 20 is_on_v0 || { cat ap.err sta.err; return 1; }
            changing=
            [ $2 = 1000 ] || { bash -c 'while :; do echo $((RANDOM % 13 + 1)) > level.new; mv level.new level; usleep '$2'000; done' & changing=$!; }
            echo "$1 $2 $(sent_ns)" >> costs
            [ -z "$changing" ] || kill $changing
            kill -INT $reporter $ap; wait $reporter $ap
        done
    done
    sort -k1,1 -k2,2n -k3,3n costs | awk '
        { key = $1 " " $2; if (key != before) { order[++keys] = key; n[key] = 0; before = key } value[key, ++n[key]] = $3 }
        END {
            for (k = 1; k <= keys; k++) {
                key = order[k]; split(key, word, " ")
                what = word[2] == 0 ? "" : ", a report each " word[2] " ms" (word[2] < 1000 ? " and changes of weights" : "")
                printf "SOC %s%s: %d ns (%d to %d)\n", word[1], what, value[key, 3], value[key, 1], value[key, 5]
            }
        }'
}
# The agent is killed at many moments of its set-up, and while it changes weights.
killed_often() {
    say "# SIGKILL at any moment of set-up and of changes: HFSC on a pair of veth"
    before=$(all_of v0)
    found=0
    for moment in 0 10 20 50 100 200 300 500 800 1200; do
        ap_on_v0
        usleep ${moment}000
        kill_ap || return 1
    done
    say "10 kills at 0 to 1.2 s after the start, of which $found found its qdisc: all is as before"
    found=0
    echo 14 > level
    bash -c 'while :; do echo $((RANDOM % 13 + 1)) > level.new; mv level.new level; usleep 10000; done' & changing=$!
    for turn in 1 2 3 4 5 6 7 8; do
        ap_on_v0
        /bin/ip netns exec sta3 fairwave-agent station --interface v1 --key net.key --snr-from level --interval '20 ms' --quiet > sta.out 2> sta.err & reporter=$!
        await 20 is_on_v0 || { cat ap.err sta.err; return 1; }
        usleep $((100 + turn * 7))000
        kill_ap || return 1
        kill -INT $reporter; wait $reporter
    done
    kill $changing
    say "8 kills while weights change 50 times a second, of which $found found its qdisc: all is as before"
    [ $found = 8 ]
}
all_of() { for what in qdisc class filter; do tc $what show dev $1; done; }
ap_on_v0() { fairwave-agent ap --interface v0 --key net.key --rate '10 Gbps' --actuator hfsc --pace '1 ms' --quiet > ap.out 2> ap.err & ap=$!; }
# Kills it, and waits until nothing is left of it.
kill_ap() {
    tc qdisc show dev v0 | grep -q "hfsc 5343:" && found=$((found + 1))
    kill -KILL $ap; wait $ap
    await 10 is_as_found || { say "this is left:"; all_of v0 | sed 's/^/SOC /'; return 1; }
}
is_as_found() { [ "$(all_of v0)" = "$before" ]; }
is_on_v0() { tc class show dev v0 | grep -q "5343:10"; }
# Processor time of a sender for a datagram of 100 bytes over a pair of veth, in ns.
sent_ns() { bash -c 'TIMEFORMAT="%U %S"; { time dd if=/dev/zero bs=100 count=10000 2> /dev/null > /dev/udp/10.78.0.2/9; } 2>&1' | awk '{ printf "%.0f", ($1 + $2) * 1e5 }'; }

run() {
    say "kernel $(uname -r)"
    access_point 0 1 || return 1
    ip address add 10.77.0.1/24 dev wlan0
    for number in 1 2 3; do station $number || return 1; done
    say "three stations are associated $(seconds) s after power-on"
    for number in 1 2 3; do
        show ip netns exec sta$number ping -c 2 10.77.0.1 || return 1
    done
    show iw dev wlan0 station dump || return 1

    say "# Signal follows the power that a station sends with"
    for power in 2000 1500 1000; do
        show ip netns exec sta1 iw dev wlan1 set txpower fixed $power || return 1
        now=$(signal 1); say "signal of station 1: $now dBm, of station 2: $(signal 2) dBm"
        [ $power = 2000 ] && strong=$now
    done
    [ $((strong - now)) = 10 ] || { say "10 dB less power, but $((strong - now)) dB less signal"; return 1; }

    say "# What Fairwave reads of the same radio"
    show radio-run wlan0 || return 1
    radio-run wlan0 > seen
    for number in 1 2 3; do grep -q "^$(mac $number) signal" seen || return 1; done
    grep -q "a stranger is asked for: None" seen && grep -q "is asked for: Some(" seen || return 1
    grep -q "^$(mac 1) signal Some($now) dBm" seen || { say "another signal than iw's"; return 1; }
    chooses || return 1

    loop || return 1
    follows || return 1
    say "# Shares of saturating UDP follow the weights within 5 %"
    shares "$FLOOD" || return 1

    plane || return 1

    say "# A roam of station 1 and the loss of station 2"
    say "The two access points are not bridged, so the old one learns of the roam only by the deauthentication."
    say "Station 1 is asked for a scan; it then roams by itself, as the new access point's signal is stronger."
    say "It had lost and found its listener before, when the parts above restarted the agent."
    access_point 4 6 || return 1
    fairwave-agent ap --interface wlan4 --key net.key --rate '4 Mbps' --dry-run > other.out 2> other.err & other_ap=$!
    radio-run wlan0 /run/hostapd0/wlan0 2 > events 2>&1 & watcher=$!
    await 10 grep -q 'is interface' events || { cat events; return 1; }
    other=$(cat /sys/class/net/wlan4/address)
    # wpa_supplicant chooses anew after each scan. Its command `roam` would fail until then, as it
    # does not know the new access point yet.
    show ip netns exec sta1 wpa_cli -p /run/wpa1 -i wlan1 scan
    await 30 has_joined wlan4 $(mac 1) || return 1
    say "station 1 has joined the new access point, $other"
    # Without a bridge the old access point finds out when the station does not answer, or by a
    # deauthentication.
    show hostapd_cli -p /run/hostapd0 -i wlan0 deauthenticate $(mac 1)
    in_station 2 wpa_cli -p /run/wpa2 -i wlan2 disconnect > /dev/null
    await 30 has_left 2 || return 1
    await 30 has_left 1 || return 1
    await 10 grep -q "hostapd: Left" events
    wait $watcher || { cat events; return 1; }
    show cat events
    await 10 grep -q "$other listens" sta.err || { say "nobody listens at the new access point"; return 1; }
    say "station 1 says:"; sed 's/^/SOC /' sta.err
    await 10 is_reported_to wlan4 || { cat other.err; return 1; }
    show fairwave soc status --interface wlan4
    say "the old access point says:"; grep "it left" ap.err | sed 's/^/SOC /'
    for station in $first $second; do
        grep -q "$station gets no share of its own: it left" ap.err || { say "$station has not left"; return 1; }
    done
    kill -INT $other_ap $reporter; wait $other_ap $reporter
    killed || return 1
    replaces || return 1
    cost || return 1
    killed_often || return 1
    say "ended after $(seconds) s"
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
sync; poweroff -f
