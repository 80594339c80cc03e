import rollcall_fl as rc


class Scaffold(rc.Method):
    """SCAFFOLD (Karimireddy et al., ICML 2020, option II): gradients corrected by c − c_i."""

    rates = dict(lr=0.05, server_lr=1)

    def start(self, fed):
        self.w, self.new, self.c, self.own = fed.model("w"), fed.row("new"), fed.row("c"), fed.rows("own")

    def round(self, r):
        if len(r.active) == 0:
            return
        own = self.own[r.active]
        own.set(self.c - own)
        ends = r.train(start=self.w, drift=own)
        self.new.set(self.w + r.server_lr * rc.mean(ends - self.w))
        ends.set(ends - self.w)
        slope = -1 / (r.steps[r.active] * r.lr)
        own.set(-own + slope * ends)
        self.c.set((1 - len(ends) / r.N) * self.c + rc.sum(slope / r.N, ends))
        self.w.set(self.new)
