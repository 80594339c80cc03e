"""The processes that compare.py measures: rollcall, started for every turn, and peers, which sleep between turns."""
import csv
import glob
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace

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
    data: str
    batch: int
    steps: int
    clients: int  # of a peer's round
    population: int  # of rollcall's, about 0.37 of which are active
    rounds: int  # that rollcall is measured for, after one of warm-up


@dataclass
class Task:
    """What rollcall and the peers do side by side."""
    net: str
    precision: str
    threads: int
    work: Work
    folder: str  # of the data
    weights: dict  # by name, the files that rollcall starts from; a peer starts from the first. None: drawn


def rollcall(program, *args, **more):
    """The standard output of a command of rollcall."""
    child = subprocess.run([program, *args], stdout=subprocess.PIPE, text=True, check=False, **more)
    if child.returncode:
        raise Failed(f"rollcall {' '.join(args)}: {child.stderr or f'status {child.returncode}'}".strip())
    return child.stdout


def folder(program, data):
    """Where a data set is. It is downloaded if it is nowhere."""
    return rollcall(program, "data", "fetch", data).strip().removeprefix(data + ": ")


# 200 local steps each: FedAWE as its tables have it, where most maps are dead; and clients that are nearly alike.
TRAINED = {"fedawe": ["--method", "fedawe", "--availability", "sine"],
           "iid": ["--method", "fedavg-active", "--alpha", "100"]}


def weights(program, out, net, data, kind):
    """The file of trained weights, which rollcall makes once and keeps in out; None: initial weights."""
    if kind == "initial":
        return None
    text = rollcall(program, "run", *TRAINED[kind], "--data", data, "--net", net, "--rounds", "20", "--local-steps",
                    "10", "--batch", "128", "--clients", "40", "--eval-every", "20", "--eval-train=false",
                    "--device", "cpu", "--save-model", "--out", out)
    return os.path.join(os.path.dirname(text.splitlines()[-1].rpartition(": ")[0]), "model.safetensors")


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


def command(program, variant, task, *more):
    return [sys.executable, os.path.join(HERE, program + "_peer.py"), "--net", task.net, "--variant", variant,
            "--precision", task.precision, "--threads", str(task.threads), "--cpus",
            ",".join(map(str, cpus(task.threads))), *more]


def check(program, variant, task):
    """Whether one step of a peer is right, on small batches of random images."""
    args = command(program, variant.removesuffix("-procs"), replace(task, threads=1), "--clients", "2", "--batch",
                   str(min(task.work.batch, 32)), "--check")
    return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class Peer:
    """A peer that is alive until it is closed."""

    def __init__(self, program, variant, allocator, task):
        self.what = program, variant, allocator
        self.name = f"{task.net} {task.precision} {program} {variant} {allocator} threads={task.threads}"
        self.child, self.versions = None, {}
        try:
            env = environment(allocator)
        except Failed as e:
            self.why = e
            return
        work, start = task.work, next(iter(task.weights.values()))
        args = command(program, variant, task, "--batch", str(work.batch), "--clients", str(work.clients), "--steps",
                       str(work.steps), "--data", task.folder, *(["--init-from", start] if start else []), "--serve")
        self.child = subprocess.Popen(args, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)

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
        return self.line()

    def close(self):
        if self.child:
            for f in (self.child.stdin, self.child.stdout, self.child.stderr):
                try:
                    f.close()
                except OSError:
                    pass
            self.child.wait()


def ours(program, out, task, start):
    """One `rollcall bench`: medians of its rounds."""
    work = task.work
    text = rollcall(
        program, "bench", "--data", work.data, "--net", task.net, "--precision", task.precision, "--threads",
        str(task.threads), "--batch", str(work.batch), "--local-steps", str(work.steps), "--clients",
        str(work.population), "--rounds", str(work.rounds), "--device", "cpu", "--no-eval",
        *(["--init-from", start] if start else []), "--format", "csv", "--out", out,
        stderr=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cpus(task.threads)))
    row = next(csv.DictReader(io.StringIO(text)))
    return {"client_steps": round(float(row["active"]) * work.steps * float(row["rounds"])),
            "client_steps_per_s": float(row["client_steps_per_s"]), "wall_ms": float(row["client_step_ms"]),
            "cpu_ms": float(row["client_step_processor_ms"])}


def processor():
    """What candidates.json knows a processor by, and its name, which several have in common."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        about = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in f)}
    isa = next((i for i in ("amx_tile", "avx512f", "avx2") if i in about.get("flags", "").split()), "no avx2")
    vendor, family, model = (about.get(k, "unknown") for k in ("vendor_id", "cpu family", "model"))
    return f"{vendor} family {family} model {model} {isa}", about.get("model name", "unknown")


def machine(program):
    """The processor, and the versions of all programs."""
    version = rollcall(program, "version").splitlines()[0]
    libraries = subprocess.run([sys.executable, "-c", (
        "import importlib.metadata as m, platform\n"
        "print('python', platform.python_version(), *(f'{n} {m.version(n)}' for n in ('torch', 'jax', 'numpy')))\n"
        "import torch; print('oneDNN', torch.__config__.show().split('MKL-DNN v')[-1].split()[0])"
    )], capture_output=True, text=True).stdout.split("\n")
    return ", ".join([*processor(), f"{len(CORES)} processors", version, *filter(None, libraries)])
