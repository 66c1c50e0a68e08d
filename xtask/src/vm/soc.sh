#!/bin/busybox sh
# The first process of the guest: an access point with WPA2 and three stations, each in a network
# namespace of its own, over radios of mac80211_hwsim. Lines that begin with "SOC " are for the page.
/bin/busybox --install -s /bin 2> /dev/null
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp; mount -t tmpfs run /run; mount -t debugfs debug /sys/kernel/debug
hostname guest; ip link set lo up; cd /tmp
# Programs that busybox has too are taken from Debian's packages.
ip() { /bin/ip "$@"; }
for module in virtio_ring virtio libarc4 rfkill cfg80211 mac80211 ctr ccm gf128mul ghash-generic gcm cmac sch_hfsc; do
    insmod /modules/$module.ko
done
insmod /modules/mac80211_hwsim.ko radios=5
say() { echo "SOC $*"; }
# Runs a command and shows both it and what it prints.
show() {
    say "\$ $*"
    "$@" > /tmp/shown 2>&1; status=$?
    sed 's/^/SOC /' /tmp/shown
    return $status
}
# Waits for a state, at most as many seconds as the first argument says.
await() {
    left=$(($1 * 10)); shift
    until "$@" > /dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || { say "waited in vain: $*"; return 1; }
        usleep 100000
    done
}
in_station() { number=$1; shift; ip netns exec sta$number "$@"; }

# Access point number $1 on radio $1: its name of the network is the same for all.
access_point() {
    cat > ap$1.conf << END
interface=wlan$1
ctrl_interface=/run/hostapd$1
ssid=fairwave
hw_mode=g
channel=$2
wmm_enabled=1
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=strength of connection
END
    hostapd ap$1.conf > ap$1.log 2>&1 &
    await 30 grep -q AP-ENABLED ap$1.log || { cat ap$1.log; return 1; }
}
# Station $1 with radio $1.
station() {
    ip netns add sta$1 || return 1
    iw phy phy$1 set netns name sta$1 || return 1
    cat > sta$1.conf << END
ctrl_interface=/run/wpa$1
network={
    ssid="fairwave"
    psk="strength of connection"
    scan_freq=2412 2437
}
END
    in_station $1 ip link set lo up
    in_station $1 ip address add 10.77.0.$((10 + $1))/24 dev wlan$1
    in_station $1 wpa_supplicant -i wlan$1 -c sta$1.conf > sta$1.log 2>&1 &
    await 60 grep -q CTRL-EVENT-CONNECTED sta$1.log || { cat sta$1.log; return 1; }
}
mac() { in_station $1 cat /sys/class/net/wlan$1/address; }
# Signal of station $1 at the access point on radio 0, in dBm, after it has sent something.
signal() {
    in_station $1 ping -c 2 10.77.0.1 > /dev/null || return 1
    iw dev wlan0 station get $(mac $1) | sed -n 's/^.*signal:[^-]*\(-[0-9]*\).*/\1/p'
}
seconds() { cut -d' ' -f1 /proc/uptime; }
has_left() { ! iw dev wlan0 station get $(mac $1); }
has_joined() { iw dev $1 station get $2; }

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
    grep -q "^$(mac 1) signal Some($now) dBm" seen || { say "another signal than iw's"; return 1; }
    show iw dev wlan0 station set $(mac 1) airtime_weight 512

    say "# A roam of station 1 and the loss of station 2"
    access_point 4 6 || return 1
    radio-run wlan0 /run/hostapd0/wlan0 2 > events 2>&1 & watcher=$!
    await 10 grep -q 'is interface' events || { cat events; return 1; }
    # The signal of all frames that the first radio sends becomes weak for those who listen.
    in_station 1 wpa_cli -p /run/wpa1 -i wlan1 scan > /dev/null
    await 20 grep -q CTRL-EVENT-SCAN-RESULTS sta1.log
    other=$(cat /sys/class/net/wlan4/address)
    await 20 in_station 1 wpa_cli -p /run/wpa1 -i wlan1 bss $other
    show ip netns exec sta1 wpa_cli -p /run/wpa1 -i wlan1 roam $other
    await 30 has_joined wlan4 $(mac 1) || return 1
    # Where the networks are not bridged, the old access point is not told of the roam: it finds
    # out when the station does not answer, or is told by a deauthentication.
    show hostapd_cli -p /run/hostapd0 -i wlan0 deauthenticate $(mac 1)
    in_station 2 wpa_cli -p /run/wpa2 -i wlan2 disconnect > /dev/null
    await 30 has_left 2 || return 1
    await 30 has_left 1 || return 1
    await 10 grep -q "hostapd: Left" events
    wait $watcher || { cat events; return 1; }
    show cat events
    say "ended after $(seconds) s"
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
sync; poweroff -f
