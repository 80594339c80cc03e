#!/usr/bin/env python3
"""Simulates whole runs of federated methods in NumPy, in float64, and compares the final model with rollcall's.

    rollcall run --method fedavg-active --data leaf --p 1 --rounds 1 --local-steps 1 --dump DIR …
    rollcall availability --data leaf --csv CSV …
    rollcall run --method fedprox.py --data leaf --save-model …
    python3 bench/e2e/testdata/simulate.py --method fedprox --dump DIR --availability CSV --model model.safetensors …

Written from the papers' algorithms, this program shares no line with rollcall. The batch must be larger than what any
client holds: then every local step is gradient descent on all of a client's samples, and nothing is drawn but who is
available. Each client is a softmax regression, fc1.weight [10,60] and then fc1.bias [10].

It prints the largest difference of a weight, and by how much a weight has moved at most.
"""
import argparse
import csv
import json
import math
import os
import struct

import numpy as np


class Client:
    """A client's samples x [n,60], y [n], and its loss F_i(w) = mean of −log softmax(W x + b)_y."""

    def __init__(self, x, y):
        self.x, self.onehot = x.astype(np.float64), np.eye(10)[y]

    def gradient(self, w):
        z = self.x @ w[:600].reshape(10, 60).T + w[600:]
        z = np.exp(z - z.max(axis=1, keepdims=True))
        error = (z / z.sum(axis=1, keepdims=True) - self.onehot) / len(self.x)
        return np.concatenate([(error.T @ self.x).ravel(), error.sum(axis=0)])


def descend(client, w, lr, steps, mu=0.0):
    """Gradient descent on h(x) = F_i(x) + mu/2 · |x − w|², from w."""
    x = w.copy()
    for _ in range(steps):
        x = x - lr * (client.gradient(x) + mu * (x - w))
    return x


def fedprox(a, clients, w, active):
    """Li et al., MLSys 2020, Algorithm 2. The server's step is a.server_lr of the way to the mean."""
    for t, there in enumerate(active):
        if there:
            ends = [descend(clients[i], w, rate(a, t), a.local_steps, a.mu) for i in there]
            w = w + a.server_lr * (sum(ends) / len(ends) - w)
    return w


def fednova(a, clients, w, active):
    """Wang et al., NeurIPS 2020, equation (7) with plain SGD, for which a_i is τ_i and d_i the mean gradient.

    p_i is the share of client i in the samples of who is there. Odd clients make half of the steps, rounded up.
    """
    for t, there in enumerate(active):
        if not there:
            continue
        n = np.array([len(clients[i].x) for i in there], float)
        p = n / n.sum()
        tau = np.array([math.ceil(a.local_steps / 2) if i % 2 else a.local_steps for i in there], float)
        d = [(w - descend(clients[i], w, rate(a, t), int(tau[k]))) / (rate(a, t) * tau[k]) for k, i in enumerate(there)]
        effective = (p * tau).sum() if a.normalise else 1.0
        weights = p if a.normalise else p * tau  # without: FedAvg
        w = w - a.server_lr * effective * rate(a, t) * sum(c * x for c, x in zip(weights, d))
    return w


def fedadam(a, clients, w, active):
    """Reddi et al., ICLR 2021, Algorithm 2, FedAdam. A round without clients changes nothing."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, there in enumerate(active):
        if there:
            delta = sum(descend(clients[i], w, rate(a, t), a.local_steps) - w for i in there) / len(there)
            m = a.beta1 * m + (1 - a.beta1) * delta
            v = a.beta2 * v + (1 - a.beta2) * delta**2
            w = w + a.server_lr * m / (np.sqrt(v) + a.tau)
    return w


def rate(a, t):
    """The learning rate of round t, from 0: --lr-schedule decay."""
    return a.lr / math.sqrt(t / 10 + 1)


def samples(folder):
    """Return the clients of a dump, in the order of their numbers, and the initial weights."""
    x, y, index, number = (np.load(os.path.join(folder, f"{name}.npy")) for name in ("x", "y", "index", "clients"))
    with open(os.path.join(folder, "names.json")) as f:
        names = json.load(f)["params"]
    if names != [{"name": "fc1.weight", "shape": [10, 60]}, {"name": "fc1.bias", "shape": [10]}]:
        raise SystemExit(f"parameters {names}, want those of linear-synthetic")
    if (number != np.arange(len(number))).any() or index.shape[1] != 1 or (index[:, 0, -1] >= 0).any():
        raise SystemExit(f"clients {number}, index {index.shape}: want all, with all their samples in one batch")
    clients = [Client(x[k, 0][there], y[k, 0][there]) for k, there in enumerate(index[:, 0] >= 0)]
    return clients, np.load(os.path.join(folder, "w0.npy")).astype(np.float64)


def availability(path):
    """Return who is active in each round."""
    rounds = {}
    with open(path) as f:
        for row in csv.DictReader(f):
            there = rounds.setdefault(int(row["round"]), [])
            if int(row["active"]):
                there.append(int(row["client"]))
    return [sorted(rounds[t]) for t in sorted(rounds)]


def model(path):
    """Return the weights of a safetensors file in the order of the net."""
    with open(path, "rb") as f:
        text = f.read()
    start = 8 + struct.unpack("<Q", text[:8])[0]
    header = json.loads(text[8:start])
    spans = [header[name]["data_offsets"] for name in ("fc1.weight", "fc1.bias")]
    return np.concatenate([np.frombuffer(text[start + a : start + b], "<f4") for a, b in spans])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--method", choices=["fedprox", "fednova", "fedadam"], required=True)
    for name in ("dump", "availability", "model"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--local-steps", type=int, required=True)
    for name in ("lr", "server-lr"):
        p.add_argument(f"--{name}", type=float, required=True)
    for name, default in (("mu", 0.1), ("beta1", 0.9), ("beta2", 0.99), ("tau", 1e-3)):
        p.add_argument(f"--{name}", type=float, default=default)
    p.add_argument("--no-normalise", dest="normalise", action="store_false", help="fednova: as FedAvg")
    a = p.parse_args()
    clients, w0 = samples(a.dump)
    w = globals()[a.method](a, clients, w0, availability(a.availability))
    difference, moved = np.abs(model(a.model) - w).max(), np.abs(w - w0).max()
    print(json.dumps({"difference": float(difference), "moved": float(moved)}))


if __name__ == "__main__":
    main()
