"""Finished and unfinished runs as data frames of pandas."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    import pandas

__all__ = ["read", "read_runs"]

# Texts may look like numbers (the version 06a36914, the digest 12345e67), and an empty text is no missing value.
_TEXTS = (
    "table", "method", "preset", "data", "net", "availability", "params", "engine", "precision", "version", "status",
    "folder", "device", "numerics", "revisions", "data_checksum",
)
# Columns of numbers that may be missing, or NaN in the last row of a run that diverged.
_NUMBERS = ("alpha", "train_loss", "train_acc", "test_loss", "test_acc", "elapsed_s")
_COUNTS = ("clients", "seed", "round", "active", "rounds_done")

# The numbers of runs, in columns of read_runs.
_METRIC = re.compile(r"test_acc_(final|max|mean|std)$|rounds_to_acc_")


def read(
    *folders: Union[str, os.PathLike[str]], binary: Optional[Union[str, os.PathLike[str]]] = None
) -> pandas.DataFrame:
    """Return every row of every curve below the folders ("out" if none is given), with the settings of its run.

    A row is an evaluated round. Its columns are those of curve.csv, the status of the run (complete, interrupted,
    running, ...), its folder, and one column for each setting, as `rollcall results curves` prints them. A setting
    that a run does not have is missing in its rows. Damaged runs are left out, and a warning names them.

    binary is the program; otherwise it is $ROLLCALL, the one of this Python's environment, or the one on PATH.

    Raises FileNotFoundError if a folder or the program is missing, and RuntimeError if the program fails.
    """
    return _frame(["results", "curves", "--", *_folders(folders)], ("lr",), binary)


def read_runs(
    *folders: Union[str, os.PathLike[str]], table: str = "all", metrics: Union[str, Sequence[str]] = (),
    binary: Optional[Union[str, os.PathLike[str]]] = None,
) -> pandas.DataFrame:  # fmt: skip
    """Return a row for each run of a table below the folders ("out" if none is given), or of all tables.

    Its columns are what was trained, the seed, the status, what computed the run, its numbers, and one column for each
    setting, as `rollcall results export TABLE DIR --wide` prints them. Only complete runs have numbers: those of
    metrics, in words of --metric such as "final" and "rounds_to_60", or else all that any run has. Accuracies are
    fractions. A setting that a run does not have is missing in its row. Damaged runs are left out, and a warning names
    them.

    binary and errors are those of read.
    """
    metrics = [metrics] if isinstance(metrics, str) else metrics
    chosen = ["--metric", ",".join(metrics)] if metrics else []
    command = ["results", "export", "--wide", *chosen, "--", table, *_folders(folders)]
    return _frame(command, (), binary)


def _folders(folders: Sequence[Union[str, os.PathLike[str]]]) -> list[str]:
    paths = [os.fspath(f) for f in folders] or ["out"]
    for path in paths:
        if not os.path.isdir(path):
            raise FileNotFoundError(f"{path}: no such folder")
    return paths


def _frame(
    command: list[str], numbers: Sequence[str], binary: Optional[Union[str, os.PathLike[str]]]
) -> pandas.DataFrame:
    """Return the CSV that a command of the program prints. numbers are further columns of numbers, and no settings."""
    try:
        import pandas
    except ImportError as err:
        raise ImportError("rollcall_fl: runs are read with pandas, which is missing: pip install rollcall-fl[pandas]") from err
    text = _run([_program(binary), *command])
    names = pandas.read_csv(io.StringIO(text), nrows=0).columns
    floats = {*_NUMBERS, *numbers, *(name for name in names if _METRIC.match(name))}
    settings = [name for name in names if name not in {*_TEXTS, *_COUNTS, *floats}]
    types: dict[str, type] = {name: str for name in names if name in _TEXTS or name.endswith("sha256")}
    types.update(dict.fromkeys(floats, float), **dict.fromkeys(_COUNTS, int))
    # Only an empty cell is missing: a setting may be the text "NA".
    missing = {**dict.fromkeys(settings, [""]), **dict.fromkeys(floats, ["", "NaN"])}
    frame = pandas.read_csv(
        io.StringIO(text), dtype=types, keep_default_na=False, na_values=missing, low_memory=False
    )
    # Whole numbers and booleans stay what they are where some runs lack them.
    for name in settings:
        known = frame[name].dropna()
        if len(known) == len(frame):
            continue
        if known.dtype == float and (known % 1 == 0).all():
            frame[name] = frame[name].astype("Int64")
        elif all(isinstance(value, bool) for value in known):
            frame[name] = frame[name].astype("boolean")
    return frame


def _run(command: list[str]) -> str:
    """Return what a command prints. A warning says what is wrong with runs that it leaves out."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    said = done.stderr.strip()
    if done.returncode == 1 and done.stdout:
        warnings.warn(said, stacklevel=4)
    elif done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{said}")
    elif said:
        print(said, file=sys.stderr)
    return done.stdout


def _program(binary: Optional[Union[str, os.PathLike[str]]]) -> str:
    """Return the path of the program."""
    named = os.fspath(binary) if binary is not None else os.environ.get("ROLLCALL", "")
    if named:
        found = shutil.which(named)
        if found is None:
            raise FileNotFoundError(f"{named}: no such program, want rollcall")
        return found
    installed = os.path.join(sysconfig.get_path("scripts"), "rollcall")
    found = shutil.which(installed) or shutil.which("rollcall")
    if found is None:
        raise FileNotFoundError(
            f"no program rollcall in {os.path.dirname(installed)} or on PATH: set ROLLCALL to its path"
        )
    return found
