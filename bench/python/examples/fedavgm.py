import rollcall_fl as rc


class FedAvgM(rc.Method):
    """FedAvg with momentum at the server (Hsu et al., 2019)."""

    rates = dict(lr=0.05, server_lr=1)
    beta = rc.param(0.9, low=0, below=1, help="momentum at the server")

    def start(self, fed):
        self.w, self.v = fed.model("w"), fed.row("v")

    def round(self, r):
        if len(r.active) == 0:
            return
        ends = r.train(start=self.w)
        self.v.set(self.beta * self.v + rc.mean(ends - self.w))
        self.w.set(self.w + r.server_lr * self.v)
