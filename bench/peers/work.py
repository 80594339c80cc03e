"""What all peers share: the nets, the federated work, its random draws, and the protocol of compare.py.

The work is `rollcall bench`'s: K clients start at the same weights; each makes E plain SGD steps on batches of B images
of its own; the server takes the mean. Images are bytes and stay in memory. One crop of the image in a border of 4
zeros, and one flip, are drawn for each batch, as FedAWE's released code draws them; MNIST has neither. Nothing is
evaluated.
"""
import argparse
import gzip
import json
import os
import statistics
import sys
import time

import numpy as np

BORDER, CLASSES = 4, 10


class CIFAR10:
    side, channels, augmented = 32, 3, True
    mean, std = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)

    @staticmethod
    def read(folder):
        """Images uint8 [50000,32,32,3] and labels int64 of the binary version, in the order of its files."""
        parts = []
        for i in range(1, 6):
            path = os.path.join(folder, f"data_batch_{i}.bin")
            parts.append(np.fromfile(path, np.uint8))
            if parts[-1].size != 10000 * 3073:
                raise ValueError(f"{path}: {parts[-1].size} bytes, want {10000 * 3073}")
        data = np.concatenate(parts).reshape(-1, 3073)
        images = data[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), data[:, 0].astype(np.int64)


class MNIST:
    side, channels, augmented = 28, 1, False
    mean, std = (0.1307,), (0.3081,)

    @staticmethod
    def read(folder):
        """Images uint8 [60000,28,28,1] and labels int64, of the files with and without .gz."""
        def content(name, header):
            path = os.path.join(folder, name)
            with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as f:
                return np.frombuffer(f.read(), np.uint8, offset=header)

        return (content("train-images-idx3-ubyte", 16).reshape(-1, 28, 28, 1).copy(),
                content("train-labels-idx1-ubyte", 8).astype(np.int64))


# Layers of the plain nets: conv (channels out, window, pad) brings ReLU and 2×2 max pooling; fc (features out) brings
# ReLU but for the last; drop is a dropout layer. A net of one output has the logit of class 1 of two.
PLAIN = {
    "cnn-cifar10": (("conv", 32, 3, 1), ("conv", 32, 3, 1), ("fc", 256), ("fc", 64), ("fc", 10)),
    "lenet5": (("conv", 6, 5, 0), ("conv", 16, 5, 0), ("fc", 120), ("fc", 84), ("fc", 10)),
    "linear-mnist": (("fc", 10),),
    # The others are only replayed, not measured.
    "cnn-svhn": (("conv", 32, 3, 1), ("conv", 32, 3, 1), ("fc", 128), ("fc", 10)),
    "cnn-cinic10": (("conv", 32, 3, 1), ("conv", 32, 3, 1), ("drop",), ("fc", 512), ("drop",), ("fc", 256), ("drop",),
                    ("fc", 10)),
    "cnn-cafed": (("conv", 32, 5, 0), ("conv", 64, 5, 0), ("fc", 2048), ("fc", 10)),
    "linear-synthetic": (("fc", 10),),
    "linear-binary": (("fc", 1),),
}
FEATURES = {"linear-synthetic": 60, "linear-binary": 10}  # nets that take so many real numbers in place of images
# Residual nets: channels of the first stage, stages, blocks a stage, whether shortcuts of another shape have weights.
RESIDUAL = {"resnet18": (64, 4, 2, True), "resnet20": (16, 3, 3, False)}
NETS = ("cnn-cifar10", "lenet5", "linear-mnist", *RESIDUAL)  # that are measured


def data_of(net):
    return MNIST if net == "linear-mnist" else CIFAR10


def blocks(net):
    """The blocks of a residual net: (name, channels in, channels out, stride, whether the shortcut has weights)."""
    first, stages, per_stage, project = RESIDUAL[net]
    before, out = first, []
    for s in range(stages):
        for i in range(per_stage):
            channels, stride = first << s, 2 if s and not i else 1
            out.append((f"layer{s + 1}.{i}", before, channels, stride, project and stride > 1))
            before = channels
    return out


def shapes(net):
    """{name: shape} of the parameters, in rollcall's order, which is torchvision's state_dict's."""
    out = {}

    def norm(name, c):
        for part in ("weight", "bias", "running_mean", "running_var"):
            out[f"{name}.{part}"] = (c,)

    if net in PLAIN:
        side, c, convs, features, n = data_of(net).side, data_of(net).channels, 0, FEATURES.get(net), 0
        for layer in PLAIN[net]:
            if layer[0] == "conv":
                convs += 1
                out[f"conv{convs}.weight"], out[f"conv{convs}.bias"] = (layer[1], c, layer[2], layer[2]), (layer[1],)
                side, c = (side + 2 * layer[3] - layer[2] + 1) // 2, layer[1]
            elif layer[0] == "fc":
                n, features = n + 1, features or side * side * c
                out[f"fc{n}.weight"], out[f"fc{n}.bias"], features = (layer[1], features), (layer[1],), layer[1]
        return out
    first, stages = RESIDUAL[net][:2]
    out["conv1.weight"] = (first, 3, 3, 3)
    norm("bn1", first)
    for name, before, channels, _, project in blocks(net):
        out[name + ".conv1.weight"] = (channels, before, 3, 3)
        norm(name + ".bn1", channels)
        out[name + ".conv2.weight"] = (channels, channels, 3, 3)
        norm(name + ".bn2", channels)
        if project:
            out[name + ".downsample.0.weight"] = (channels, before, 1, 1)
            norm(name + ".downsample.1", channels)
    out["fc.weight"], out["fc.bias"] = (CLASSES, first << stages - 1), (CLASSES,)
    return out


def learned(name):
    """Whether SGD changes a parameter: not the running statistics, which BatchNorm does."""
    return "running" not in name


def start_weights(net, path=None, seed=3):
    """{name: float32 array}: of a safetensors file; or Kaiming normal, no bias, BatchNorm at identity."""
    rng, out = np.random.default_rng(seed), {}
    if path:
        with open(path, "rb") as f:
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
            content = f.read()
        for name, shape in shapes(net).items():
            begin, end = header[name]["data_offsets"]
            out[name] = np.frombuffer(content[begin:end], np.float32).reshape(shape).copy()
        return out
    for name, shape in shapes(net).items():
        if len(shape) > 1:
            out[name] = (rng.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5).astype(np.float32)
        elif name.endswith("running_var") or (".weight" in name and len(shape) == 1):
            out[name] = np.ones(shape, np.float32)
        else:
            out[name] = np.zeros(shape, np.float32)
    return out


class Draws:
    """Images of a folder, or random ones. It goes through each client's share in shuffled order, and draws crops and
    flips."""

    def __init__(self, net, batch, folder=None, clients=100, seed=3):
        self.rng, self.batch, self.data = np.random.default_rng(seed), batch, data_of(net)
        if folder:
            self.images, self.labels = self.data.read(folder)
        else:
            shape = 20000, self.data.side, self.data.side, self.data.channels
            self.images, self.labels = self.rng.integers(0, 256, shape, np.uint8), self.rng.integers(0, CLASSES, 20000)
        self.parts = np.array_split(self.rng.permutation(len(self.images)), clients)
        self.at = [len(self.images)] * clients

    def round(self, k, steps):
        """index [K,E,B] int64, and row, column [K,E] of the crop 0 … 8 and flip [K,E] bool."""
        index = np.empty((k, steps, self.batch), np.int64)
        for i, c in enumerate(self.rng.choice(len(self.parts), k, replace=False)):
            for e in range(steps):
                if self.at[c] + self.batch > len(self.parts[c]):
                    self.rng.shuffle(self.parts[c])
                    self.at[c] = 0
                index[i, e] = self.parts[c][self.at[c]:self.at[c] + self.batch]
                self.at[c] += self.batch
        if not self.data.augmented:
            return index, np.full((k, steps), BORDER), np.full((k, steps), BORDER), np.zeros((k, steps), bool)
        offsets = self.rng.integers(0, 2 * BORDER + 1, (2, k, steps))
        return index, offsets[0], offsets[1], self.rng.random((k, steps)) < 0.5


def arguments(doc, variants):
    """The flags of a peer."""
    ap = argparse.ArgumentParser(description=doc.split("\n")[0], allow_abbrev=False)
    ap.add_argument("--net", choices=NETS, default="cnn-cifar10")
    ap.add_argument("--variant", choices=variants, default=variants[0])
    ap.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--cpus", help="processors to stay on, such as 0,1 (default: the first of those allowed)")
    ap.add_argument("--clients", type=int, default=4, help="K")
    ap.add_argument("--steps", type=int, default=10, help="E")
    ap.add_argument("--batch", type=int, default=128, help="B")
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--data", help="folder of CIFAR-10's binary version, or of MNIST's files (default: random images)")
    ap.add_argument("--init-from", help="safetensors file of `rollcall run --save-model` (default: random weights)")
    what = ap.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with a plain step; status 1 if it differs")
    what.add_argument("--serve", action="store_true", help="measure whenever a line on standard input says so")
    what.add_argument("--profile", action="store_true", help="print the time of each operator (PyTorch alone)")
    return ap


def stay(cpus, threads):
    """Binds this process, and returns its processors. Call it before a library starts its threads."""
    own = [int(c) for c in cpus.split(",")] if cpus else sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, own[:threads])
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    return own[:threads]


def measure(one_round, steps, seconds):
    """Medians of the rounds, of so many client-steps each, that are made in some seconds; at least 3."""
    started, walls, cpus = time.perf_counter(), [], []
    while len(walls) < 3 or time.perf_counter() - started < seconds:
        wall, cpu = time.perf_counter(), time.process_time()
        one_round()
        walls.append((time.perf_counter() - wall) / steps)
        cpus.append((time.process_time() - cpu) / steps)
    return {"client_steps": steps * len(walls), "client_steps_per_s": statistics.median(1 / w for w in walls),
            "wall_ms": 1e3 * statistics.median(walls), "cpu_ms": 1e3 * statistics.median(cpus)}


def serve(one_round, steps, versions):
    """Warms up, says so in one line, and then measures once for every line `go SECONDS` on standard input."""
    started = time.perf_counter()
    for _ in range(2):
        one_round()
    print(json.dumps({"ready_s": round(time.perf_counter() - started, 1), "versions": versions}), flush=True)
    for line in sys.stdin:
        word, _, seconds = line.partition(" ")
        if word != "go":
            break
        print(json.dumps(measure(one_round, steps, float(seconds))), flush=True)


def verdict(args, limit, apart):
    """Prints how far a checked variant is from a plain step. Status 0 if within the limit."""
    ok = bool(apart <= limit)
    print(json.dumps({"check": args.variant, "net": args.net, "precision": args.precision, "plain": apart,
                      "limit": limit, "ok": ok}), flush=True)
    return 0 if ok else 1


def largest_difference(got, want, start):
    """The largest difference of a weight, as a part of the largest update; running statistics apart."""
    worst = 0.0
    for own in (True, False):
        names = [n for n in want if learned(n) == own]
        if names:
            flat = [np.concatenate([np.ravel(x[n]).astype(np.float64) for n in names]) for x in (got, want, start)]
            update, apart = np.abs(flat[1] - flat[2]).max(), np.abs(flat[0] - flat[1]).max()
            worst = max(worst, apart / update if np.isfinite(apart) and update > 0 else float("inf"))
    return worst
