# Probes one link after the other, each in a network of its own (probe-net.sh, beside this file in
# $DATA), and prints for each a line `LINK link {what was found}`. Lines of the input:
#     name | kind | packets | words of tc; words of tc
# $RATE is the probes'.
while IFS='|' read -r name kind packets queues; do
    . "$DATA/probe-net.sh"
    echo "$queues" | tr ';' '\n' > queues
    while read -r words; do
        [ -z "$words" ] || within r tc $words
    done < queues
    serve
    $probe --rate "$RATE" --json < /dev/null > found 2> errors || cat errors
    kill $server
    wait $server || true
    echo "LINK $name|$kind|$packets|$(tr -d '\n' < found)"
    for node in c r s; do
        ip netns del $node
    done
    # Namespaces that are being taken down may hold it for a moment.
    umount -l /run
done
