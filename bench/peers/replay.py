#!/usr/bin/env python3
"""Replays a dumped round in PyTorch and says whether the weights agree.

    rollcall run --method fedavg-active --data cifar10 --rounds 1 --dump DIR …
    python3 bench/peers/replay.py --dump DIR --data cifar-10-batches-bin
    rollcall run --method fedavg-active --data leaf --rounds 1 --dump DIR …
    python3 bench/peers/replay.py --dump DIR        # leaf and binary: the dump holds their samples

The dump holds .npy files and names.json (docs/replay.md): the start w0 [P], every client's result w1 [K,P] and
the server's w_server [P] in PyTorch's state_dict order, and all that was drawn: batches, crops, flips, dropout masks. So
nothing random is left, and this program, which shares no line with rollcall, trains each client and compares.

A client's error is the largest difference of a weight, less four roundings of the largest weight, divided by the largest update of
a weight. Correct float32 programs agree to 1e-5 after one step. After ten most agree to 1e-5 still, but a maximum of the
pooling or a ReLU that two programs round to different sides sets them apart: PyTorch with oneDNN and PyTorch without
differ by up to 4e-3 on some clients. So each client is trained three times, in float32 with and without oneDNN and in
float64; its error is that to the nearest of them, and the spread of the three is printed beside it. The default tolerance
is 1e-3. Residual nets have many ReLUs, and batch normalisation passes every difference on: after one step they agree as
well, after two PyTorch's three variants differ by up to 1e-2 of the weights' largest update, so the default there is 3e-2. Their
running statistics are measured apart from the weights.

A run of the CPU engine in bf16 or bf16x3 is replayed in that precision: the operands of every matrix product, forward
and backward, become one or two bfloat16, and all else stays as it is. Where two programs differ in a last bit, one may
round an operand up and the other down, to bfloat16 that are a part in 128 apart. After one step they agree as in fp32;
after ten PyTorch's three variants differ by up to 5e-2 in bf16 and 3e-2 in bf16x3, so the defaults there are 6e-2 and
1e-2. Residual nets in bf16 are up to 1e-2 apart after one step, so the default is 3e-2 there. The
CUDA engine in tf32 or bf16 rounds activations as well: its runs are replayed in float32, and are further off by their own
rounding. Status: 0 agreement, 1 disagreement or an unusable dump, 2 usage.
"""
import argparse
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

import torch_nets
import work

PARTS = {"bf16": 1, "bf16x3": 2}  # precisions of the CPU engine that round operands: the bfloat16 of one operand


class Unusable(Exception):
    """The dump or the data are not what they should be."""


def products(f, a, b, parts):
    """f(a, b), which is linear in both, with operands of so many bfloat16; the product of two low parts is left out."""

    def split(x):
        out = [x.to(torch.bfloat16).to(x.dtype)]
        return out + [(x - out[0]).to(torch.bfloat16).to(x.dtype)] if parts == 2 else out

    a, b = split(a), split(b)
    return f(a[0], b[0]) if parts == 1 else f(a[1], b[0]) + f(a[0], b[0]) + f(a[0], b[1])


class Conv(torch.autograd.Function):
    """A convolution without bias whose three matrix products have rounded operands."""

    @staticmethod
    def forward(ctx, x, w, stride, pad, parts):
        ctx.save_for_backward(x, w)
        ctx.how = stride, pad, parts
        return products(lambda x, w: F.conv2d(x, w, stride=stride, padding=pad), x, w, parts)

    @staticmethod
    def backward(ctx, g):
        (x, w), (stride, pad, parts) = ctx.saved_tensors, ctx.how
        dx = products(lambda w, g: torch.nn.grad.conv2d_input(x.shape, w, g, stride, pad), w, g, parts) if ctx.needs_input_grad[0] else None
        dw = products(lambda x, g: torch.nn.grad.conv2d_weight(x, w.shape, g, stride, pad), x, g, parts)
        return dx, dw, None, None, None


class Linear(torch.autograd.Function):
    """A linear layer without bias whose three matrix products have rounded operands."""

    @staticmethod
    def forward(ctx, x, w, parts):
        ctx.save_for_backward(x, w)
        ctx.parts = parts
        return products(lambda x, w: x @ w.t(), x, w, parts)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return products(lambda g, w: g @ w, g, w, ctx.parts), products(lambda g, x: g.t() @ x, g, x, ctx.parts), None


class Rounded:
    """The products of torch_nets.py with operands of so many bfloat16."""

    def __init__(self, parts):
        self.parts = parts

    def conv2d(self, x, w, bias=None, stride=1, padding=0, groups=1):
        y = Conv.apply(x, w, stride, padding, self.parts)
        return y if bias is None else y + bias.view(-1, 1, 1)

    def linear(self, x, w, bias):
        return Linear.apply(x, w, self.parts) + bias


class Dump:
    """The files of a dump, checked against each other."""

    def __init__(self, folder):
        self.folder = folder
        try:
            with open(os.path.join(folder, "names.json"), encoding="utf-8") as f:
                self.names = json.load(f)
        except (OSError, ValueError) as e:
            raise Unusable(f"{folder}: names.json: {e}") from e
        missing = {"net", "data", "method", "params", "mean", "std", "dropout", "weight_decay", "clip", "momentum", "server_lr"} - set(self.names)
        if missing:
            raise Unusable(f"{folder}: names.json: lacks {', '.join(sorted(missing))}")
        net = self.names["net"]
        if net not in work.PLAIN and net not in work.RESIDUAL:
            raise Unusable(f"{folder}: net {net!r}, want one of {', '.join([*work.PLAIN, *work.RESIDUAL])}")
        got, want = [(p["name"], list(p["shape"])) for p in self.names["params"]], [(n, list(s)) for n, s in work.shapes(net).items()]
        if got != want:
            raise Unusable(f"{folder}: names.json: parameters {got}, want those of {net}: {want}")
        # Dumps of older programs do not say what computed them.
        engine, precision = self.names.get("engine", "cpu-unknown"), self.names.get("precision", "fp32")
        if engine.startswith("cpu-") and precision != "fp32" and precision not in PARTS:
            raise Unusable(f"{folder}: precision {precision!r} of {engine}, want fp32, {' or '.join(PARTS)}")
        self.parts = PARTS.get(precision, 0) if engine.startswith("cpu-") else 0
        self.of = f"of {engine} in {precision}, replayed in {precision if self.parts else 'float32 and float64'}"
        self.params = want
        self.shapes = [s for _, s in want]
        p = sum(int(np.prod(s)) for s in self.shapes)
        self.w0, self.server = self.read("w0", np.float32, (p,)), self.read("w_server", np.float32, (p,))
        self.clients = self.read("clients", np.int32, (None,))
        k = len(self.clients)
        self.w1 = self.read("w1", np.float32, (k, p))
        self.index = self.read("index", np.int32, (k, None, None))
        _, e, b = self.index.shape
        self.crop = self.read("crop", np.int32, (k, e, b, 2))
        self.flip = self.read("flip", np.uint8, (k, e, b))
        self.lr = float(self.read("lr", np.float32, None).reshape(-1)[0])
        self.masks = [
            (self.read("dropout_" + d["name"], np.uint8, (k, e, b, None)), float(d["rate"])) for d in self.names["dropout"]
        ]
        drops = work.PLAIN.get(net, ()).count(("drop",))
        if len(self.masks) != drops:
            raise Unusable(f"{folder}: {len(self.masks)} dropout layers, {net} has {drops}")
        self.x, self.y = None, None
        if net in work.FEATURES:
            self.x, self.y = self.read("x", np.float32, (k, e, b, work.FEATURES[net])), self.read("y", np.uint8, (k, e, b))
        if self.crop.size and not (self.crop.min() >= 0 and self.crop.max() <= 2 * work.BORDER):
            raise Unusable(f"{folder}: crop.npy: crops at {self.crop.min()} … {self.crop.max()}, want 0 … {2 * work.BORDER}")

    def read(self, name, dtype, shape):
        path = os.path.join(self.folder, name + ".npy")
        try:
            a = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as e:
            raise Unusable(f"{path}: {e}") from e
        fits = shape is None or (a.ndim == len(shape) and all(w is None or w == n for n, w in zip(a.shape, shape)))
        if a.dtype != dtype or not fits or (shape is None and a.size != 1):
            want = "one number" if shape is None else "[" + ",".join("?" if n is None else str(n) for n in shape) + "]"
            raise Unusable(f"{path}: {a.dtype} {list(a.shape)}, want {np.dtype(dtype)} {want}")
        return a


def cifar10(folder):
    """The training set in file order: images uint8 [50000,32,32,3], labels int64."""
    inner = os.path.join(folder, "cifar-10-batches-bin")
    try:
        return work.CIFAR10.read(inner if os.path.isdir(inner) else folder)
    except (OSError, ValueError) as e:
        raise Unusable(str(e)) from e


def batch(dump, images, labels, k, step):
    """x float32 [samples,3,32,32] or [samples,features], y [samples] and the dropout masks of one client-step, padding left out."""
    places = np.flatnonzero(dump.index[k, step] >= 0)
    if dump.x is not None:
        return torch.from_numpy(dump.x[k, step, places]), torch.from_numpy(dump.y[k, step, places].astype(np.int64)), []
    index = dump.index[k, step, places]
    if index.size and index.max() >= len(labels):
        raise Unusable(f"client {dump.clients[k]} step {step}: sample {index.max()}, want 0 … {len(labels) - 1}")
    x = torch.from_numpy(images[index]).permute(0, 3, 1, 2).float().div(255)
    x = (x - torch.tensor(dump.names["mean"]).view(3, 1, 1)) / torch.tensor(dump.names["std"]).view(3, 1, 1)
    x = F.pad(x, (work.BORDER,) * 4)
    out = torch.empty(len(places), 3, 32, 32)
    for i, b in enumerate(places):
        r, c = (int(v) for v in dump.crop[k, step, b])
        crop = x[i, :, r : r + 32, c : c + 32]
        out[i] = crop.flip(2) if dump.flip[k, step, b] else crop
    masks = [(torch.from_numpy(mask[k, step, places] != 0), rate) for mask, rate in dump.masks]
    return out, torch.from_numpy(labels[index]), masks


VARIANTS = ((torch.float32, True), (torch.float32, False), (torch.float64, True))  # element type, oneDNN


def train(dump, images, labels, k, dtype, onednn):
    """Weights float64 [P] of client k after its steps from w0; a step without samples is skipped."""
    torch.backends.mkldnn.enabled = onednn
    weights, at = {}, 0
    for name, shape in dump.params:
        n = int(np.prod(shape))
        weights[name], at = dump.w0[at : at + n].reshape(shape), at + n
    params, names = torch_nets.stack(weights, 1, dtype=dtype), dump.names
    own = [p for p in params.values() if p.requires_grad]
    optimizer = torch.optim.SGD(own, lr=dump.lr, momentum=names["momentum"] or 0, weight_decay=names["weight_decay"] or 0)
    for step in range(dump.index.shape[1]):
        x, y, masks = batch(dump, images, labels, k, step)
        if not len(y):
            continue
        optimizer.zero_grad()
        by = Rounded(dump.parts) if dump.parts else torch_nets.Products
        out = torch_nets.forward(names["net"], params, x.to(dtype), 1, by=by, masks=masks)
        loss = F.cross_entropy(out, y) if out.shape[1] > 1 else F.binary_cross_entropy_with_logits(out[:, 0], y.to(dtype))
        loss.backward()
        if names["clip"] is not None:
            torch.nn.utils.clip_grad_norm_(own, names["clip"])
        optimizer.step()
    return torch.cat([p.detach().reshape(-1) for p in params.values()]).double().numpy()


def distance(a, b):
    """The largest difference beyond four roundings of the largest weight."""
    apart = np.abs(a.astype(np.float64) - b).max()
    return max(0.0, float(apart - 4 * np.spacing(np.float32(np.abs(b).max())))) if np.isfinite(apart) else float("inf")


def compare(name, got, wants, start, tolerance, parts=(slice(None),)):
    """Prints one line; returns whether the dumped weights agree with the nearest of the replayed ones, and that one. Every part
    is measured by its own largest update, and the worst is printed.
    """
    good, worst, want = True, None, min(wants, key=lambda w: distance(got, w))
    for part in parts:
        largest = float(np.abs(want[part] - start[part]).max())
        apart = distance(got[part], want[part]), max(distance(a[part], b[part]) for a in wants for b in wants)
        relative, spread = (d / largest if largest > 0 else d for d in apart)
        good = good and relative <= tolerance  # not if NaN
        if worst is None or not relative <= worst[1]:
            worst = largest, relative, spread
    verdict = "ok" if good else "DIFFERS"
    print(f"{name:14} largest update {worst[0]:.3e}  error {worst[1]:.2e}  spread of PyTorch {worst[2]:.2e}  {verdict}", flush=True)
    return good, want


def replay(dump, images, labels, tolerance):
    if tolerance is None:
        tolerance, residual = 1e-3, dump.names["net"] in work.RESIDUAL
        if dump.index.shape[1] > 1:
            tolerance = max((1e-3, 6e-2, 1e-2)[dump.parts], 3e-2 if residual else 0)
        elif residual and dump.parts == 1:
            tolerance = 3e-2
    print(dump.of)
    good, total, residual = 0, np.zeros(len(dump.w0)), dump.names["net"] in work.RESIDUAL
    weights = np.concatenate([np.full(int(np.prod(shape)), work.learned(name)) for name, shape in dump.params])
    parts = (weights, ~weights) if residual else (slice(None),)
    for k, client in enumerate(dump.clients):
        trained = [train(dump, images, labels, k, *v) for v in VARIANTS]
        ok, w1 = compare(f"client {client}", dump.w1[k], trained, dump.w0, tolerance, parts)
        if residual:
            w1 = dump.w1[k].astype(np.float64)  # or the clients' differences would count twice
        total += w1 - dump.w0
        good += ok
    n, checks = len(dump.clients), len(dump.clients)
    method = dump.names["method"]
    if method == "fedavg-active":
        server = dump.w0 + dump.names["server_lr"] * total / max(n, 1)
        good += compare("server", dump.server, [server], dump.w0, tolerance)[0]
        checks += 1
    else:
        print(f"server         not compared: known for fedavg-active, not for {method}")
    verdict = "agrees" if good == checks else "DISAGREES"
    print(f"replay: {verdict}: {good} of {checks} within {tolerance:g} of the largest update (PyTorch {torch.__version__})")
    return 0 if good == checks else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--dump", required=True, help="folder written by rollcall run --dump")
    parser.add_argument("--data", help="folder of CIFAR-10's binary version (data_batch_1.bin …); leaf and binary need none")
    parser.add_argument("--tolerance", type=float, help="largest allowed ratio (default 0.001; of several steps up to 0.06)")
    args = parser.parse_args()
    try:
        dump = Dump(args.dump)
        images, labels = None, None
        if dump.x is None:
            if dump.names["data"] != "cifar10":
                raise Unusable(f"{args.dump}: data set {dump.names['data']!r}, want cifar10, leaf or binary")
            if args.data is None:
                parser.error("--data: want the folder of CIFAR-10")
            images, labels = cifar10(args.data)
        return replay(dump, images, labels, args.tolerance)
    except Unusable as e:
        print(f"replay: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
