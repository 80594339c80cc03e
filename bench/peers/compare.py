#!/usr/bin/env python3
"""Measures rollcall and its peers on the same cores, turn by turn, and says how many times as fast rollcall is.

    python3 bench/peers/compare.py --rollcall bin/rollcall --nets cnn-cifar10 --threads 1,2 --precision fp32,bf16

With --choose it first times every promising variant, shortly, and writes the best two of each net and precision to
candidates.json; without it those that are written there are measured. Run it with the Python that has torch and jax.
"""
import argparse
import csv
import json
import os
import statistics
import sys
import time

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
# Batch size, local steps, and clients of a peer; clients N and rounds of `rollcall bench`.
WORK = {
    "cnn-cifar10": processes.Work(128, 10, 4, 20, 3),
    "lenet5": processes.Work(128, 10, 4, 40, 6),
    "resnet20": processes.Work(64, 5, 2, 10, 2),
    "resnet18": processes.Work(64, 2, 2, 6, 1),
}
COLUMNS = ("net", "threads", "precision", "batch", "turn", "program", "variant", "allocator", "client_steps",
           "client_steps_per_s", "wall_ms", "cpu_ms", "load")
SUMMARY = ("net", "threads", "precision", "batch", "n", "opponent", "ours_per_s", "ours_least", "ours_most",
           "peer_per_s", "peer_least", "peer_most", "ours_cpu_ms", "peer_cpu_ms", "ratio", "ratio_least", "ratio_most",
           "cpu_ratio", "cpu_ratio_least", "cpu_ratio_most")


def variants(net, everything):
    """The (program, variant, allocator) that the short pass tries on a net."""
    plain = not net.startswith("resnet")  # torch.func.grad refuses the running statistics
    torch = ["loop-cl", "loop-cl-compile"]
    torch += ["grouped-cl"] if net != "resnet18" else []
    torch += ["loop-cl-whole-slices"] if plain else []
    found = [("torch", v, "glibc-large") for v in torch]
    found += [("jax", "map-im2col", "glibc-large")] if plain else []
    if everything:
        torch = ["loop", "loop-compile", "grouped"] + (["loop-cl-whole", "grouped-cl-whole"] if plain else [])
        found += [("torch", v, "glibc-large") for v in torch]
        found += [("torch", "loop-cl", a) for a in ("glibc", "tcmalloc", "jemalloc")]
        found += [("jax", v, "glibc-large") for v in ("vmap-im2col", "vmap", "map", *(() if plain else ["map-im2col"]))]
    return found


def choose(net, precision, seconds, everything):
    """The best variants of a net on one thread, by processor time, the best two of PyTorch and the best of JAX."""
    found = []
    for program, variant, allocator in variants(net, everything):
        peer = processes.Peer(program, variant, allocator, net, precision, 1, WORK[net])
        try:
            peer.ready()
            got = min((peer.measure(seconds) for _ in range(2)), key=lambda m: m["cpu_ms"])
            found.append((got["cpu_ms"], program, variant, allocator))
            say(f"{peer.name}: {got['cpu_ms']:.1f} ms of processor time a client-step")
        except processes.Failed as e:
            say(f"{peer.name}: {e}")
        finally:
            peer.close()
    found.sort()
    return [f[1:] for f in found if f[1] == "torch"][:2] + [f[1:] for f in found if f[1] == "jax"][:1]


def opponents(candidates, threads):
    """What is measured: the chosen ones; with several threads also as processes of one thread each."""
    if threads == 1:
        return candidates
    torch = [c for c in candidates if c[0] == "torch"]
    return [(p, v + "-procs", a) for p, v, a in torch] + torch[:1]


def cell(net, threads, precision, candidates, args, write):
    """Measures one net in turns, and returns its line of the summary."""
    work, peers, rows = WORK[net], [], {}
    for program, variant, allocator in opponents(candidates, threads):
        if program == "jax" and not args.jax:
            continue
        if not args.unchecked and not processes.check(program, variant, net, precision, work):
            say(f"{net} {precision} {program} {variant}: its check fails, not measured")
            continue
        peers.append(processes.Peer(program, variant, allocator, net, precision, threads, work))
    try:
        for p in list(peers):
            try:
                p.ready()
            except processes.Failed as e:
                say(f"{p.name}: {e}")
                peers.remove(p)
        for turn in range(args.turns):
            own = processes.ours(args.rollcall, args.data, args.out, net, precision, threads, work)
            measured = [("rollcall", "", "", own)]
            measured += [(p.program, p.variant, p.allocator, p.measure(args.seconds)) for p in peers]
            for program, variant, allocator, m in measured:
                m.update(net=net, threads=threads, precision=precision, batch=work.batch, turn=turn + 1,
                         program=program, variant=variant, allocator=allocator, load=f"{os.getloadavg()[0]:.2f}")
                write(m)
                rows.setdefault((program, variant, allocator), []).append(m)
    finally:
        for p in peers:
            p.close()
    return summary(net, threads, precision, work, rows)


def summary(net, threads, precision, work, rows):
    """Ours against the peer with the highest median."""
    ours = rows.pop(("rollcall", "", ""), None)
    if not rows or not ours:
        return None
    best = max(rows, key=lambda k: statistics.median(m["client_steps_per_s"] for m in rows[k]))
    peer, out = rows[best], {"net": net, "threads": threads, "precision": precision, "batch": work.batch}
    out.update(n=len(ours), opponent=" ".join(best))

    def spread(name, least, most, values):
        values = list(values)
        for key, value in ((name, statistics.median(values)), (least, min(values)), (most, max(values))):
            out[key] = f"{value:.4g}"

    spread("ours_per_s", "ours_least", "ours_most", (m["client_steps_per_s"] for m in ours))
    spread("peer_per_s", "peer_least", "peer_most", (m["client_steps_per_s"] for m in peer))
    out["ours_cpu_ms"] = f"{statistics.median(m['cpu_ms'] for m in ours):.4g}"
    out["peer_cpu_ms"] = f"{statistics.median(m['cpu_ms'] for m in peer):.4g}"
    spread("ratio", "ratio_least", "ratio_most",
           (a["client_steps_per_s"] / b["client_steps_per_s"] for a, b in zip(ours, peer)))
    spread("cpu_ratio", "cpu_ratio_least", "cpu_ratio_most", (b["cpu_ms"] / a["cpu_ms"] for a, b in zip(ours, peer)))
    return out


def say(line):
    print(line, file=sys.stderr, flush=True)


def parse():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    words = lambda text: text.split(",")  # noqa: E731
    ap.add_argument("--rollcall", default="bin/rollcall")
    ap.add_argument("--data", default="synthetic", help="data set of rollcall; the peers have random images")
    ap.add_argument("--nets", type=words, default=list(WORK))
    ap.add_argument("--threads", type=lambda t: [int(n) for n in words(t)], default=[1, 2])
    ap.add_argument("--precision", type=words, default=["fp32", "bf16"])
    ap.add_argument("--turns", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=3, help="of one measurement of a peer, at least one round")
    ap.add_argument("--csv", default="peers.csv", help="every measurement; the summary is beside it, -summary.csv")
    ap.add_argument("--out", default="out", help="rollcall's --out")
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
    cells = [(n, t, p) for n in args.nets for p in args.precision for t in args.threads]
    per_turn = sum(3 * args.seconds + 9 for _ in cells)
    minutes = (args.turns * per_turn + 40 * len(cells)) / 60
    say(f"{len(cells)} measurements of {args.turns} turns: about {minutes:.0f} minutes")
    if args.choose:
        for net in args.nets:
            for precision in args.precision:
                chosen[f"{net} {precision}"] = choose(net, precision, min(args.seconds, 2), args.everything)
                with open(args.candidates, "w", encoding="utf-8") as f:
                    json.dump(chosen, f, indent=1)
    started, lines = time.time(), []
    with open(args.csv, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, COLUMNS, extrasaction="ignore")
        out.writeheader()

        def write(row):
            out.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
            f.flush()

        for net, threads, precision in cells if args.turns else ():
            line = cell(net, threads, precision, [tuple(c) for c in chosen[f"{net} {precision}"]], args, write)
            if line:
                lines.append(line)
                print(f"{net} B={line['batch']} threads={threads} {precision}: ours {line['ours_per_s']} "
                      f"({line['ours_cpu_ms']} ms), {line['opponent']} {line['peer_per_s']} "
                      f"({line['peer_cpu_ms']} ms), "
                      f"ratio {line['ratio']} ({line['ratio_least']} … {line['ratio_most']}), "
                      f"of processor time {line['cpu_ratio']}", flush=True)
    with open(args.csv.removesuffix(".csv") + "-summary.csv", "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, SUMMARY)
        out.writeheader()
        out.writerows(lines)
    say(f"{(time.time() - started) / 60:.1f} minutes; {processes.machine(args.rollcall)}")


if __name__ == "__main__":
    main()
