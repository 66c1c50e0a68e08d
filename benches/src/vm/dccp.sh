#!/bin/busybox sh
# The first process of the guest: our DCCP and that of Debian's kernel 6.1 speak with each other, in two
# network namespaces that a pair of veth joins. Lines that begin with "DCCP " are for the page.
/bin/busybox --install -s /bin 2> /dev/null
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tmpfs run /run; mkdir -p /etc
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' > /etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' > /etc/group
hostname guest; cd /tmp
ip() { /bin/ip "$@"; }
for module in veth sch_netem crc32c_generic libcrc32c nfnetlink nf_tables dccp dccp_ipv4 dccp_ipv6; do insmod /modules/$module.ko; done
say() { echo "DCCP $*"; }
# In the background `ip` is called itself, so that signals go to the program and not to a shell.
ours() { ip netns exec ours "$@"; }
theirs() { ip netns exec theirs "$@"; }
# Waits for a line in a file, at most ten seconds.
await() {
    left=100
    until grep -q "$1" "$2" 2> /dev/null; do
        left=$((left - 1)); [ $left -gt 0 ] || { say "waited in vain for '$1' in $2"; cat "$2"; return 1; }
        usleep 100000
    done
}
SECONDS_EACH=20
SIZE=1400
MARK=33

network() {
    for name in ours theirs; do ip netns add $name; ip -n $name link set lo up; done
    ip link add v0 netns ours type veth peer name v1 netns theirs
    for end in "ours v0 1" "theirs v1 2"; do
        set -- $end
        ip -n $1 address add 10.79.0.$3/24 dev $2
        ip -n $1 address add fd79::$3/64 dev $2 nodad
        ip -n $1 link set $2 up
    done
    # The kernel answers whatever a raw socket gets a copy of, too: with a Reset, as it knows no
    # such connection. What it sends itself has no mark, and is dropped.
    ours nft -f - << END
table inet fairwave {
    chain output {
        type filter hook output priority 0
        meta l4proto 33 meta mark != $MARK drop
    }
}
END
}
# 20 ms each way, and a loss of 1 % on the way of the data: $1 is the namespace that sends them.
path() {
    for end in "ours v0" "theirs v1"; do
        set -- $1 $end
        loss=; [ $1 = $2 ] && loss="loss 1%"
        ip netns exec $2 tc qdisc replace dev $3 root netem delay 20ms $loss limit 10000 || return 1
    done
}
# Address of "ours" or "theirs" in a family.
address() { case $1$2 in ours4) echo 10.79.0.1 ;; ours6) echo fd79::1 ;; theirs4) echo 10.79.0.2 ;; *) echo fd79::2 ;; esac; }
# Keeps the first packets of a connection.
capture() {
    /bin/ip netns exec theirs tcpdump -Z root -i v1 -l -nn -v -t -c 10 ip proto 33 or ip6 proto 33 > captured 2> captured.err & capturing=$!
    await listening captured.err
}
captured() { kill $capturing 2> /dev/null; wait $capturing 2> /dev/null; cat captured; }

# One run: sender and receiver are "ours" (Fairwave) or "theirs" (the kernel).
run_one() {
    sender=$1 receiver=$2 family=$3 ccid=$4
    say "# $(name $sender) to $(name $receiver), IPv$family, CCID $ccid"
    to=$(address $([ $receiver = kernel ] && echo theirs || echo ours) $family)
    case $sender$receiver in
        fairwavekernel) path ours ;;
        kernelfairwave) path theirs ;;
    esac
    capture || return 1
    : > receiver; : > sender
    case $receiver in
        kernel) /bin/ip netns exec theirs dccp-run receive $family 5001 $ccid > receiver 2>&1 & receiving=$!; await listens receiver || return 1 ;;
        fairwave) /bin/ip netns exec ours fairwave dccp serve --once --port 5001 --mark $MARK > receiver 2>&1 & receiving=$!; await Listening receiver || return 1 ;;
    esac
    case $sender in
        kernel) theirs dccp-run send $to 5001 $ccid $SECONDS_EACH $SIZE > sender 2>&1 ;;
        fairwave) ours fairwave dccp send $to --port 5001 --mark $MARK --ccid $ccid --for "$SECONDS_EACH s" --size $SIZE > sender 2>&1 ;;
    esac
    status=$?
    # A receiver that hears nothing more is told to end.
    left=80; while kill -0 $receiving 2> /dev/null && [ $left -gt 0 ]; do left=$((left - 1)); usleep 100000; done
    kill $receiving 2> /dev/null; wait $receiving 2> /dev/null
    captured | sed 's/^/DCCP /'
    say "sender ($(name $sender)):"; tail -8 sender | sed 's/^/DCCP   /'
    say "receiver ($(name $receiver)):"; tail -8 receiver | sed 's/^/DCCP   /'
    say "= $sender $receiver $family $ccid $status $(figures)"
    return 0
}
name() { [ $1 = kernel ] && echo "Linux $(uname -r)" || echo Fairwave; }
# Mbps that the receiver got, p and rtt (ms) of both ends as they say at the end; "-" for none.
figures() {
    for file in receiver sender; do
        rate=$(sed -n 's/.* s.*: \([0-9.]*\) Mbps.*/\1/p' $file | tail -1)
        grep -q 'datagrams, ' $file && rate=$(sed -n 's/.*datagrams, .*: \([0-9.]*\) Mbps.*/\1/p' $file | tail -1)
        last=$(grep 'at the end' $file | tail -1)
        p=$(echo "$last" | sed -n 's/.* p \([0-9.]*\).*/\1/p'); rtt=$(echo "$last" | sed -n 's/.* rtt \([0-9.]*\) ms.*/\1/p')
        echo -n "${rate:--} ${p:--} ${rtt:--} "
    done
}

# What a connection that cannot be ends with.
refused() {
    say "# Connections that the kernel refuses"
    path ours
    ours fairwave dccp send 10.79.0.2 --port 9 --mark $MARK --for "1 s" 2>&1 | sed 's/^/DCCP port without a listener: /'
    /bin/ip netns exec theirs dccp-run receive 4 5001 3 > receiver 2>&1 & receiving=$!; await listens receiver || return 1
    ours fairwave dccp send 10.79.0.2 --port 5001 --service nope --mark $MARK --for "1 s" 2>&1 | sed 's/^/DCCP other service: /'
    kill $receiving; wait $receiving 2> /dev/null
    return 0
}

run() {
    say "kernel $(uname -r)"
    network || return 1
    for ccid in 2 3; do
        for family in 4 6; do
            run_one fairwave kernel $family $ccid || return 1
            run_one kernel fairwave $family $ccid || return 1
        done
    done
    refused
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
sync; poweroff -f
