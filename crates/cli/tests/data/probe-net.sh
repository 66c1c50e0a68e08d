# Sourced by scripts that probe: three network namespaces in a row, the client's `c`, a router `r`
# with links `a` and `b`, and the server's `s`. It wants mounts of its own, and $F, the command.
mount -t tmpfs none /run
for node in c r s; do
    ip netns add $node
    ip -n $node link set dev lo up
done
ip -n c link add name a type veth peer name a netns r
ip -n r link add name b type veth peer name b netns s
while read -r node link four six; do
    ip -n $node address add "$four" dev $link
    ip -n $node address add "$six" dev $link nodad
    ip -n $node link set dev $link up
done << END
c a 10.9.1.1/24 fd09:1::1/64
r a 10.9.1.2/24 fd09:1::2/64
r b 10.9.2.2/24 fd09:2::2/64
s b 10.9.2.1/24 fd09:2::1/64
END
for node in c s; do
    router=$([ $node = c ] && echo 1 || echo 2)
    ip -n $node route add default via 10.9.$router.2
    ip -n $node route add default via fd09:$router::2
done
within() { ip netns exec "$@"; }
within r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
# A queue of the router: the rest of a line of tc. Towards the server it is that of `b`.
shape() { within r tc qdisc add dev "$@"; }
serve() {
    # Not by `within`: a signal to the shell that a function runs in would not reach the command.
    ip netns exec s "$F" probe serve --pairing sixteenlettersok "$@" > served 2> serve-errors &
    server=$!
    until grep -q Listening served; do kill -0 $server || return 1; done
}
probe="ip netns exec c $F probe 10.9.2.1 --pairing sixteenlettersok"
