"""Federated methods in Python, on rollcall's engine.

A method says who trains from which row of weights and then combines rows; the weights stay in the engine. It is a file
with one class:

    import rollcall_fl as rc

    class FedAvg(rc.Method):
        "FedAvg over the active clients."
        rates = dict(lr=0.05, server_lr=1)

        def start(self, fed):
            self.w = fed.model("w")

        def round(self, r):
            ends = r.train(start=self.w)
            self.w.set(self.w + r.server_lr * rc.mean(ends - self.w))

and runs wherever a method's name stands: rollcall run --method fedavg_mine.py --data leaf
"""

from .method import Fed, Method, Round, param
from .read import read, read_runs
from .rows import Ends, EngineError, Expr, Row, Rows, StaleRow, dot, mean, norm, sum

__version__ = "0.1"
__all__ = [
    "Ends", "EngineError", "Expr", "Fed", "Method", "Round", "Row", "Rows", "StaleRow",
    "dot", "mean", "norm", "param", "read", "read_runs", "sum",
]  # fmt: skip
