import numpy as np
import rollcall_fl as rc


class FedAdam(rc.Method):
    """FedAdam (Reddi et al., ICLR 2021): Adam at the server, without bias correction.

    Its square root is no linear combination of rows: two rows come here in every round, and two go back.
    """

    rates = dict(lr=0.05, server_lr=0.01)
    beta1 = rc.param(0.9, low=0, below=1, help="decay of the mean of updates")
    beta2 = rc.param(0.99, low=0, below=1, help="decay of the mean of squares")
    tau = rc.param(0.001, above=0, help="added to the root")

    def start(self, fed):
        self.w = fed.model("w")
        self.delta, self.m, self.v, self.step = (fed.row(name) for name in ("delta", "m", "v", "step"))

    def round(self, r):
        if len(r.active) == 0:
            return
        ends = r.train(start=self.w)
        self.delta.set(rc.mean(ends - self.w))
        self.m.set(self.beta1 * self.m + (1 - self.beta1) * self.delta)
        v = self.beta2 * self.v.numpy() + (1 - self.beta2) * self.delta.numpy() ** 2
        self.v.load(v)
        self.step.load(self.m.numpy() / (np.sqrt(v) + self.tau))
        self.w.set(self.w + r.server_lr * self.step)
