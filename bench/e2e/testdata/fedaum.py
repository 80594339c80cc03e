import numpy as np
import rollcall_fl as rc


class FedAUM(rc.Method):
    """FedAU with momentum at the server, and clients drawn: whatever a checkpoint has to keep, for the tests."""

    rates = dict(lr=0.05, server_lr=1)
    cutoff = rc.param(50, low=1, help="longest interval counted, in rounds")
    beta = rc.param(0.9, low=0, below=1, help="momentum at the server")

    def start(self, fed):
        self.w, self.v, self.last = fed.model("w"), fed.row("v"), fed.models("last")
        self.gap, self.sum, self.n = fed.ints("gap"), fed.ints("sum"), fed.ints("n")
        self.rounds, self.norm = fed.ints("rounds", ()), fed.floats("norm", ())

    def round(self, r):
        omega = np.where(self.n > 0, self.sum / np.maximum(self.n, 1), 1.0)
        self.gap += 1
        ended = r.here | (self.gap >= self.cutoff)
        self.sum[ended] += self.gap[ended]
        self.n[ended] += 1
        self.gap[ended] = 0
        drawn = r.active[r.rng("drawn").random(len(r.active)) < 0.8]
        if len(drawn) == 0:
            return
        ends = r.train(start=self.w, clients=drawn)
        self.last[drawn].set(ends)
        self.v.set(self.beta * self.v + rc.sum(omega[drawn] / r.N, ends - self.w))
        norm = rc.norm(self.v)
        self.norm = self.norm + (norm - self.norm) / (self.rounds + 1)
        self.rounds += 1
        self.w.set(self.w + r.server_lr * min(1.0, 2 * float(self.norm) / max(norm, 1e-12)) * self.v)
