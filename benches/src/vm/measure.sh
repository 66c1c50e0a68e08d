#!/bin/busybox sh
# The first process of the guest: `fairwave fairness` and `fairwave probe` over simulated radios,
# with a clock that steps. Lines that begin with "MEASURE " are for the page.
/bin/busybox mount -t proc proc /proc 2> /dev/null
MARK=MEASURE
. /radios.sh
export F=/bin/fairwave
for module in virtio_ring virtio libarc4 rfkill cfg80211 mac80211 ctr ccm gf128mul ghash-generic gcm cmac sch_tbf veth; do
    insmod /modules/$module.ko
done
insmod /modules/mac80211_hwsim.ko radios=3
CODE=acodeofthisguestonly
# The power of the access point in dBm: what its frames arrive with moves with it.
power() { iw dev wlan0 set txpower fixed $(($1 * 100)); }
# The station's run; $1 is its number, the rest are more options.
share() {
    number=$1; shift
    /bin/ip netns exec sta$number fairwave fairness run 10.77.0.1 --pairing $CODE --hosts 2 --name sta$number \
        -i 1 -C cubic "$@"
}
# All values of field $2 in the record of directory $1, in one line.
values() { sed -n "s/^ *\"$2\": \([-0-9.a-z]*\),*$/\1/p" $1/fairness.json | tr '\n' ' '; }

radio() {
    say "# Two stations share, and their radios tell of it on the same axis of time"
    fairwave fairness serve --listen 10.77.0.1:0 --pairing $CODE > served 2>&1 & server=$!
    await 10 grep -q Listening served || { cat served; return 1; }
    port=$(sed -n 's/.*:\([0-9]*\), TCP.*/\1/p' served)
    power 20
    for number in 1 2; do in_station $number ping -c 3 10.77.0.1 > /dev/null || return 1; done
    strong=$(link_signal 1)
    share 1 --port $port -t 20 --out one > said1 2> err1 & one=$!
    share 2 --port $port -t 20 --out two > said2 2> err2 & two=$!
    await 30 grep -q "Repetition 1" err1 || { cat err1 err2 served; return 1; }
    sleep 2
    power 10
    wait $one || { cat err1; return 1; }
    wait $two || { cat err2; return 1; }
    weak=$(link_signal 1)
    say "sta1 prints:"; sed "s/^/$MARK /" said1
    say "iw: the signal at sta1 was $strong dBm before the run and $weak dBm after it"
    say "signal of both stations by interval (dBm): $(values one signal_dbm)"
    say "rate of the last frame sent (Mbps): $(values one tx_mbps)"
    [ $((strong - weak)) = 10 ] || { say "the signal did not follow the power"; return 1; }
    # Both have twenty intervals, of which the first has the greater power. A guest that is short of
    # processor time misses beacons, and a station without its access point has no signal.
    set -- $(values one signal_dbm)
    [ $# = 40 ] && [ ${1%.*} = $strong ] || { say "not what iw saw"; return 1; }
    told() { values one signal_dbm | tr ' ' '\n' | grep -c "^$1"; }
    [ $(told $weak) -ge 10 ] && [ $(($(told $strong) + $(told $weak) + $(told null))) = 40 ] || { say "not what iw saw"; return 1; }
    set -- $(values one tx_mbps)
    [ $# = 40 ] || { say "the radio told no rates"; return 1; }
    grep -q "signal dBm" said1 || { say "no signal in words"; return 1; }
}

steady() {
    say "# A wall clock that steps does not move the intervals"
    step & stepping=$!
    share 1 --port $port -t 6 --out one > said1 2> err1 & one=$!
    share 2 --port $port -t 6 > said2 2> err2 & two=$!
    wait $one || { cat err1; return 1; }
    wait $two || { cat err2; return 1; }
    kill $stepping
    say "$(steps) times an hour ahead and back meanwhile; sta1 prints:"; sed "s/^/$MARK /" said1
    say "late (ms): $(values one late_ms); error of clocks (ms): $(values one clock_error_ms)"
    [ $(steps) -gt 5 ] || return 1
    for ms in $(values one late_ms) $(values one clock_error_ms); do near $ms 0 1000 || return 1; done
    kill $server
}

probed() {
    say "# A probe of a plain FIFO of 30 packets while the wall clock steps"
    DATA=/ RATE='3 Mbps'
    mkdir probed; cd probed
    step & stepping=$!
    . /probe-links.sh < /links > found-links 2> link-errors || { cat link-errors; return 1; }
    kill $stepping
    # The program prints JSON for people, with white space.
    sed -i 's/\([:,{]\) */\1/g; s/ *}/}/g' found-links
    say "$(steps) times an hour ahead and back meanwhile"
    sed -n "s/^LINK \([^|]*\)|.*\"kind\":\"\([a-z-]*\)\".*/\1: kind \2/p; s/.*\"buffer\":\({[^}]*}[^}]*}[^}]*}}\).*/\1/p; s/.*\"latency_ms\":\({[^}]*}[^}]*}[^}]*}[^}]*}}\).*/\1/p" found-links | sed "s/^/$MARK /"
    [ $(steps) -gt 5 ] || return 1
    grep -q '"kind":"packets"' found-links || { cat found-links; return 1; }
    count=$(sed -n 's/.*"packets":{[^}]*"value":\([0-9.]*\).*/\1/p' found-links)
    near $count 30 2 || { say "it counted $count packets"; return 1; }
}

carried() {
    say "# 10,000 idle and 1,000 active connections through one proxy"
    fairwave proxy --target '1 Gbps' --json > carried 2> proxy-errors & relay=$!
    await 10 grep -q "Targets are kept" proxy-errors || { cat proxy-errors; return 1; }
    before=$(memory $relay)
    say "the proxy may have $(sed -n 's/^Max open files *\([0-9]*\).*/\1/p' /proc/$relay/limits) files open"
    # This process has both ends of them.
    ulimit -n 40000 || return 1
    show relay-many 127.0.0.1:1080 10000 1000 5 || { cat proxy-errors; return 1; }
    after=$(memory $relay)
    say "the proxy's memory grew from $before to $after kB at most: $(((after - before) * 1024 / 11000)) bytes a connection"
    kill -TERM $relay; wait $relay || { cat proxy-errors; return 1; }
    say "it counted: $(grep -E '"(opened|broken|bytes_up|bytes_down)"' carried | tr -d '\n')"
    grep -q '"opened": 11000' carried && grep -q '"broken": 0' carried
}
# The most memory that a process has had, in kB.
memory() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$1/status; }

run() {
    say "kernel $(uname -r)"
    access_point 0 1 || return 1
    ip address add 10.77.0.1/24 dev wlan0
    for number in 1 2; do station $number || return 1; done
    say "two stations are associated $(seconds) s after power-on"
    show iw dev wlan0 station dump || return 1
    radio || return 1
    steady || return 1
    carried || return 1
    probed || return 1
    say "ended after $(seconds) s"
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
sync; poweroff -f
