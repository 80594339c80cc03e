"""The processes that compare.py measures: rollcall, started for every turn, and peers, which sleep between turns."""
import csv
import glob
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
CORES = sorted(os.sched_getaffinity(0))

# Settings of the memory allocator. PyTorch gives its maps back after every step, and glibc by default gives them back
# to the system, which has to clear them again.
ALLOCATORS = {
    "glibc": {},
    "glibc-large": {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
                    "MALLOC_TOP_PAD_": str(1 << 28), "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"},
    "jemalloc": {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "thp:always,background_thread:true,"
                 "metadata_thp:always,dirty_decay_ms:-1,muzzy_decay_ms:-1"},
}


class Failed(Exception):
    """A program that cannot be measured, and why."""


@dataclass
class Work:
    batch: int
    steps: int
    clients: int  # of a peer's round
    population: int  # of rollcall's, about 0.37 of which are active
    rounds: int  # that rollcall is measured for, after one of warm-up


def environment(allocator):
    env = {**os.environ, **ALLOCATORS[allocator]}
    name = ALLOCATORS[allocator].get("LD_PRELOAD")
    if name:
        found = glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib*/{name}")
        if not found:
            raise Failed(f"{name} is not installed")
        env["LD_PRELOAD"] = found[0]
    return env


def cpus(threads):
    """The last processors, as the first one has the interrupts."""
    if threads > len(CORES):
        sys.exit(f"compare: {threads} threads, want at most {len(CORES)}: so many processors are there")
    return CORES[-threads:]


def command(program, variant, net, precision, threads, work):
    return [sys.executable, os.path.join(HERE, program + "_peer.py"), "--net", net, "--variant", variant,
            "--precision", precision, "--threads", str(threads), "--cpus", ",".join(map(str, cpus(threads))),
            "--batch", str(work.batch), "--clients", str(work.clients), "--steps", str(work.steps)]


def check(program, variant, net, precision, work):
    """Whether one step of a peer is right, on small batches."""
    small = Work(min(work.batch, 32), 1, 2, 0, 0)
    args = command(program, variant.removesuffix("-procs"), net, precision, 1, small)
    return subprocess.run([*args, "--check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Peer:
    """A peer that is alive until it is closed."""

    def __init__(self, program, variant, allocator, net, precision, threads, work):
        self.program, self.variant, self.allocator = program, variant, allocator
        self.name = f"{net} {precision} {program} {variant} {allocator} threads={threads}"
        self.child, self.versions = None, {}
        try:
            env = environment(allocator)
        except Failed as e:
            self.why = e
            return
        self.child = subprocess.Popen([*command(program, variant, net, precision, threads, work), "--serve"], env=env,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self):
        text = self.child.stdout.readline()
        if not text:
            raise Failed((self.child.stderr.read().strip().splitlines() or ["ended"])[-1][:200])
        return json.loads(text)

    def ready(self):
        """Waits for the warm-up, in which it compiles."""
        if not self.child:
            raise self.why
        self.versions = self.line()["versions"]

    def measure(self, seconds):
        self.child.stdin.write(f"go {seconds}\n")
        self.child.stdin.flush()
        m = self.line()
        n = m["client_steps"]
        return {"client_steps": n, "client_steps_per_s": n / m["wall_s"], "wall_ms": 1e3 * m["wall_s"] / n,
                "cpu_ms": 1e3 * m["cpu_s"] / n}

    def close(self):
        if self.child:
            for f in (self.child.stdin, self.child.stdout, self.child.stderr):
                try:
                    f.close()
                except OSError:
                    pass
            self.child.wait()


def ours(rollcall, data, out, net, precision, threads, work):
    """One `rollcall bench`: medians of its rounds."""
    size = ["--test-size", "10"] if data == "synthetic" else []
    child = subprocess.run(
        [rollcall, "bench", "--data", data, *size, "--net", net, "--precision", precision, "--threads", str(threads),
         "--batch", str(work.batch), "--local-steps", str(work.steps), "--clients", str(work.population), "--rounds",
         str(work.rounds), "--device", "cpu", "--format", "csv", "--out", out],
        capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, cpus(threads)))
    if child.returncode:
        sys.exit(f"compare: {child.stderr.strip()}")
    row = next(csv.DictReader(io.StringIO(child.stdout)))
    return {"client_steps": round(float(row["active"]) * work.steps * float(row["rounds"])),
            "client_steps_per_s": float(row["client_steps_per_s"]), "wall_ms": float(row["client_step_ms"]),
            "cpu_ms": float(row["client_step_processor_ms"])}


def machine(rollcall):
    """The processor, and the versions of all programs."""
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
    version = subprocess.run([rollcall, "version"], capture_output=True, text=True).stdout.strip().splitlines()[0]
    libraries = subprocess.run([sys.executable, "-c", (
        "import importlib.metadata as m, platform\n"
        "print('python', platform.python_version(), *(f'{n} {m.version(n)}' for n in ('torch', 'jax', 'numpy')))\n"
        "import torch; print('oneDNN', torch.__config__.show().split('MKL-DNN v')[-1].split()[0])"
    )], capture_output=True, text=True).stdout.split("\n")
    return ", ".join([model, f"{len(CORES)} processors", version, *filter(None, libraries)])
