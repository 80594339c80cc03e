#!/usr/bin/env python3
"""Measures the variants of cuda_peer.py on a card, the important ones first, until a budget of seconds is spent.

    python3 bench/peers/cuda_all.py --budget 100 --csv cuda-peers.csv

The variants run in processes that have loaded PyTorch before. One that fails or hangs costs its own result, and the
time that it took. Variants in one row of WORK that compile do so at the same time, and are then measured alone.
"""
import argparse
import csv
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CNN = "cnn-cifar10 {} {} 10 128"
TF32, BF16 = CNN.format("tf32", 37), CNN.format("bf16", 37)
# Net, precision, K, E, B; variants. best and second are of what was measured of cnn-cifar10 in tf32 with K=37.
WORK = (
    (TF32, "im2col-graph"), (TF32, "loop-cl-graph-streams8"), (TF32, "grouped-graph"), (TF32, "vmap-graph"),
    (TF32, "loop"), (TF32, "loop-cl-graph"),
    (BF16, "best"), (CNN.format("tf32", 5), "best"), (CNN.format("tf32", 100), "best"),
    (TF32, "loop-cl-compile-graph-streams8", "im2col-compile-graph", "grouped-compile-graph", "loop-compile"),
    (BF16, "best", "second"), ("resnet18 tf32 10 2 64", "loop-cl-graph"),
    (BF16, "im2col-graph"), (BF16, "loop-cl-graph-streams8"),
    ("lenet5 tf32 37 10 128", "loop-cl-graph-streams8"), ("lenet5 tf32 37 10 128", "im2col-graph"),
    (CNN.format("tf32", 5), "best", "second"), (CNN.format("tf32", 100), "best", "second"),
    (TF32, "loop-cl-graph-streams16"), (TF32, "grouped-cl-graph"), (TF32, "loop-cl-graph-streams4"),
    (CNN.format("fp32", 37), "best", "second"), ("lenet5 tf32 37 10 128", "best"),
    ("resnet18 tf32 10 2 64", "loop-cl-graph-streams4"), ("resnet18 bf16 10 2 64", "loop-cl-graph"),
    (TF32, "loop-cl"), (TF32, "grouped"), (TF32, "im2col"),
)
# Variants of jax_peer.py on cnn-cifar10 in tf32, last: their choice of algorithms takes long.
JAX = ("vmap-im2col", "map", "vmap")
COLUMNS = ("net", "precision", "K", "E", "B", "variant", "us_per_client_step", "us_least", "us_most", "rounds", "check",
           "limit", "ok", "ready_s", "peak_gb", "card", "torch", "cuda", "cudnn", "jax", "error")


def small(spec):
    """The same net and precision with little work, for a processor."""
    return " ".join((*spec.split()[:2], "2", "1", "8"))


class Hung(Exception):
    pass


class Process:
    """A process of its own group, whose standard output is read line by line."""

    def __init__(self, *command):
        self.child = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def say(self, line):
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except OSError:
            pass  # it has ended, which hear says

    def hear(self, until):
        """The next answer."""
        while True:
            try:
                line = self.lines.get(timeout=max(0.05, until - time.monotonic()))
            except queue.Empty:
                raise Hung("no answer in time") from None
            if line is None:
                raise Hung(f"ended with status {self.child.wait()}")
            if line.startswith("{"):
                return json.loads(line)

    def close(self):
        """Ends it and what it started, such as compilers."""
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


class Workers:
    """Processes of cuda_peer.py, loaded before they are needed."""

    def __init__(self, device):
        self.command, self.idle = (os.path.join(HERE, "cuda_peer.py"), "--serve", "--device", device), []
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")  # of each of several that compile at once

    def have(self, n):
        while len(self.idle) < n:
            self.idle.append(Process(*self.command))

    def take(self, n):
        self.have(n)
        taken, self.idle = self.idle[:n], self.idle[n:]
        return taken

    def give(self, worker):
        self.idle.insert(0, worker)  # one that has a CUDA context comes first

    def close(self):
        for w in self.idle:
            w.close()


class Results:
    """Writes each result at once, and knows the best."""

    def __init__(self, path):
        self.file, self.speed, self.tried = open(path, "w", newline="", encoding="utf-8"), {}, set()  # noqa: SIM115
        self.out = csv.DictWriter(self.file, COLUMNS, extrasaction="ignore")
        self.out.writeheader()

    def write(self, spec, variant, row):
        names = dict(zip(("net", "precision", "K", "E", "B"), spec.split()))
        row = {**names, "variant": variant, **row}
        print(json.dumps(row), flush=True)
        self.out.writerow(row)
        self.file.flush()
        if spec == TF32 and row.get("ok") and "us_per_client_step" in row:
            self.speed[variant] = row["us_per_client_step"]

    def variants(self, spec, names):
        """The names with best and second replaced, less those that were tried."""
        ranked, out = sorted(self.speed, key=self.speed.get), []
        for name in names:
            at = {"best": 0, "second": 1}.get(name)
            name = name if at is None else ranked[at] if at < len(ranked) else None
            if name and (spec, name) not in self.tried:
                self.tried.add((spec, name))
                out.append(name)
        return out


def together(spec, names, workers, results, args, end):
    """Prepares the variants of a row at the same time, and measures one after another."""
    slow = any("compile" in n or "vmap" in n for n in names)
    until = min(end, time.monotonic() + (args.slow if slow else args.timeout))
    using = list(zip(names, workers.take(len(names))))
    for name, worker in using:
        worker.say(f"prepare {spec} {name}")
    ready = []
    for name, worker in using:
        try:
            got = worker.hear(until)
        except Hung as e:
            got = {"error": str(e)}
        if "error" in got:
            results.write(spec, name, got)
            worker.close()  # a failure may have left the card's context in disorder
        else:
            ready.append((name, worker))
    for name, worker in ready:
        worker.say(f"measure {args.seconds}")
        try:
            got = worker.hear(min(end, time.monotonic() + args.timeout))
        except Hung as e:
            got = {"error": str(e)}
        results.write(spec, name, got)
        if "error" in got:
            worker.close()
        else:
            workers.give(worker)


def jax(variant, results, args, end):
    """One variant of JAX; its check is a process of its own, afterwards, since it needs float64 everywhere."""
    spec = small(TF32) if args.device == "cpu" else TF32
    K, E, B = spec.split()[2:]
    flags = ["--variant", variant, "--device", args.device, "--clients", K, "--steps", E, "--batch", B]
    row = {}
    for more in ([], ["--check", "--clients", "3"]):
        p = Process(os.path.join(HERE, "jax_peer.py"), *flags, *more)
        try:
            got = p.hear(min(end, time.monotonic() + args.slow))
            if more:
                row |= {"check": float(f"{got['plain']:.3g}"), "limit": got["limit"], "ok": got["ok"]}
            else:
                row |= {"us_per_client_step": float(f"{1e3 * got['wall_ms']:.4g}"),
                        "rounds": got["client_steps"] // (int(K) * int(E)), **got}
        except Hung as e:
            row["error" if not more else "check"] = str(e)
        finally:
            p.close()
        if "error" in row:
            break
    results.write(spec, "jax-" + variant, row)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    ap.add_argument("--budget", type=float, default=100, help="seconds in all")
    ap.add_argument("--seconds", type=float, default=1.5, help="of one measurement")
    ap.add_argument("--timeout", type=float, default=40, help="of a variant; the first also loads the libraries")
    ap.add_argument("--slow", type=float, default=60, help="of variants that compile")
    ap.add_argument("--csv", default="cuda-peers.csv")
    ap.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: to try this program, with little work")
    ap.add_argument("--only", default="", help="variants with this in their line of WORK, such as resnet18")
    ap.add_argument("--jax-only", action="store_true")
    args = ap.parse_args()
    end = time.monotonic() + args.budget
    results, workers = Results(args.csv), Workers(args.device)
    work = [] if args.jax_only else [w for w in WORK if args.only in " ".join(w)]
    try:
        for i, (spec, *names) in enumerate(work):
            if args.device == "cpu":
                spec = small(spec)
            names = results.variants(spec, names)
            if names and time.monotonic() + args.seconds + 3 < end:
                together(spec, names, workers, results, args, end)
                rest = work[i + 1:i + 8]
                workers.have(max([1, *(len(row) - 1 for row in rest)]) if rest else 0)
        for variant in JAX if args.jax_only or not args.only else ():
            if time.monotonic() + 15 < end:
                jax(variant, results, args, end)
    finally:
        workers.close()
    return 0 if results.speed or args.only else 1


if __name__ == "__main__":
    sys.exit(main())
