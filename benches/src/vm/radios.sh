# Sourced by the first process of a guest: radios of mac80211_hwsim, access points with WPA2 and
# stations in network namespaces of their own, and a wall clock that steps. $MARK begins the lines for the page.
/bin/busybox --install -s /bin 2> /dev/null
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp; mount -t tmpfs run /run; mount -t debugfs debug /sys/kernel/debug
hostname guest; ip link set lo up; cd /tmp
# Programs that busybox has too are taken from Debian's packages.
ip() { /bin/ip "$@"; }
say() { echo "$MARK $*"; }
# Runs a command and shows both it and what it prints.
show() {
    say "\$ $*"
    "$@" > /tmp/shown 2>&1; status=$?
    sed "s/^/$MARK /" /tmp/shown
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

# Access point number $1 on radio $1: its name of the network is the same for all. It is a port of
# the bridge $BRIDGE, if that is set.
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
${BRIDGE:+bridge=$BRIDGE}
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
# Lets the frames of radio $1 arrive at $2 dB over a noise of -95 dBm: their signal is the power, of at
# most 20 dBm, and a level of -100 dBm or more. Radio 0 is in no namespace.
level() {
    power=$(($2 + 5)); [ $power -le 20 ] || power=20
    printf %u $(($2 - 95 - power)) > /sys/kernel/debug/ieee80211/phy$1/hwsim/rx_rssi || return 1
    inside=; [ $1 = 0 ] || inside="ip netns exec sta$1"
    show $inside iw dev wlan$1 set txpower fixed $((power * 100))
}
# Signal of its access point at station $1 as `iw` reports it, in dBm.
link_signal() { in_station $1 iw dev wlan$1 link | sed -n 's/^.*signal: *\(-[0-9]*\) dBm.*/\1/p'; }
# The wall clock jumps an hour ahead and back, again and again, until the process ends.
step() {
    : > steps
    while :; do
        for seconds in 3600 -3600; do
            date -u -s "@$(($(date +%s) + seconds))" > /dev/null
            usleep 400000
        done
        echo step >> steps
    done
}
steps() { wc -l < steps; }
seconds() { cut -d' ' -f1 /proc/uptime; }
# Whether two numbers differ by at most a third one.
near() { awk "BEGIN { d = $1 - $2; exit !(d <= $3 && -d <= $3) }"; }
