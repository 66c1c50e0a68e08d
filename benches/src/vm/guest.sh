#!/bin/busybox sh
# The first process of the guest: loads every algorithm, lets each carry data, unloads them all.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
hostname guest; ip link set lo up
echo "GUEST kernel $(uname -r)"
run() {
    fairwave cc load fw_ackloss_reno fw_ackloss_cubic fw_compound fw_ackloss_comp fw_literal_reno fw_literal_cubic \
        fw_literal_comp fw_tcp_av || return 1
    fairwave cc list
    iperf3 -s --forceflush > /tmp/server & server=$!
    until grep -q listening /tmp/server; do sleep 1; done
    fairwave cc target 127.0.0.0/8 --rate '50 Mbps' || return 1
    for algorithm in fw_ackloss_reno fw_ackloss_cubic fw_compound fw_ackloss_comp fw_literal_reno fw_literal_cubic \
        fw_literal_comp fw_tcp_av; do
        iperf3 -c 127.0.0.1 -C $algorithm -t 5 > /tmp/client 2>&1 & client=$!
        seen=0
        while kill -0 $client 2> /dev/null; do
            fairwave cc status --json | grep -q '"algorithm"' && seen=1
        done
        wait $client || { cat /tmp/client; return 1; }
        [ $seen = 1 ] || return 1
        echo "GUEST $algorithm seen=$seen $(grep receiver /tmp/client)"
    done
    kill $server; wait $server
    fairwave cc load fw_compound && return 1
    fairwave cc unload fw_compound || return 1
    fairwave cc load fw_compound --for 1s || return 1
    while grep -q fw_compound /proc/sys/net/ipv4/tcp_available_congestion_control; do sleep 1; done
    fairwave cc unload --all || return 1
    cat /proc/sys/net/ipv4/tcp_available_congestion_control
    ! grep -q fw_ /proc/sys/net/ipv4/tcp_available_congestion_control
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
sync; poweroff -f
