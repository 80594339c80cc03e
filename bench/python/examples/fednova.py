import rollcall_fl as rc


class FedNova(rc.Method):
    """FedNova (Wang et al., NeurIPS 2020): updates per local step, times the mean number of steps.

    Every second client makes half of the steps, as slower devices would.
    """

    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w = fed.model("w")

    def round(self, r):
        if len(r.active) == 0:
            return
        steps = r.steps[r.active]
        steps[r.active % 2 == 1] = (steps[r.active % 2 == 1] + 1) // 2
        ends = r.train(start=self.w, steps=steps)
        p = r.importance[r.active] / r.importance[r.active].sum()
        self.w.set(self.w + rc.sum(r.server_lr * (p @ steps) * p / steps, ends - self.w))
