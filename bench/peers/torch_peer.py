#!/usr/bin/env python3
"""Federated rounds in PyTorch 2 on the CPU, as fast as we can make them.

A variant is a word of parts that are joined by a dash:

    loop      one client after another; or
    grouped   all K clients at once, in grouped convolutions and batched products
    cl        channels last
    byhand    linear nets: gradients by hand, in place of autograd
    compile   torch.compile of forward and backward
    whole     torch.compile of the whole step, with gradients by torch.func.grad and SGD inside
    slices    max pooling as maxima of slices, of which the compiler makes one loop
    implicit  bf16: oneDNN rounds the operands of float32 products, in place of autocast
    procs     a process of one thread on each core, which train clients of their own side by side

SGD is torch.optim's fused one. Denormals are flushed. compare.py chooses the memory allocator.
"""
import contextlib
import json
import platform
import subprocess
import sys

import work

BASES = ("loop", "grouped")
LIMIT = {"fp32": 1e-2, "bf16": 2e-1}  # of the largest difference after one step, as a part of the largest update


def variants():
    hows = ("", "-compile", "-whole", "-whole-slices", "-implicit", "-compile-implicit", "-byhand",
            "-byhand-compile")
    kinds = [base + cl + how for base in BASES for cl in ("", "-cl") for how in hows]
    return kinds + [v + "-procs" for v in kinds]


ARGS = work.arguments(__doc__, variants()).parse_args()
CPUS = work.stay(ARGS.cpus, ARGS.threads)
HOW = ARGS.variant.split("-")

if "procs" not in HOW:  # the dispatcher of several processes needs no PyTorch
    import numpy as np
    import torch

    import torch_nets

    torch.set_num_threads(ARGS.threads)
    torch.set_flush_denormal(True)
    if "implicit" in HOW:
        torch.backends.mkldnn.conv.fp32_precision = torch.backends.mkldnn.matmul.fp32_precision = ARGS.precision


def versions():
    cpu = torch.backends.cpu.get_cpu_capability()
    onednn = torch.__config__.show().split("MKL-DNN v")[-1].split()[0]
    mkl = torch.__config__.show().split("Math Kernel Library Version ")[-1].split("-")[0]
    return {"python": platform.python_version(), "torch": torch.__version__, "oneDNN": onednn, "MKL": mkl, "isa": cpu}


class Peer:
    """One variant, with its images. k is the number of clients side by side."""

    def __init__(self, args, how, k, images, labels):
        self.net, self.k, self.lr, self.how, self.data = args.net, k, args.lr, how, work.data_of(args.net)
        self.memory = torch.channels_last if "cl" in how else torch.contiguous_format
        self.bf16 = args.precision == "bf16" and "implicit" not in how
        # Channels last wants images [N,H,W,C]; the other layout wants [N,C,H,W].
        self.images = torch.from_numpy(images if "cl" in how else np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
        self.labels = torch.from_numpy(labels)
        shape = (-1,) if "cl" in how else (-1, 1, 1)
        mean, std = torch.tensor(self.data.mean), torch.tensor(self.data.std)
        self.scale, self.shift = (1 / (255 * std)).view(shape), (-mean / std).view(shape)
        self.loss, self.whole, self.hand = self.cast_loss, self.whole_step, self.hand_step
        if "compile" in how:
            self.loss = torch.compile(self.loss, dynamic=False)
            self.hand = torch.compile(self.hand, dynamic=False)
        if "whole" in how:
            self.whole = torch.compile(self.whole, dynamic=False)

    def cast_loss(self, p, x, y):
        with torch.autocast("cpu", torch.bfloat16) if self.bf16 else contextlib.nullcontext():
            return torch_nets.loss(self.net, p, x, y, self.k, "slices" in self.how)

    def batch(self, index, row, column, flip):
        """x [B,C,H,W] of one client: gathered, cropped out of a border of zeros, flipped, normalised."""
        u, side, border = self.images[index], self.data.side, work.BORDER
        if not self.data.augmented:
            return torch.mul(u, self.scale).add_(self.shift)
        axis = 1 if "cl" in self.how else 2  # of the rows
        def cut(offset):  # the part of the image that is seen, in the image and in the crop
            first = offset - border
            return slice(max(first, 0), min(first + side, side)), slice(max(-first, 0), min(side - first, side))
        (from_row, to_row), (from_column, to_column) = cut(row), cut(column)
        x = torch.zeros(u.shape)
        seen = [slice(None)] * axis
        part = u[(*seen, from_row, from_column)]
        torch.mul(part, self.scale, out=x[(*seen, to_row, to_column)]).add_(self.shift)
        if flip:
            x = x.flip(axis + 1)
        return x.permute(0, 3, 1, 2) if "cl" in self.how else x

    def batches(self, plan, clients, e):
        """x [B,K·C,H,W], y [B] or [K,B] of the e-th step of clients."""
        index, row, column, flip = plan
        index = torch.from_numpy(index[clients, e])
        xs = [self.batch(index[i], int(row[c, e]), int(column[c, e]), bool(flip[c, e])) for i, c in enumerate(clients)]
        if self.k == 1:
            return xs[0], self.labels[index[0]]
        return torch.cat(xs, 1).contiguous(memory_format=self.memory), self.labels[index]

    def whole_step(self, p, x, y):
        grads = torch.func.grad(self.cast_loss)(p, x, y)
        for name, w in p.items():
            w.add_(grads[name], alpha=-self.lr)

    def hand_step(self, w, b, index):
        """A step of clients of a linear net: w [K,O,I], b [K,O], index [K,B]."""
        x = torch.mul(self.images[index], self.scale).add_(self.shift).flatten(2)  # [K,B,I]
        y = self.labels[index].unsqueeze(2)
        d = torch.baddbmm(b.unsqueeze(1), x, w.transpose(1, 2)).softmax(2)  # [K,B,O]
        d.scatter_add_(2, y, torch.full(y.shape, -1.0, dtype=d.dtype))
        w.baddbmm_(d.transpose(1, 2), x, alpha=-self.lr / index.shape[1])
        b.add_(d.sum(1), alpha=-self.lr / index.shape[1])

    def train(self, start, plan, clients):
        """The weights of clients after their local steps, {name: tensor [K,…]}."""
        p = {n: w.detach().clone(memory_format=torch.preserve_format).requires_grad_(work.learned(n))
             for n, w in start.items()}
        own = [w for n, w in p.items() if work.learned(n)]
        optimizer = torch.optim.SGD(own, lr=self.lr, fused=True)
        for e in range(plan[1].shape[1]):
            if "byhand" in self.how:
                with torch.no_grad():
                    self.hand(*p.values(), torch.from_numpy(plan[0][clients, e]))
                continue
            x, y = self.batches(plan, clients, e)
            if "whole" in self.how:
                with torch.no_grad():
                    self.whole({n: w.detach() for n, w in p.items()}, x, y)
                continue
            self.loss(p, x, y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return p

    def round(self, start, plan):
        """The mean of the clients' weights."""
        total, clients = None, plan[0].shape[0]
        for c in range(0, clients, self.k):
            p = self.train(start, plan, list(range(c, c + self.k)))
            own = {n: v.sum(0) for n, v in torch_nets.unstack(p, self.k).items()}
            if total is None:
                total = own
            else:
                torch._foreach_add_(list(total.values()), list(own.values()))
        return {n: v / clients for n, v in total.items()}

    def start(self, weights):
        return torch_nets.stack(weights, self.k, self.memory)


def make(args):
    """A function that makes a round."""
    draws = work.Draws(args.net, args.batch, args.data)
    peer = Peer(args, HOW, args.clients if "grouped" in HOW else 1, draws.images, draws.labels)
    start = peer.start(work.start_weights(args.net, args.init_from))

    def one_round():
        peer.round(start, draws.round(args.clients, args.steps))

    return one_round


def check(args):
    """Status 0 if one step of the variant agrees with a plain step in float64."""
    weights, draws = work.start_weights(args.net, args.init_from), work.Draws(args.net, args.batch)
    images, labels, plan = draws.images, draws.labels, draws.round(args.clients, 1)
    torch.set_default_dtype(torch.float64)
    plain_args = type(args)(**{**vars(args), "precision": "fp32"})
    plain = Peer(plain_args, ["loop"], 1, images, labels)
    double = {n: w.astype(np.float64) for n, w in weights.items()}
    want = {n: w.numpy() for n, w in plain.round(plain.start(double), plan).items()}
    torch.set_default_dtype(torch.float32)
    peer = Peer(args, HOW, args.clients if "grouped" in HOW else 1, images, labels)
    got = {n: w.numpy() for n, w in peer.round(peer.start(weights), plan).items()}
    return work.verdict(args, LIMIT[args.precision], work.largest_difference(got, want, double))


def profile(one_round):
    """Prints the time of each operator in itself: of equal calls the shortest, so that what else runs counts less."""
    from torch.profiler import ProfilerActivity, profile as profiler

    one_round()
    with profiler(activities=[ProfilerActivity.CPU], record_shapes=True) as p:
        for _ in range(3):
            one_round()
    calls, steps = {}, 3 * ARGS.clients * ARGS.steps
    for e in p.events():
        if not e.name.startswith("ProfilerStep"):
            calls.setdefault((e.name, str(e.input_shapes), str(e.concrete_inputs)), []).append(e.self_cpu_time_total)
    total = {}
    for (name, *_), times in calls.items():
        n, us = total.get(name, (0, 0.0))
        total[name] = n + len(times), us + min(times) * len(times)
    print(f"{'operator':56} {'calls':>6} {'ms per client-step':>18}")
    for name, (n, us) in sorted(total.items(), key=lambda t: -t[1][1])[:18]:
        print(f"{name[:56]:56} {n / steps:6.1f} {us / 1e3 / steps:18.3f}")
    print(f"{'all':56} {'':6} {sum(us for _, us in total.values()) / 1e3 / steps:18.3f}")


class Processes:
    """Processes of one thread, one for each core; all measure at the same time."""

    def __init__(self, args):
        own = max(1, args.clients // args.threads)
        files = [w for f, v in (("--data", args.data), ("--init-from", args.init_from)) if v for w in (f, v)]
        self.children = [subprocess.Popen(
            [sys.executable, __file__, "--net", args.net, "--variant", args.variant.removesuffix("-procs"),
             "--precision", args.precision, "--threads", "1", "--cpus", str(cpu), "--clients", str(own),
             "--steps", str(args.steps), "--batch", str(args.batch), *files, "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for cpu in CPUS]

    def say(self, line):
        for c in self.children:
            c.stdin.write(line)
            c.stdin.flush()

    def hear(self):
        return [json.loads(c.stdout.readline()) for c in self.children]

    def serve(self):
        print(json.dumps(self.hear()[0]), flush=True)
        for line in sys.stdin:
            if not line.startswith("go"):
                break
            self.say(line)
            parts = self.hear()
            speeds = [p["client_steps_per_s"] for p in parts]  # side by side, so that they add up
            cpu_ms = sum(s * p["cpu_ms"] for s, p in zip(speeds, parts)) / sum(speeds)
            print(json.dumps({"client_steps": sum(p["client_steps"] for p in parts), "client_steps_per_s": sum(speeds),
                              "wall_ms": 1e3 / sum(speeds), "cpu_ms": cpu_ms}), flush=True)
        for c in self.children:
            c.stdin.close()
            c.wait()


def main():
    if "procs" in HOW:
        Processes(ARGS).serve()
        return 0
    if ARGS.check:
        return check(ARGS)
    one_round = make(ARGS)
    if ARGS.profile:
        profile(one_round)
    elif ARGS.serve:
        work.serve(one_round, ARGS.clients * ARGS.steps, versions())
    else:
        one_round()
        one_round()
        print(json.dumps(work.measure(one_round, ARGS.clients * ARGS.steps, 5)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
