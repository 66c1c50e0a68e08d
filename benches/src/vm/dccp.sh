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
for module in veth sch_netem crc32c_generic libcrc32c nfnetlink nf_tables nft_numgen dccp dccp_ipv4 dccp_ipv6; do insmod /modules/$module.ko; done
say() { echo "DCCP $*"; }
# In the background `ip` is called itself, so that signals go to the program and not to a shell.
ours() { ip netns exec ours "$@"; }
theirs() { ip netns exec theirs "$@"; }
# Waits for a line in a file, at most thirty seconds.
await() {
    left=300
    until grep -q "$1" "$2" 2> /dev/null; do
        left=$((left - 1)); [ $left -gt 0 ] || { say "waited in vain for '$1' in $2"; cat "$2"; return 1; }
        usleep 100000
    done
}
SECONDS_EACH=15
SECONDS_WITH_GAP=20
# The emulated processor carries this.
RATE=5mbit
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
}
# The kernel answers whatever a raw socket gets a copy of, too: with a Reset, as it knows no such
# connection. What it sends itself has no mark, and is dropped unless it is an end of the connection.
filter() {
    ours nft delete table inet fairwave 2> /dev/null
    [ $1 = kernelkernel ] && return 0
    ours nft -f - << END
table inet fairwave {
    chain output {
        type filter hook output priority 0
        meta l4proto 33 meta mark != $MARK drop
    }
}
END
}
# 20 ms each way. On the way of the data, from namespace $1 to $2, there are $RATE, with a queue, and a
# loss of $3 %: each hundredth packet of data or each thirty-third one is dropped, so that all runs have
# the same losses.
path() {
    for end in "ours v0" "theirs v1"; do
        set -- $1 $2 $3 $end
        rate=; [ $1 = $4 ] && rate="rate $RATE"
        ip netns exec $4 tc qdisc replace dev $5 root netem delay 20ms $rate limit 30 || return 1
        $4 nft delete table inet lossy 2> /dev/null
    done
    case $3 in 0) return 0 ;; 1) each=100 ;; 3) each=33 ;; esac
    $2 nft -f - << END
table inet lossy {
    chain input {
        type filter hook input priority -1
        meta l4proto 33 meta length > 500 numgen inc mod $each == $((each - 1)) drop
    }
}
END
}
# Address of "ours" or "theirs" in a family.
address() { case $1$2 in ours4) echo 10.79.0.1 ;; ours6) echo fd79::1 ;; theirs4) echo 10.79.0.2 ;; *) echo fd79::2 ;; esac; }
# Keeps the first $1 packets of a connection that the filter $2 selects.
capture() {
    /bin/ip netns exec theirs tcpdump -Z root -i v1 -l -nn -vv -t -c $1 "ip proto 33 or ip6 proto 33" ${2:+and "$2"} > captured 2> captured.err & capturing=$!
    await listening captured.err
}
captured() { kill $capturing 2> /dev/null; wait $capturing 2> /dev/null; sed 's/^/DCCP /' captured; }
# CloseReq, Close and Reset over IPv4.
ENDS='(ip[28] & 0x1e) >= 10 and (ip[28] & 0x1e) <= 14'

# Namespace of the sender and the receiver.
side() { [ $1 = fairwave ] && echo ours || echo theirs; }
# Starts a receiver, which is in namespace "theirs" unless it is Fairwave.
receive() {
    : > receiver
    case $1 in
        kernel) /bin/ip netns exec theirs dccp-run receive $2 5001 $3 > receiver 2>&1 & receiving=$!; await listens receiver ;;
        fairwave) /bin/ip netns exec ours fairwave dccp serve --once --port 5001 --mark $MARK > receiver 2>&1 & receiving=$!; await Listening receiver ;;
    esac
}
# Starts a sender, for $4 s.
send() {
    : > sender
    case $1 in
        kernel) /bin/ip netns exec $(other $5) dccp-run send $2 5001 $3 $4 $SIZE > sender 2>&1 & sending=$! ;;
        fairwave) /bin/ip netns exec ours fairwave dccp send $2 --port 5001 --mark $MARK --ccid $3 --for "$4 s" --size $SIZE > sender 2>&1 & sending=$! ;;
    esac
}
other() { [ $1 = ours ] && echo theirs || echo ours; }
# A receiver that hears nothing more is told to end.
received() {
    left=80; while kill -0 $receiving 2> /dev/null && [ $left -gt 0 ]; do left=$((left - 1)); usleep 100000; done
    kill $receiving 2> /dev/null; wait $receiving 2> /dev/null
}

# One run: sender and receiver are Fairwave, in namespace "ours", or the kernel.
run_one() {
    sender=$1 receiver=$2 family=$3 ccid=$4 loss=$5
    say "# $(name $sender) to $(name $receiver), IPv$family, CCID $ccid, loss $loss %"
    at=$(side $receiver)
    filter $sender$receiver
    path $(other $at) $at $loss && capture 10 || return 1
    receive $receiver $family $ccid || return 1
    send $sender $(address $at $family) $ccid $SECONDS_EACH $at
    wait $sending; status=$?
    received
    # The handshake is the same at each loss.
    if [ $loss = 1 ]; then captured; else captured > /dev/null; fi
    say "sender ($(name $sender)):"; by_second sender Mbps X rtt; tail -2 sender | sed 's/^/DCCP   /'
    say "receiver ($(name $receiver)):"; by_second receiver Mbps rtt; tail -2 receiver | sed 's/^/DCCP   /'
    say "= $sender $receiver $family $ccid $loss $status $(figures)"
}

# The link goes down for 3 s in the middle of a run without losses, and up again.
handover() {
    sender=$1 receiver=$2 ccid=$3
    say "# The link is down for 3 s: $(name $sender) to $(name $receiver), CCID $ccid"
    at=$(side $receiver)
    filter $sender$receiver
    path $(other $at) $at 0 || return 1
    receive $receiver 4 $ccid || return 1
    send $sender $(address $at 4) $ccid $SECONDS_WITH_GAP $at
    await "$(at_second 8)" receiver || return 1
    ip -n ours link set v0 down; sleep 3; ip -n ours link set v0 up
    wait $sending; status=$?
    received
    say "sender ($(name $sender)):"; by_second sender Mbps; summary sender
    say "receiver ($(name $receiver)):"; by_second receiver Mbps; summary receiver
    [ $status = 0 ] || { say "it ended with $status"; cat sender; return 1; }
    grep "$(at_second $((SECONDS_WITH_GAP - 1)))" receiver | grep -vq " 0.000 Mbps" || { say "nothing arrives any more"; return 1; }
}
at_second() { echo "^$1 s:\| $1\.[0-9] s:"; }
# The line with the sums of an end.
summary() { grep -E "(sent|received) [0-9]* datagrams" $1 | sed 's/^/DCCP   /'; }
# Values of an end by second: Mbps, X in Mbps, rtt in ms.
by_second() {
    file=$1; shift
    for value in "$@"; do
        found=$(values $file $value | cut -d' ' -f2 | tr '\n' ' ')
        [ -z "$found" ] || say "  $value by second: $found"
    done
}

# Ends of connections, other than that a sender has sent all: $1 ends first, by signal $2.
ending() {
    sender=$1 receiver=$2 who=$3 signal=$4
    say "# $5: $(name $sender) to $(name $receiver), CCID 3"
    at=$(side $receiver)
    filter ours; path $(other $at) $at 0 && capture 6 "$ENDS" || return 1
    receive $receiver 4 3 || return 1
    send $sender $(address $at 4) 3 60 $at
    await "$(at_second 3)" receiver || return 1
    case $who in sender) kill -$signal $sending ;; receiver) kill -$signal $receiving; wait $receiving ;; esac
    # A server that is started anew does not know the connection.
    [ $signal$receiver = KILLfairwave ] && { receive fairwave 4 3 || return 1; }
    # Both are over well before the sender's time is.
    left=250; while kill -0 $sending 2> /dev/null && [ $left -gt 0 ]; do left=$((left - 1)); usleep 100000; done
    [ $left -gt 0 ] || { say "the sender goes on"; cat sender; return 1; }
    wait $sending; say "the sender ended with $?"
    [ $signal$receiver = KILLfairwave ] && kill -INT $receiving
    received
    captured
    say "sender ($(name $sender)):"; tail -2 sender | sed 's/^/DCCP   /'
    say "receiver ($(name $receiver)):"; tail -2 receiver | sed 's/^/DCCP   /'
}

name() { [ $1 = kernel ] && echo "Linux $(uname -r)" || echo Fairwave; }
# Rates and round-trip times are means from this second on: the beginnings of two runs differ.
FROM_SECOND=5
# A line for each second of file $1 in which value $2 is known: the time in seconds, and the value.
values() {
    sed -n '/datagrams/d; s/^\(.* \)\{0,1\}\([0-9.][0-9.]*\) s: \(.*\)/\2 Mbps \3/p' $1 |
        awk -v value=$2 '{ for (i = 2; i < NF; i++) if ($i == value) { print $1, $(i + 1); break } }'
}
mean() { values $1 $2 | awk -v from=$FROM_SECOND '$1 >= from { n++; sum += $2 } END { if (n) printf "%.4f", sum / n; else printf "-" }'; }
# Of the receiver and of the sender: mean rate in Mbps, the last p, and mean rtt in ms; "-" for none.
figures() {
    for file in receiver sender; do
        p=$(sed -n 's/.*at the end.* p \([0-9.]*\).*/\1/p' $file | tail -1)
        echo -n "$(mean $file Mbps) ${p:--} $(mean $file rtt) "
    done
}

# What a connection that cannot be ends with.
refused() {
    say "# Connections that the kernel refuses"
    filter ours; path ours theirs 0
    ours fairwave dccp send 10.79.0.2 --port 9 --mark $MARK --for "1 s" 2>&1 | sed 's/^/DCCP port without a listener: /'
    /bin/ip netns exec theirs dccp-run receive 4 5001 3 > receiver 2>&1 & receiving=$!; await listens receiver || return 1
    ours fairwave dccp send 10.79.0.2 --port 5001 --service nope --mark $MARK --for "1 s" 2>&1 | sed 's/^/DCCP other service: /'
    kill $receiving; wait $receiving 2> /dev/null
    return 0
}

# Linux opens a connection while our server has as many incomplete handshakes as it allows (8), so that
# it gets an Init Cookie: those of clients that hear no Response.
cookies() {
    say "# A server that answers with an Init Cookie: Linux to Fairwave"
    filter ours; path theirs ours 0
    theirs nft -f - << END
table inet deaf { chain input { type filter hook input priority -2; dccp type response drop; }; }
END
    : > receiver
    /bin/ip netns exec ours fairwave dccp serve --port 5001 --mark $MARK --json > receiver 2> receiver.err & receiving=$!
    await Listening receiver.err && capture 200 "ip[28] & 0x1e = 2" || return 1
    clients=
    for client in 1 2 3 4 5 6 7 8; do
        /bin/ip netns exec theirs dccp-run send 10.79.0.1 5001 3 60 $SIZE > /dev/null 2>&1 & clients="$clients $!"
    done
    left=100
    until [ "$(grep -o '> 10.79.0.2[.0-9]*' captured | sort -u | wc -l)" = 8 ]; do
        left=$((left - 1)); [ $left -gt 0 ] || { say "no eight handshakes began"; cat captured; return 1; }
        usleep 100000
    done
    kill -KILL $clients; captured > /dev/null
    theirs nft delete table inet deaf
    capture 6 || return 1
    send kernel 10.79.0.1 3 3 ours
    wait $sending; say "the sender ended with $?"
    # The answer to its last packet may be still under way.
    left=50; while kill -0 $capturing 2> /dev/null && [ $left -gt 0 ]; do left=$((left - 1)); usleep 100000; done
    captured
    kill -INT $receiving; wait $receiving
    say "our server: $(tr -d ' \n' < receiver | grep -o '"cookies":{[^}]*}')"
    return 0
}

# Answer of Linux to a Request with an option ($1, in hexadecimal $3), beside that of RFC 4340 ($2).
request() {
    answer=$(ours dccp-options request 10.79.0.2 5001 $MARK $3 2>&1) || { say "$1: $answer"; return 1; }
    say "? $1 | $2 | $answer"
}
# Options and features that Linux does not know, in Requests and on connections.
options() {
    say "# Options that Linux does not know"
    filter ours; path ours theirs 0
    receive kernel 4 3 || return 1
    request "option 60" "Response" 3c040709 || return 1
    request "Mandatory, option 60" "Reset, Mandatory Error (6), [60, 7, 9]" 013c040709 || return 1
    request "Mandatory, option 184 of no profile" "Reset, Mandatory Error (6), [184, 2, 0]" 01b8090200000000000000 || return 1
    request "Change R of feature 248" "Response, empty Confirm L of 248" 2204f801 || return 1
    request "Mandatory, Change R of feature 248" "Reset, Mandatory Error (6), [34, 248, 1]" 012204f801 || return 1
    request "Mandatory behind all others" "Reset, Option Error (5), [1, 0, 0]" 02020201 || return 1
    request "Mandatory, Mandatory" "Reset, Option Error (5), [1, 0, 0]" 01010202 || return 1
    sent=$(ours dccp-options send 10.79.0.2 5001 $MARK 2>&1) || { say "$sent"; cat receiver; return 1; }
    received
    say "? a connection to Linux, Change R of feature 248 | empty Confirm L | $sent; Linux $(tail -2 receiver | grep -o 'received [0-9]* datagrams')"
    : > receiver
    /bin/ip netns exec ours dccp-options serve 5001 $MARK > receiver 2>&1 & receiving=$!; await listens receiver || return 1
    send kernel 10.79.0.1 3 3 ours
    wait $sending; received
    grep -q '^received' receiver || { cat sender receiver; return 1; }
    say "? a connection from Linux, Change R of feature 248 | empty Confirm L | $(tail -1 receiver); Linux $(grep -o 'sent [0-9]* datagrams' sender)"
}

pairs() {
    for pair in "kernel kernel" "fairwave kernel" "kernel fairwave"; do run_one $pair $1 $2 $3 || return 1; done
}

run() {
    say "kernel $(uname -r)"
    network || return 1
    for loss in 0 1 3; do
        for ccid in 2 3; do pairs 4 $ccid $loss || return 1; done
    done
    for ccid in 2 3; do pairs 6 $ccid 1 || return 1; done
    for ccid in 2 3; do
        for pair in "kernel kernel" "fairwave kernel" "kernel fairwave"; do handover $pair $ccid || return 1; done
    done
    ending fairwave kernel receiver TERM "The receiver's process ends" || return 1
    ending kernel fairwave receiver INT "The receiver is interrupted" || return 1
    ending kernel fairwave sender TERM "The sender's process ends" || return 1
    ending kernel fairwave receiver KILL "The receiver is killed and started anew" || return 1
    cookies || return 1
    options || return 1
    refused
}
if run; then echo "GUEST passed"; else echo "GUEST failed"; fi
sync; poweroff -f
