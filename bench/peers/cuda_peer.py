#!/usr/bin/env python3
"""Federated rounds in PyTorch on a card, as fast as we can make them.

A variant is a word of parts that are joined by a dash:

    loop      one client after another; or
    grouped   all K clients at once, in grouped convolutions and batched products; or
    vmap      all K clients at once, by torch.func's vmap of grad; or
    im2col    all K clients at once, of batched products alone, with gradients by hand (torch_im2col.py)
    cl        channels last (loop and grouped)
    compile   torch.compile of the whole local step; of a residual net the loss and its gradient
    graph     a CUDA graph: of all local steps of a client, or of all clients
    streamsN  loop with graph: N clients at the same time, on streams of their own

Bytes of images stay on the card. The host draws the batches of the next round while the card trains, and copies them
once a round. Without graph and compile, loop is what people write: eager, with autograd and torch.optim.SGD.
"""
import argparse
import gc
import json
import os
import statistics
import sys
import time
import traceback

import numpy as np
import torch
import torch.nn.functional as F

import torch_im2col
import torch_nets
import work

BASES = ("loop", "grouped", "vmap", "im2col")
# Of the largest difference after one step, as a part of the largest update.
LIMIT = {"tf32": 5e-2, "fp32": 1e-2, "bf16": 2e-1}
DISTINCT = 3  # clients of a check of a plain net; the others of its K train on the same batches


class Images:
    """Images on the card: a pixel is 3 bytes in an int32, and is of the border where it is outside."""

    def __init__(self, data, images, labels, device):
        self.side, border = data.side, work.BORDER
        framed = np.zeros((len(images), *[self.side + 2 * border] * 2, 4), np.uint8)
        framed[:, border:-border, border:-border, :3] = images
        self.pixels = torch.from_numpy(framed.view(np.int32)[..., 0]).to(device)  # [N,40,40]
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(device)
        mean, std = np.float64(data.mean), np.float64(data.std)
        fourth = lambda v: torch.tensor([*v, 0.0], dtype=torch.float32, device=device)  # noqa: E731
        self.scale, self.shift = fourth(1 / (255 * std)), fourth(-mean / std)
        self.axis = torch.arange(self.side, device=device)

    def batches(self, plan, order, channels, dtype):
        """Images in an order of their axes G, B, H, W, C, and labels [G,B]; plan [G,B+3] has index, crop and flip."""
        index, (row, column, flip) = plan[:, :-3], plan[:, -3:].unsqueeze(1).unbind(2)
        rows, columns = row + self.axis, column + torch.where(flip != 0, self.side - 1 - self.axis, self.axis)
        inside = [(at >= work.BORDER) & (at < work.BORDER + self.side) for at in (rows, columns)]
        seen = (inside[0].unsqueeze(2) & inside[1].unsqueeze(1)).unsqueeze(3) * self.shift  # [G,H,W,4]
        pixels = self.pixels[index[:, :, None, None], rows[:, None, :, None], columns[:, None, None, :]].contiguous()
        u = pixels.view(torch.uint8).view(*pixels.shape, 4)[..., :channels].permute(order)
        x = torch.empty(u.shape, dtype=dtype, device=u.device)
        scale = self.scale[:channels].view(1, 1, 1, 1, channels).permute(order)
        torch.addcmul(seen[..., :channels].unsqueeze(1).permute(order), u, scale, out=x)
        return x, self.labels[index]


class Model:
    """A variant's weights and its local step. k is the number of clients side by side."""

    def __init__(self, net, how, precision, k, lr, device):
        self.net, self.how, self.base, self.k, self.lr, self.device = net, how, how[0], k, lr, device
        self.bf16 = precision == "bf16"
        self.dtype = torch.bfloat16 if self.bf16 else torch.float32
        self.memory = torch.channels_last if "cl" in how else torch.contiguous_format
        self.plain = net in work.PLAIN
        self.eager = self.base == "loop" and not {"graph", "compile"} & set(how)
        if not self.plain and self.base in ("vmap", "im2col"):
            raise ValueError(f"{self.base}: only of nets without BatchNorm")
        self.loss = self.cast_loss
        self.step = {"im2col": self.im2col_step, "vmap": self.vmap_step}.get(self.base, self.autograd_step)
        if "compile" in how and not self.plain:
            self.loss = torch.compile(self.cast_loss, dynamic=False)
        elif "compile" in how:
            whole = self.whole_step if self.step == self.autograd_step else self.step
            self.step = torch.compile(whole, dynamic=False)

    def start(self, weights):
        """{name: tensor} of k clients, that the server sends."""
        if self.base in ("loop", "grouped"):
            out = torch_nets.stack(weights, self.k, self.memory)
            return {n: w.detach().to(self.device) for n, w in out.items()}
        one = torch_nets.stack(weights, 1) if self.base == "vmap" else torch_im2col.start(self.net, weights)
        return {n: w.detach().to(self.device).unsqueeze(0).repeat(self.k, *[1] * w.dim()) for n, w in one.items()}

    def sums(self, p):
        """[tensor]: the sums over clients."""
        if self.base in ("vmap", "im2col"):
            return [w.sum(0) for w in p.values()]
        return list(p.values()) if self.k == 1 else [w.sum(0) for w in torch_nets.unstack(p, self.k).values()]

    def arrays(self, p):
        """{name: array} in the layouts of work.shapes, of weights as sums makes them."""
        if self.base == "im2col":
            return torch_im2col.finish(self.net, p)
        return {n: np.ascontiguousarray(p[n].cpu().reshape(s).numpy()) for n, s in work.shapes(self.net).items()}

    def inputs(self, images, plan):
        """Pairs of x and y, one for each local step, in the layout of the variant; plan [E,k,B+3]."""
        dtype = torch.float32 if self.eager else self.dtype
        if self.k == 1 and self.base in ("loop", "grouped"):  # the batches of all steps at once
            cl = "cl" in self.how
            x, y = images.batches(plan[:, 0], (0, 1, 2, 3, 4) if cl else (0, 1, 4, 2, 3), 3, dtype)
            yield from zip((x.permute(0, 1, 4, 2, 3) if cl else x).unbind(0), y.unbind(0))
            return
        for of_step in plan.unbind(0):
            if self.base == "im2col":
                yield images.batches(of_step, (0, 1, 2, 3, 4), torch_im2col.CHANNELS, dtype)
            elif self.base == "vmap":
                yield images.batches(of_step, (0, 1, 4, 2, 3), 3, dtype)
            elif "cl" in self.how:
                x, y = images.batches(of_step, (1, 2, 3, 0, 4), 3, dtype)
                yield x.flatten(3).permute(0, 3, 1, 2), y
            else:
                x, y = images.batches(of_step, (1, 0, 4, 2, 3), 3, dtype)
                yield x.flatten(1, 2), y

    def cast_loss(self, p, x, y):
        # No cache of rounded weights: a graph must round them again in each step.
        with torch.autocast(self.device, torch.bfloat16, self.bf16, cache_enabled=False):
            return torch_nets.loss(self.net, p, x, y, 1 if self.base == "vmap" else self.k, "compile" in self.how)

    def descend(self, p, grads):
        with torch.no_grad():
            torch._foreach_add_([w for n, w in p.items() if work.learned(n)], list(grads), alpha=-self.lr)

    def autograd_step(self, p, x, y):
        with torch.enable_grad():
            loss = self.loss(p, x, y)
            grads = torch.autograd.grad(loss, [w for n, w in p.items() if work.learned(n)])
        self.descend(p, grads)

    def whole_step(self, p, x, y):
        grads = torch.func.grad(self.cast_loss)(p, x, y)
        for name, w in p.items():
            w.add_(grads[name], alpha=-self.lr)

    def vmap_step(self, p, x, y):
        grads = torch.func.vmap(torch.func.grad(self.cast_loss))(p, x, y)
        for name, w in p.items():
            w.add_(grads[name], alpha=-self.lr)

    def im2col_step(self, p, x, y):
        torch_im2col.step(self.net, p, x, y, self.lr, self.dtype, "compile" in self.how)


class Lane:
    """One set of weights that clients are trained in, in its own stream where it has one."""

    def __init__(self, model, images, start, steps, batch, stream):
        self.model, self.images, self.begin, self.stream, self.graph = model, images, start, stream, None
        self.plan = torch.zeros((steps, model.k, batch + 3), dtype=torch.int64, device=model.device)
        by_autograd = model.step == model.autograd_step
        self.p = {n: w.clone(memory_format=torch.preserve_format).requires_grad_(by_autograd and work.learned(n))
                  for n, w in start.items()}
        with torch.no_grad():
            self.total = [torch.zeros_like(w) for w in model.sums(self.p)]
        self.optimizer = None
        if model.eager:
            self.optimizer = torch.optim.SGD([w for w in self.p.values() if w.requires_grad], model.lr, fused=True)

    @torch.no_grad()
    def train(self):
        """All local steps from the server's weights; adds their ends to the total."""
        torch._foreach_copy_(list(self.p.values()), list(self.begin.values()))
        for x, y in self.model.inputs(self.images, self.plan):
            if self.optimizer is None:
                self.model.step(self.p, x, y)
                continue
            self.optimizer.zero_grad(set_to_none=True)
            with torch.enable_grad():
                self.model.loss(self.p, x, y).backward()
            self.optimizer.step()
        torch._foreach_add_(self.total, self.model.sums(self.p))

    def capture(self):
        """Makes the graph. Libraries choose their algorithms and take their memory in the steps before it."""
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                self.train()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.train()
        torch.cuda.synchronize()

    def go(self, plan):
        self.plan.copy_(plan, non_blocking=True)
        self.graph.replay() if self.graph else self.train()


class Rounds:
    """Makes rounds of K clients with E local steps on batches of B images."""

    def __init__(self, model, images, weights, clients, steps, batch):
        self.model, self.clients, self.device = model, clients, model.device
        card, start = self.device == "cuda", model.start(weights)
        n = next((int(part[7:]) for part in model.how if part.startswith("streams")), 1)
        graph = card and "graph" in model.how
        streams = [torch.cuda.Stream() if graph else None for _ in range(min(n, clients // model.k))]
        self.lanes = [Lane(model, images, start, steps, batch, s) for s in streams]
        shape = steps, clients, batch + 3
        self.plan = torch.zeros(shape, dtype=torch.int64, device=self.device)
        # Two of them: one is copied to the card while the next round is drawn into the other.
        self.host = [torch.zeros(shape, dtype=torch.int64, pin_memory=card) for _ in range(2)]
        if graph:
            gc.collect()  # so that no older graph is destroyed during a capture
            for lane in self.lanes:
                lane.capture()

    def draw(self, plan):
        """Keeps the draws of the next round: index [K,E,B], row, column and flip [K,E]."""
        self.host.reverse()
        host = self.host[0].numpy()
        host[..., :-3] = plan[0].transpose(1, 0, 2)
        for at, part in zip((-3, -2, -1), plan[1:]):
            host[..., at] = part.T

    @torch.no_grad()
    def round(self):
        """Starts a round on what was drawn, and returns {name: tensor}, the mean of the clients' weights."""
        self.plan.copy_(self.host[0], non_blocking=True)
        here = torch.cuda.current_stream() if self.device == "cuda" else None
        for lane in self.lanes:
            torch._foreach_zero_(lane.total)
        for lane in self.lanes:
            if lane.stream:
                lane.stream.wait_stream(here)
        for i, first in enumerate(range(0, self.clients, self.model.k)):
            lane, plan = self.lanes[i % len(self.lanes)], self.plan[:, first:first + self.model.k]
            if lane.stream:
                with torch.cuda.stream(lane.stream):
                    lane.go(plan)
            else:
                lane.go(plan)
        for lane in self.lanes:
            if lane.stream:
                here.wait_stream(lane.stream)
        total = torch._foreach_div(self.lanes[0].total, self.clients)
        for lane in self.lanes[1:]:
            torch._foreach_add_(total, lane.total, alpha=1 / self.clients)
        return dict(zip(self.lanes[0].p, total))


class Plain:
    """One local step of some clients in float64 on the processor, one after another, with crops by numpy."""

    made = {}  # {(net, B, lr): Plain}

    @classmethod
    def of(cls, net, batch, lr):
        key = net, batch, lr
        if key not in cls.made:
            cls.made[key] = cls(*key)
        return cls.made[key]

    def __init__(self, net, batch, lr):
        self.draws, self.weights = work.Draws(net, batch), work.start_weights(net)
        self.distinct = DISTINCT if net in work.PLAIN else 1  # a float64 step of a residual net takes long
        self.plan, self.ends, data = self.draws.round(self.distinct, 1), [], self.draws.data
        for index, row, column, flip in zip(*(part[:, 0] for part in self.plan)):
            x = (self.draws.images[index] / 255 - np.float64(data.mean)) / np.float64(data.std)
            x = np.pad(x, ((0, 0), (work.BORDER,) * 2, (work.BORDER,) * 2, (0, 0)))
            x = x[:, row:row + data.side, column:column + data.side]
            x = np.ascontiguousarray((x[:, :, ::-1] if flip else x).transpose(0, 3, 1, 2))
            p = torch_nets.stack({n: w.astype(np.float64) for n, w in self.weights.items()}, 1)
            # torch_nets.loss would round the outputs to float32.
            loss = F.cross_entropy(torch_nets.forward(net, p, torch.from_numpy(x), 1),
                                   torch.from_numpy(self.draws.labels[index].astype(np.int64)))
            own = [w for w in p.values() if w.requires_grad]
            with torch.no_grad():
                for w, g in zip(own, torch.autograd.grad(loss, own)):
                    w.sub_(g, alpha=lr)
            self.ends.append({n: w.detach().numpy().reshape(s) for (n, w), s in
                              zip(p.items(), work.shapes(net).values())})

    def difference(self, model, images, clients, batch):
        """How far a round of one local step is from the plain one; clients i, i + distinct, … have equal batches."""
        who = [i % self.distinct for i in range(clients)]
        rounds = Rounds(model, images, self.weights, clients, 1, batch)
        rounds.draw(tuple(part[who] for part in self.plan))
        got = model.arrays(rounds.round())
        want = {n: sum(self.ends[i][n] for i in who) / clients for n in self.weights}
        return work.largest_difference(got, want, self.weights)


class Job:
    """A variant that is ready to be measured."""

    def __init__(self, net, precision, clients, steps, batch, variant, device="cuda", lr=0.05, draws=None):
        self.what = {"variant": variant, "net": net, "precision": precision, "K": clients, "E": steps, "B": batch}
        self.device, self.clients, self.steps, how = device, clients, steps, variant.split("-")
        tf32 = precision == "tf32"
        # The older of two interfaces: torch.compile reads it, and they must not be mixed.
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True
        if device == "cuda":
            torch.zeros(1, device="cuda")  # makes the context; there are no statistics before it
            torch.cuda.reset_peak_memory_stats()
        started = time.perf_counter()
        plain = Plain.of(net, batch, lr)
        model = Model(net, how, precision, 1 if how[0] == "loop" else clients, lr, device)
        images = Images(plain.draws.data, plain.draws.images, plain.draws.labels, device)
        self.check = plain.difference(model, images, clients, batch)
        self.ok, self.limit = bool(self.check <= LIMIT[precision]), LIMIT[precision]
        self.what.update({"check": float(f"{self.check:.3g}"), "limit": self.limit, "ok": self.ok})
        self.rounds = None
        if not draws:
            return
        self.draws = draws
        if len(draws.images) != len(plain.draws.images):  # of a folder; random ones are those of the check
            images = Images(draws.data, draws.images, draws.labels, device)
        self.rounds = Rounds(model, images, plain.weights, clients, steps, batch)
        self.rounds.draw(self.draws.round(clients, steps))
        for _ in range(2):
            self.one_round()
        self.what["ready_s"] = round(time.perf_counter() - started, 1)

    def one_round(self):
        self.rounds.round()
        self.rounds.draw(self.draws.round(self.clients, self.steps))  # while the card trains
        if self.device == "cuda":
            torch.cuda.synchronize()

    def measure(self, seconds):
        self.one_round()
        begun, times = time.perf_counter(), []
        while len(times) < 3 or time.perf_counter() - begun < seconds:
            at = time.perf_counter()
            self.one_round()
            times.append(1e6 * (time.perf_counter() - at) / (self.clients * self.steps))
        out = {"us_per_client_step": statistics.median(times), "us_least": min(times), "us_most": max(times)}
        out = {n: float(f"{v:.4g}") for n, v in out.items()}
        out |= {"rounds": len(times), "torch": torch.__version__, "cuda": torch.version.cuda}
        if self.device == "cuda":
            out |= {"cudnn": torch.backends.cudnn.version(), "card": torch.cuda.get_device_name(),
                    "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2)}
        return {**self.what, **out}


def free(device):
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def attempt(f, what):
    """f(), or what went wrong."""
    try:
        return f()
    except Exception as e:  # of any library: a variant that fails must not end the others
        traceback.print_exc()
        while e.__context__:  # the end of a failed capture hides what failed in it
            e = e.__context__
        return {**what, "error": f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"}


def serve(device):
    """For each line `prepare NET PRECISION K E B VARIANT` on standard input, and each line `measure SECONDS`, a line of
    JSON."""
    job, answers = None, os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        word, *of = line.split()
        if word == "measure":
            got = attempt(lambda: job.measure(float(of[0])), job.what)
            job = None
        else:
            net, precision, *sizes, variant = of
            k, e, b = map(int, sizes)
            draws = work.Draws(net, b)
            made = attempt(lambda: Job(net, precision, k, e, b, variant, device, draws=draws), {"variant": variant})
            job, got = (made, {**made.what, "ready": True}) if isinstance(made, Job) else (None, made)
        made = None
        answers.write(json.dumps(got) + "\n")
        if job is None:
            free(device)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    ap.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: for checks, without graphs")
    ap.add_argument("--net", choices=[n for n in work.NETS if n != "linear-mnist"], default="cnn-cifar10")
    ap.add_argument("--variant", default="im2col-graph", help="parts joined by a dash, as this file's head explains")
    ap.add_argument("--precision", choices=LIMIT, default="tf32")
    ap.add_argument("--clients", type=int, default=37, help="K")
    ap.add_argument("--steps", type=int, default=10, help="E")
    ap.add_argument("--batch", type=int, default=128, help="B")
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--data", help="folder of CIFAR-10's binary version (default: random images)")
    ap.add_argument("--seconds", type=float, default=2)
    what = ap.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with a plain step; status 1 if it differs")
    what.add_argument("--serve", action="store_true", help="prepare and measure as lines on standard input say")
    args = ap.parse_args()
    known = {*BASES, "cl", "compile", "graph"}
    if any(p not in known and not p.removeprefix("streams").isdigit() for p in args.variant.split("-")):
        ap.error(f"--variant: {args.variant}, want parts of {', '.join(sorted(known))}, streamsN")
    if args.serve:
        serve(args.device)
        return 0
    job = Job(args.net, args.precision, args.clients, args.steps, args.batch, args.variant, args.device, args.lr,
              None if args.check else work.Draws(args.net, args.batch, args.data))
    print(json.dumps(job.what if args.check else job.measure(args.seconds)), flush=True)
    return 0 if job.ok else 1


if __name__ == "__main__":
    sys.exit(main())
