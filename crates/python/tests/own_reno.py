"""Reno in Python, line by line the algorithm of crates/protocols/cc/src/reno.rs."""

import fairwave as fw


class Reno(fw.cc.Controller):
    """The algorithm of RFC 5681."""

    recovery = "reno"

    def __init__(self, initial):
        super().__init__(initial)
        self.mss = initial.mss
        self.initial_window = initial.cwnd
        self.growth_limit = initial.mss * initial.slow_start_segments
        self.byte_counting = initial.byte_counting
        self.credit = 0
        self.undo = None
        self.reduced = None

    def on_ack(self, ack):
        self.acknowledge(ack.una)
        if ack.in_recovery or not ack.cwnd_limited or ack.acked == 0:
            return
        if self.cwnd < self.ssthresh:
            one = self.cwnd + min(ack.acked, self.mss)
            most = self.cwnd + min(ack.acked, self.growth_limit)
            self.cwnd = min(most, max(self.ssthresh, one))
            return
        self.credit += ack.acked if self.byte_counting else min(ack.acked, self.mss)
        if self.credit >= self.cwnd:
            self.credit -= self.cwnd
            self.cwnd += self.mss

    def on_loss(self, loss):
        self.acknowledge(loss.una)
        if self.reduced is None or not self.reduced[1]:
            self.lower(loss.flight // 2)
        self.reduced = (loss.next, False)
        self.cwnd = self.ssthresh

    def on_ecn(self, loss):
        self.acknowledge(loss.una)
        if self.reduced is None:
            self.on_loss(loss)
            self.undo = None
            self.reduced = (loss.next, True)

    def on_rto(self, rto):
        if rto.backoff <= 1 and not rto.keeps_ssthresh:
            self.lower(rto.flight // 2)
        self.credit = 0
        self.reduced = None
        self.cwnd = self.mss

    def on_spurious(self, now_ns):
        if self.undo is not None:
            self.cwnd = max(self.cwnd, self.undo[0])
            self.ssthresh = max(self.ssthresh, self.undo[1])
            self.undo = self.reduced = None

    def on_idle_restart(self, idle_ns):
        self.cwnd = min(self.cwnd, self.initial_window)
        self.credit = 0

    def acknowledge(self, una):
        if self.reduced is not None and una >= self.reduced[0]:
            self.reduced = None

    def lower(self, target):
        self.undo = (self.cwnd, self.ssthresh)
        self.ssthresh = max(target, 2 * self.mss)
        self.credit = 0
