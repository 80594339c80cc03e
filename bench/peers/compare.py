#!/usr/bin/env python3
"""Measures rollcall and its peers on the same cores, turn by turn, and says how many times as fast rollcall is.

    python3 bench/peers/compare.py --rollcall bin/rollcall --nets cnn-cifar10 --threads 1,2 --precision fp32,bf16

The best two variants of each net and precision are measured: of candidates.json, or, on a processor that it does not
know, of a short pass over the promising ones. --choose makes that pass anew, and writes its choice to the file. Run it
with the Python that has torch and jax.
"""
import argparse
import csv
import json
import os
import statistics
import sys
import time
from dataclasses import replace

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
# Data set, batch size, local steps, and clients of a peer; clients N and rounds of `rollcall bench`.
WORK = {
    "cnn-cifar10": processes.Work("cifar10", 128, 10, 4, 20, 3),
    "lenet5": processes.Work("cifar10", 128, 10, 4, 20, 6),
    "linear-mnist": processes.Work("mnist", 128, 10, 4, 100, 30),
    "resnet20": processes.Work("cifar10", 64, 3, 2, 10, 3),
    "resnet18": processes.Work("cifar10", 64, 1, 2, 6, 3),
}
POOLED = ("cnn-cifar10", "lenet5")  # nets in which rollcall's speed depends on the weights: it leaves out zeros
# What people write first, with the allocator that they have: measured, but not as the opponent.
LOOPS = {"loop": ("torch", "loop", "glibc"), "loop_cl": ("torch", "loop-cl", "glibc")}
COLUMNS = ("net", "threads", "precision", "batch", "weights", "turn", "program", "variant", "allocator", "client_steps",
           "client_steps_per_s", "wall_ms", "cpu_ms", "load")
SPREADS = ("ratio", "cpu_ratio", *(n + r for n in LOOPS for r in ("_ratio", "_cpu_ratio")))
SUMMARY = ("net", "threads", "precision", "batch", "weights", "n", "opponent", "ours_per_s", "ours_least", "ours_most",
           "peer_per_s", "peer_least", "peer_most", "ours_cpu_ms", "peer_cpu_ms",
           *(s + part for s in SPREADS for part in ("", "_least", "_most")))


def variants(net, precision, jax, everything):
    """The (program, variant, allocator) that the short pass tries on a net."""
    plain = not net.startswith("resnet")  # torch.func.grad refuses the running statistics
    if net.startswith("linear"):
        torch, of_jax = [base + how for base in ("loop", "grouped") for how in ("-byhand", "-byhand-compile")], ["vmap"]
        torch += ["loop", "loop-compile", "grouped", "grouped-compile"] if everything else []
    else:
        torch, of_jax = ["loop-cl", "loop-cl-compile"], ["map-im2col"] if plain or everything else []
        torch += ["grouped-cl"] if net != "resnet18" else []
        torch += ["loop-cl-whole", "loop-cl-whole-slices"] if plain else []
        torch += ["loop-cl-implicit", "loop-cl-compile-implicit"] if precision == "bf16" else []
        if everything:
            torch += ["loop", "loop-compile", "grouped"] + (["grouped-cl-whole"] if plain else [])
            of_jax += ["vmap-im2col", "vmap", "map"]
    found = [("torch", v, "glibc-large") for v in torch]
    found += [("torch", torch[0], a) for a in ("glibc", "tcmalloc", "jemalloc") if everything]
    return found + [("jax", v, "glibc-large") for v in of_jax if jax]


def choose(task, args):
    """The best variants of a net on one thread, by processor time, the best two of PyTorch and the best of JAX."""
    found = []
    for what in variants(task.net, task.precision, args.jax or args.choose, args.everything):
        peer = processes.Peer(*what, task)
        try:
            peer.ready()
            ms = peer.measure(min(args.seconds, 2))["cpu_ms"]
            found.append((ms, what))
            say(f"{peer.name}: {ms:.4g} ms of processor time a client-step")
        except processes.Failed as e:
            say(f"{peer.name}: {e}")
        finally:
            peer.close()
    ranked = [what for _, what in sorted(found)]
    return [w for w in ranked if w[0] == "torch"][:2] + [w for w in ranked if w[0] == "jax"][:1]


def opponents(candidates, threads):
    """What is measured: the chosen ones; with several threads also as processes of one thread each."""
    if threads == 1:
        return candidates
    torch = [c for c in candidates if c[0] == "torch"]
    return [(p, v + "-procs", a) for p, v, a in torch] + torch[:1]


def cell(task, candidates, args, write):
    """Measures one net in turns, and returns its lines of the summary, one for each kind of weights."""
    peers, rows = [], {}
    common = [w for w in LOOPS.values() if w[1] != "loop-cl" or not task.net.startswith("linear")]
    all_of_them = [w for w in [*opponents(candidates, task.threads), *common] if w[0] != "jax" or args.jax]
    wrong = {v for v in {w[:2] for w in all_of_them} if not args.unchecked and not processes.check(*v, task)}
    for what in all_of_them:
        if what[:2] in wrong:
            say(f"{task.net} {task.precision} {' '.join(what)}: its check fails, not measured")
        else:
            peers.append(processes.Peer(*what, task))
    try:
        for p in list(peers):
            try:
                p.ready()
            except processes.Failed as e:
                say(f"{p.name}: {e}")
                peers.remove(p)
        for turn in range(args.turns):
            measured = [(("rollcall", kind, ""), kind, processes.ours(args.rollcall, args.out, task, path))
                        for kind, path in task.weights.items()]
            measured += [(p.what, next(iter(task.weights)), p.measure(args.seconds)) for p in peers]
            for what, kind, m in measured:
                rows.setdefault(what, []).append(m)
                write({**m, "net": task.net, "threads": task.threads, "precision": task.precision,
                       "batch": task.work.batch, "weights": kind, "turn": turn + 1, "program": what[0],
                       "variant": what[1] if what[0] != "rollcall" else "", "allocator": what[2],
                       "load": f"{os.getloadavg()[0]:.2f}"})
    finally:
        for p in peers:
            p.close()
    return [line for kind in task.weights if (line := summary(task, kind, rows))]


def summary(task, kind, rows):
    """Ours against the peer with the highest median, and against the common loops."""
    ours = rows[("rollcall", kind, "")]
    speed = {what: statistics.median(m["client_steps_per_s"] for m in rows[what])
             for what in rows if what[0] != "rollcall" and what not in LOOPS.values()}
    if not speed:
        return None
    best = max(speed, key=speed.get)
    out = {"net": task.net, "threads": task.threads, "precision": task.precision, "batch": task.work.batch,
           "weights": kind, "n": len(ours), "opponent": " ".join(best)}

    def spread(names, values):
        values = list(values)
        for key, value in zip(names, (statistics.median(values), min(values), max(values))):
            out[key] = f"{value:.4g}"

    for who, measured in (("ours", ours), ("peer", rows[best])):
        spread((f"{who}_per_s", f"{who}_least", f"{who}_most"), (m["client_steps_per_s"] for m in measured))
        spread((f"{who}_cpu_ms",), (m["cpu_ms"] for m in measured))
    for prefix, what in (("", best), *((name + "_", what) for name, what in LOOPS.items() if what in rows)):
        pairs = list(zip(ours, rows[what]))
        for name, ratios in (("ratio", [a["client_steps_per_s"] / b["client_steps_per_s"] for a, b in pairs]),
                             ("cpu_ratio", [b["cpu_ms"] / a["cpu_ms"] for a, b in pairs])):
            spread([prefix + name + part for part in ("", "_least", "_most")], ratios)
    return out


def say(line):
    print(line, file=sys.stderr, flush=True)


def parse():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    words = lambda text: text.split(",")  # noqa: E731
    ap.add_argument("--rollcall", default="bin/rollcall")
    ap.add_argument("--nets", type=words, default=list(WORK))
    ap.add_argument("--threads", type=lambda t: [int(n) for n in words(t)], default=[1, 2])
    ap.add_argument("--precision", type=words, default=["fp32", "bf16"])
    ap.add_argument("--weights", type=words, help="what is trained from: fedawe, iid, initial (default: fedawe,iid; "
                    "initial for nets without pooling)")
    ap.add_argument("--turns", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=3, help="of one measurement of a peer, at least one round")
    ap.add_argument("--csv", default="peers.csv", help="every measurement; the summary is beside it, -summary.csv")
    ap.add_argument("--out", default="out", help="rollcall's --out, which keeps the trained weights")
    ap.add_argument("--candidates", default=os.path.join(HERE, "candidates.json"))
    ap.add_argument("--choose", action="store_true", help="time every variant first, and write the candidates")
    ap.add_argument("--everything", action="store_true", help="with --choose: slow variants too, for an hour")
    ap.add_argument("--jax", action="store_true", help="measure the best variant of JAX in every turn too")
    ap.add_argument("--unchecked", action="store_true", help="leave out the checks, which take minutes")
    return ap.parse_args()


def main():
    args = parse()
    chosen = {}
    if os.path.exists(args.candidates):
        with open(args.candidates, encoding="utf-8") as f:
            chosen = json.load(f)
    known = chosen.setdefault(processes.processor()[0], {})
    tasks, started, lines = [], time.time(), []
    for net in args.nets:
        work, kinds = WORK[net], args.weights or (("fedawe", "iid") if net in POOLED else ("initial",))
        folder = processes.folder(args.rollcall, work.data)
        weights = {k: processes.weights(args.rollcall, args.out, net, work.data, k) for k in kinds}
        for precision in args.precision:
            own = [processes.Task(net, precision, n, work, folder, weights) for n in args.threads]
            tasks += own
            if args.choose or f"{net} {precision}" not in known:
                known[f"{net} {precision}"] = [" ".join(c) for c in choose(replace(own[0], threads=1), args)]
            if args.choose:
                with open(args.candidates, "w", encoding="utf-8") as f:
                    json.dump(chosen, f, indent=1)
    with open(args.csv, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, COLUMNS, extrasaction="ignore")
        out.writeheader()

        def write(row):
            out.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
            f.flush()

        for task in tasks if args.turns else ():
            candidates = [tuple(c.split()) for c in known[f"{task.net} {task.precision}"]]
            for line in cell(task, candidates, args, write):
                lines.append(line)
                print(f"{task.net} B={line['batch']} threads={task.threads} {task.precision} {line['weights']}: ours "
                      f"{line['ours_per_s']} ({line['ours_cpu_ms']} ms), {line['opponent']} {line['peer_per_s']} "
                      f"({line['peer_cpu_ms']} ms), ratio {line['ratio']} ({line['ratio_least']} … "
                      f"{line['ratio_most']}), of processor time {line['cpu_ratio']}"
                      + "".join(f"; {what[1]} with glibc's default {line[name + '_cpu_ratio']}"
                                for name, what in LOOPS.items() if name + "_cpu_ratio" in line), flush=True)
    with open(args.csv.removesuffix(".csv") + "-summary.csv", "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, SUMMARY)
        out.writeheader()
        out.writerows(lines)
    say(f"{(time.time() - started) / 60:.1f} minutes; {processes.machine(args.rollcall)}")


if __name__ == "__main__":
    try:
        main()
    except processes.Failed as e:
        sys.exit(f"compare: {e}")
