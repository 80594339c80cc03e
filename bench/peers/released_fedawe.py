#!/usr/bin/env python3
"""Runs FedAWE's released code on the CPU, as it is, to be compared with rollcall.

    python3 bench/peers/released_fedawe.py FEDAWE CIFAR --method fedawe --lr 0.1 --total_rounds 50 --eval_freq 10

FEDAWE is a checkout of the authors' repository (github.com/mingxiang12/FedAWE), CIFAR the folder cifar-10-batches-bin.
All other arguments are the released program's own. It writes csvs/… below the current folder: seed, rounds, train_loss,
train_accuracy, test_accuracy. Wants PyTorch and torchvision.

Two things are put in the place of what the program finds elsewhere, and none of its files is changed: the device named
"cuda" is the CPU, and torchvision's CIFAR-10 has the images of the binary files, whose order is the same.
"""

import os
import sys

import numpy as np
import torch
import torchvision


def main():
    code, cifar = (os.path.abspath(path) for path in sys.argv[1:3])
    sys.argv = [os.path.join(code, "main.py"), *sys.argv[3:]]
    sys.path.insert(0, code)

    to = torch.Tensor.to
    torch.Tensor.to = lambda x, *args, **named: to(x, *("cpu" if a == "cuda" else a for a in args), **named)

    def load(self, root, train=True, transform=None, target_transform=None, download=False):
        self.transform, self.target_transform, self.train = transform, target_transform, train
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
        rows = np.concatenate([np.fromfile(os.path.join(cifar, n), np.uint8).reshape(-1, 3073) for n in names])
        self.targets = rows[:, 0].astype(int).tolist()
        self.data = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))

    torchvision.datasets.CIFAR10.__init__ = load
    with open(sys.argv[0], encoding="utf-8") as f:
        exec(compile(f.read(), sys.argv[0], "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
