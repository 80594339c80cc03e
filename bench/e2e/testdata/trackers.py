"""Opens the runs below out, in the working directory, in TensorBoard, W&B and MLflow, and checks what they have.

Its arguments are the two pieces of Python in docs/trackers.md."""

import glob
import json
import math
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pandas
import rollcall_fl as rc

BIN = os.path.dirname(sys.executable)
MEASURED = {"test_acc": "test/accuracy", "test_loss": "test/loss", "train_acc": "train/accuracy", "train_loss": "train/loss"}
STATUS = {"complete": "STATUS_SUCCESS", "diverged": "STATUS_FAILURE", "failed": "STATUS_FAILURE"}
SINGLE = 1e-6  # the relative error of a number of 32 bits, 6e-8, and room for it

runs, curves = rc.read_runs("out"), rc.read("out").groupby("folder")
statuses = runs["status"].value_counts().to_dict()
assert statuses == {"complete": 4, "diverged": 1, "interrupted": 1, "unfinished": 1}, statuses
infos = {}  # run.json of each run; the killed one's is beside the output folder
for folder in runs["folder"]:
    path = os.path.join(folder, "run.json")
    with open(path if os.path.exists(path) else "killed.json") as f:
        infos[folder] = json.load(f)


def same(got, want, tolerance, what):
    got, want = float(got), float(want)
    both = math.isnan(got) and math.isnan(want)
    assert both or math.isclose(got, want, rel_tol=tolerance, abs_tol=tolerance), f"{what}: got {got}, want {want}"


def numbers(run):
    """Return the numbers of a run in read_runs, by their names."""
    return run.filter(regex="^(test|train)_").dropna().to_dict()


def measured(folder, name):
    """Return the rounds of a curve and what is in one of its columns, without what was not measured."""
    curve = curves.get_group(folder)
    return list(curve[["round", name]].dropna().itertuples(index=False, name=None))


def tensorboard():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = s.getsockname()[1]
    command = [os.path.join(BIN, "tensorboard"), "--logdir", "out", "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(path, body=None, **query):
        url = f"http://localhost:{port}/data/{path}?{urllib.parse.urlencode(query)}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        with direct.open(request, timeout=30) as answer:
            return json.load(answer)

    def ready():
        try:
            return len(get("runs")) == len(runs)
        except OSError:
            return False

    try:
        began = time.monotonic()
        while not ready():
            assert server.poll() is None and time.monotonic() < began + 120, "TensorBoard does not show every run"
            time.sleep(0.2)
        look(get)
    finally:
        server.terminate()
        said = server.communicate()[1].decode()
        print(said) if "Error" in said or "corrupt" in said else None
    assert "Error" not in said and "corrupt" not in said, "TensorBoard has found faults"


def look(get):
    """Compare what TensorBoard serves with the runs."""
    experiment = get("plugin/hparams/experiment", {})
    columns = [{"hparam": h["name"]} for h in experiment["hparamInfos"]]
    columns += [{"metric": m["name"]} for m in experiment["metricInfos"]]
    every = ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]
    body = {"startIndex": 0, "sliceSize": 100, "allowedStatuses": every, "colParams": columns}
    groups = {g["name"]: g for g in get("plugin/hparams/session_groups", body)["sessionGroups"]}
    assert len(groups) == len(runs), groups.keys()
    for _, run in runs.iterrows():
        name = os.path.relpath(run["folder"], "out")
        group = groups[name]
        assert len(group["sessions"]) == 1, group
        status = group["sessions"][0].get("status", "STATUS_UNKNOWN")
        assert status == STATUS.get(run["status"], "STATUS_UNKNOWN"), (name, run["status"], status)
        got = group["hparams"]
        for key in ("method", "data", "availability", "preset", "net", "clients", "seed"):
            assert got[key] == run[key], (name, key, got[key], run[key])
        info = infos[run["folder"]]
        want = {**info["settings"], "seed": info["seed"]}
        if run["status"] != "unfinished":  # whose settings are found from its curve
            want["numerics"] = info["numerics"]
        assert got == want, (name, got, want)
        metrics = {m["name"]["tag"]: m["value"] for m in group["metricValues"]}
        shown = {tag for tag in metrics if tag.startswith("summary/")}
        assert shown == {"summary/" + n for n in numbers(run)}, (name, shown)
        for n, x in numbers(run).items():
            same(metrics["summary/" + n], x, SINGLE, f"{name}: summary/{n}")
        for column, tag in MEASURED.items():
            series = get("plugin/scalars/scalars", run=name, tag=tag)
            want = measured(run["folder"], column)
            assert [step for _, step, _ in series] == [step for step, _ in want], (name, tag, series)
            for (_, step, x), (_, y) in zip(series, want):
                same(x, y, SINGLE, f"{name}: {tag} after round {step}")


def inspect(path):
    """Return the records of an offline run of W&B by their type, read by its own program."""
    command = [os.path.join(BIN, "wandb"), "leet", "inspect", "--json", path]
    records = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        record = json.loads(line)
        records.setdefault(record["type"], []).append(record[record["type"]])
    return records


def wandb(snippet):
    exec(compile(snippet, "docs/trackers.md", "exec"), {})
    found = {}
    for path in glob.glob("wandb/offline-run-*/*.wandb"):
        records = inspect(path)
        found[records["run"][0]["display_name"]] = records
    assert found.keys() == set(runs["folder"]), found.keys()
    for _, run in runs.iterrows():
        records, name = found[run["folder"]], run["folder"]
        config = records["run"][0]["config"]["update"]
        for key in ("method", "data", "availability", "seed", "status", "lr"):
            if not pandas.isna(run[key]):
                assert config[key] == run[key], (name, key, config[key])
        history = [(h["step"].get("num", 0), h["item"]) for h in records["history"]]
        for column in MEASURED:
            got = [(step, item[column]) for step, item in history if column in item]
            want = measured(name, column)
            assert [step for step, _ in got] == [step for step, _ in want], (name, column, got)
            for (step, x), (_, y) in zip(got, want):
                same(x, y, 0, f"{name}: {column} after round {step}")
        summary = {}
        for s in records.get("summary", []):
            summary.update(s.get("update", {}))
        for n, x in numbers(run).items():
            same(summary["summary/" + n], x, 0, f"{name}: summary/{n}")


def wandb_importer():
    """Have W&B's own importer read an event file, from a writer of TensorBoard's that writes it again."""
    import wandb
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.summary.writer import event_file_writer

    folder = runs[runs["status"] == "complete"]["folder"].iloc[0]
    wandb.tensorboard.patch(root_logdir="again")
    with wandb.init(project="again", mode="offline", dir="importer"):
        writer = event_file_writer.EventFileWriter("again")
        for event in LegacyEventFileLoader(os.path.join(folder, "events.out.tfevents.rollcall")).Load():
            writer.add_event(event)
        writer.close()
    (path,) = glob.glob("importer/wandb/offline-run-*/*.wandb")
    history = [h["item"] for h in inspect(path)["history"]]
    for column, tag in MEASURED.items():
        got = [(item["global_step"], item[tag]) for item in history if tag in item]
        want = measured(folder, column)
        assert [step for step, _ in got] == [step for step, _ in want], (tag, got)
        for (step, x), (_, y) in zip(got, want):
            same(x, y, SINGLE, f"importer: {tag} after round {step}")


def mlflow(snippet):
    exec(compile(snippet, "docs/trackers.md", "exec"), {})
    import mlflow

    client = mlflow.MlflowClient("sqlite:///mlflow.db")
    experiment = client.get_experiment_by_name("rollcall")
    found = {r.info.run_name: r for r in client.search_runs([experiment.experiment_id])}
    assert found.keys() == set(runs["folder"]), found.keys()
    for _, run in runs.iterrows():
        name, has = run["folder"], found[run["folder"]]
        for key in ("method", "data", "availability", "seed", "status", "lr"):
            if not pandas.isna(run[key]):
                assert has.data.params[key] == str(run[key]), (name, key, has.data.params[key])
        for column in MEASURED:
            got = [(m.step, m.value) for m in client.get_metric_history(has.info.run_id, column)]
            want = measured(name, column)
            assert sorted(step for step, _ in got) == [step for step, _ in want], (name, column, got)
            for (step, x), (_, y) in zip(sorted(got), want):
                same(x, y, 1e-12, f"{name}: {column} after round {step}")
        for n, x in numbers(run).items():
            same(has.data.metrics["summary/" + n], x, 1e-12, f"{name}: summary/{n}")


def parquet():
    for name, frame in ("curves", rc.read("out")), ("runs", runs):
        frame.to_parquet(name + ".parquet")
        pandas.testing.assert_frame_equal(pandas.read_parquet(name + ".parquet"), frame)


for check, *snippet in (tensorboard,), (wandb, sys.argv[1]), (wandb_importer,), (mlflow, sys.argv[2]), (parquet,):
    began = time.monotonic()
    check(*snippet)
    print(f"{check.__name__}: {time.monotonic() - began:.1f} s")
