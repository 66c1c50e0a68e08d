"""A congestion control for tests: the window stays, unless a class of it does something."""

import fairwave as fw


class Still(fw.cc.Controller):
    """A window that stays."""

    def on_ack(self, ack):
        pass

    def on_loss(self, loss):
        pass

    def on_rto(self, rto):
        pass
