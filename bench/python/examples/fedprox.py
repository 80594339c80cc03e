import rollcall_fl as rc


class FedProx(rc.Method):
    """FedProx (Li et al., MLSys 2020): local steps on F_i(x) + mu/2 · |x − w|², whose gradient adds mu·x − mu·w."""

    rates = dict(lr=0.05, server_lr=1)
    mu = rc.param(0.1, low=0, help="weight of the proximal term")

    def start(self, fed):
        self.w, self.pull = fed.model("w"), fed.row("pull")

    def round(self, r):
        self.pull.set(-self.mu * self.w)
        ends = r.train(start=self.w, decay=self.mu, drift=self.pull)
        self.w.set(self.w + r.server_lr * rc.mean(ends - self.w))
