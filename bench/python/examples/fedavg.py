import rollcall_fl as rc


class FedAvg(rc.Method):
    """FedAvg over the active clients (McMahan et al., AISTATS 2017): w += server_lr · mean of the updates."""

    name = "fedavg"
    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        ends = r.train(start=self.w)
        self.w.set(self.w + r.server_lr * rc.mean(ends - self.w))
