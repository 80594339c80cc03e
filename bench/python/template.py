import rollcall_fl as rc


class Template(rc.Method):
    """FedAvg with momentum at the server."""

    # The learning rates of a command line without --lr and --server-lr, and parameters, each of which is a flag.
    rates = dict(lr=0.05, server_lr=1)
    beta = rc.param(0.9, low=0, below=1, help="momentum at the server")
    share = rc.param(1.0, above=0, high=1, help="share of the active clients that trains")

    def start(self, fed):
        # Declare here all that is kept from round to round: a checkpoint has this and nothing else. A model begins at
        # the initial weights, a row at zeros; both stay in the engine. fed.ints and fed.floats keep numbers.
        self.w, self.v = fed.model("w"), fed.row("v")

    def round(self, r):
        # Draw by r.rng alone: it has the same numbers again for the same seed, round and name.
        clients = r.active[r.rng("share").random(len(r.active)) < self.share]
        if len(clients) == 0:
            return
        # An end is a row too: where the local steps of a client ended. Ends last until the round ends.
        ends = r.train(start=self.w, clients=clients)
        # A sum of rows costs nothing. set lets the engine compute it, in one pass over the rows.
        self.v.set(self.beta * self.v + rc.mean(ends - self.w))
        self.w.set(self.w + r.server_lr * self.v)
