"""Reads a round that `rollcall run --dump` wrote, for a peer to train it again; docs/replay.md says what it holds."""
import json
import os
import sys

import numpy as np

import work


def read(folder, net, data):
    """Weights, plan, images, labels, the mean of the clients that rollcall trained, and the learning rate."""
    def load(name):
        return np.load(os.path.join(folder, name + ".npy"))

    with open(os.path.join(folder, "names.json"), encoding="utf-8") as f:
        names = json.load(f)
    index, crop, flip = load("index"), load("crop"), load("flip")
    if names["net"] != net or names["data"] != "cifar10" or index.min() < 0:
        sys.exit(f"dump: {folder}: net {names['net']}, data {names['data']}, want {net}, cifar10 and full batches")
    if (crop != crop[:, :, :1]).any() or (flip != flip[:, :, :1]).any():
        sys.exit(f"dump: {folder}: a crop for every image, want one for a batch: --augment batch")

    def split(flat):
        out, at = {}, 0
        for name, shape in work.shapes(net).items():
            n = int(np.prod(shape))
            out[name], at = flat[at:at + n].reshape(shape).astype(np.float32), at + n
        return out

    plan = index.astype(np.int64), crop[:, :, 0, 0], crop[:, :, 0, 1], flip[:, :, 0] != 0
    images, labels = work.CIFAR10.read(data)
    ends = split(load("w1").astype(np.float64).mean(0))
    return split(load("w0")), plan, images, labels, ends, float(load("lr"))
