import numpy as np
import rollcall_fl as rc


class FedAU(rc.Method):
    """FedAU (Wang and Ji, ICLR 2024): a client weighs as the mean length of its intervals between participations."""

    rates = dict(lr=0.05, server_lr=1)
    cutoff = rc.param(50, low=1, help="longest interval counted, in rounds")

    def start(self, fed):
        self.w = fed.model("w")
        self.gap, self.sum, self.n = fed.ints("gap"), fed.ints("sum"), fed.ints("n")

    def round(self, r):
        omega = np.where(self.n > 0, self.sum / np.maximum(self.n, 1), 1.0)[r.active]
        self.gap += 1
        ended = r.here | (self.gap >= self.cutoff)
        self.sum[ended] += self.gap[ended]
        self.n[ended] += 1
        self.gap[ended] = 0
        ends = r.train(start=self.w)
        self.w.set(self.w + rc.sum(r.server_lr / r.N * omega, ends - self.w))
