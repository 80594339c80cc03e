"""What a method is, and what it is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Optional, Union

import numpy as np

from .rows import Ends, Pipe, Row, Rows, Scope

Array = np.ndarray[Any, Any]


class Param:
    """A parameter of a method, see `param`."""

    def __init__(self, default: Any, help: str, words: Optional[Sequence[str]], **ends: Optional[float]) -> None:
        self.default, self.help, self.words = default, help, words if words is None else list(words)
        if not isinstance(help, str):
            raise TypeError(f"param({default!r}): help={help!r}, want text")
        if isinstance(words, str) or not all(isinstance(w, str) for w in words or ()):
            raise TypeError(f"param({default!r}): words={words!r}, want a list of words")
        for k, v in ends.items():
            if not isinstance(v, (Real, type(None))):
                raise TypeError(f"param({default!r}): {k}={v!r}, want a number")
        self.ends = {k: float(v) for k, v in ends.items() if v is not None}
        kinds = {bool: "switch", int: "whole", float: "number", str: "word"}
        if type(default) not in kinds:
            raise TypeError(f"param({default!r}): want True or False, a number or a word")
        self.kind = kinds[type(default)]
        if (self.kind == "word") != (words is not None):
            raise TypeError(f"param({default!r}): want words=[…] for a word, and for nothing else")
        if words is not None and default not in words:
            raise ValueError(f"param({default!r}): want one of {self.words}")

    def text(self, value: Any) -> str:
        return str(value).lower() if self.kind == "switch" else str(value)

    def value(self, text: str) -> Any:
        """Return the value of a command line, which has checked it."""
        if self.kind == "switch":
            return text == "true"
        return {"whole": int, "number": float, "word": str}[self.kind](text)


def param(
    default: Any, *, low: Optional[float] = None, above: Optional[float] = None, high: Optional[float] = None,
    below: Optional[float] = None, words: Optional[Sequence[str]] = None, help: str = "",
) -> Any:  # fmt: skip
    """Declare a parameter: `beta = rc.param(0.9, low=0, below=1, help="momentum")` in the class, `self.beta` in it.

    The command line gets a flag (--fedaum-beta for beta of fedaum), and run.json the value. The kind is the default's:
    True or False, a whole number, a number, or one of `words`. low and high belong to the range, above and below do not.
    """
    return Param(default, help, words, low=low, above=above, high=high, below=below)


class Method:
    """A federated method. A file has one class of this kind; its name is `name`, or else the file's."""

    name: str = ""
    rates: dict[str, float] = {}  # the default rates, lr and server_lr
    # What `rollcall method check` holds the method to.
    moves_when_empty: bool = False  # a round in which nobody is active moves the model
    uses_server_lr: bool = True

    _fed: Fed  # set before start

    def start(self, fed: Fed) -> None:
        """Declare all that is kept from round to round, by `fed`. Nothing else outlives a checkpoint."""
        raise NotImplementedError("start(self, fed): declares a model at least")

    def round(self, r: Round) -> None:
        """Run one round, also if nobody is active."""
        raise NotImplementedError("round(self, r)")

    def model(self) -> Row:
        """Return the row to evaluate. By default the model that start declares first."""
        return self._fed.first

    def __setattr__(self, name: str, value: Any) -> None:
        if not self.__dict__.get("_frozen", False):
            object.__setattr__(self, name, value)
            return
        kept = next((a for a in self._fed.arrays.values() if a is self.__dict__.get(name)), None)
        if kept is None:
            raise AttributeError(
                f"self.{name}: attributes are made in start alone, since a resumed run has what start declares: "
                "fed.ints, fed.floats and fed.row keep numbers and weights, and row.set changes a row"
            )
        if kept is not value:
            np.copyto(kept, value, casting="same_kind")


class _Draws:
    """Random numbers of a run."""

    def __init__(self, seed: int, at: str) -> None:
        self._seed, self._at = seed, at

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator of its own for each seed, round and name. It has no state to be kept: no checkpoint needs it."""
        key = hashlib.sha256(f"{self._seed}/{self._at}/{name}".encode()).digest()[:16]
        return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))


class Fed(_Draws):
    """The federation, as `start` sees it. N clients; weights: how many there are in a row.

    importance [N], sums to 1; pi [N], the share of rounds with each client; lambda_ [N], the correlation of its rounds;
    steps [N], the local steps E of each client in a round; seed.
    """

    def __init__(self, pipe: Pipe, m: dict[str, Any]) -> None:
        super().__init__(m["seed"], "start")
        self.N, self.weights, self.seed = int(m["N"]), int(m["weights"]), int(m["seed"])
        self.importance, self.pi, self.lambda_ = (np.array(m[k], float) for k in ("importance", "pi", "lambda"))
        self.steps = np.array(m["steps"], np.int64)
        self.arrays: dict[str, Array] = {}
        self._pipe, self._scope = pipe, Scope(pipe, "a row", self.weights)
        self._first: Optional[Row] = None

    @property
    def first(self) -> Row:
        if self._first is None:
            raise ValueError("start declares no model: want fed.model")
        return self._first

    def model(self, name: str) -> Row:
        """Declare a model: a row that begins at the initial weights."""
        return self._new(name, 1, True)[0]

    def models(self, name: str, n: Optional[int] = None) -> Rows:
        """Declare n models, by default one for each client."""
        return Rows(self._new(name, n, True))

    def row(self, name: str) -> Row:
        """Declare a row of zeros."""
        return self._new(name, 1, False)[0]

    def rows(self, name: str, n: Optional[int] = None) -> Rows:
        """Declare n rows of zeros, by default one for each client."""
        return Rows(self._new(name, n, False))

    def ints(self, name: str, shape: Union[int, tuple[int, ...], None] = None) -> Array:
        """Declare an array of zeros, int64, by default [N]; shape () is one number. Change it in place or assign to it."""
        return self._array(name, shape, np.int64)

    def floats(self, name: str, shape: Union[int, tuple[int, ...], None] = None) -> Array:
        """Declare an array of zeros, float64. See `ints`."""
        return self._array(name, shape, np.float64)

    def _new(self, name: str, n: Optional[int], model: bool) -> list[Row]:
        answer = self._pipe.call(op="new", name=name, n=self.N if n is None else int(n), model=model)
        rows = [Row(k, self._scope) for k in answer["rows"]]
        if model and self._first is None:
            self._first = rows[0]
        return rows

    def _array(self, name: str, shape: Any, dtype: Any) -> Array:
        if name in self.arrays:
            raise ValueError(f"array {name!r} is declared twice")
        self.arrays[name] = np.zeros(self.N if shape is None else shape, dtype)
        return self.arrays[name]


class Round(_Draws):
    """A round. t from 0; active [K] int64 ascending, the active clients; here [N] bool, their mask; p [N], the
    probability that a client is active in this round; lr, server_lr: the learning rates of this round; N, steps,
    importance as in Fed.
    """

    def __init__(self, pipe: Pipe, fed: Fed, m: dict[str, Any]) -> None:
        super().__init__(fed.seed, str(m["t"]))
        self.t, self.lr, self.server_lr = int(m["t"]), float(m["lr"]), float(m["server_lr"])
        self.N, self.steps, self.importance = fed.N, fed.steps, fed.importance
        self.active = np.array(m["active"], np.int64)
        self._pipe, self._scope = pipe, Scope(pipe, f"an end of round {self.t}", fed.weights)
        self._decisions: Optional[dict[str, Any]] = None

    @property
    def here(self) -> Array:
        here = np.zeros(self.N, bool)
        here[self.active] = True
        return here

    @property
    def p(self) -> Array:
        return np.array(self._pipe.call(op="probabilities")["p"], float)

    def train(
        self, start: Union[Row, Rows, Sequence[Row]], *, clients: Optional[Iterable[int]] = None,
        lr: Optional[float] = None, decay: float = 0.0, drift: Union[Row, Rows, Sequence[Row], None] = None,
        steps: Optional[Iterable[int]] = None,
    ) -> Ends:  # fmt: skip
        """Run local steps of all active clients, or of some, and return where they ended.

        start: one row, or one for each client. lr: in place of the round's. decay: weight decay, beside the run's.
        drift: a row, or one for each client, that is added to every gradient. steps: local steps of each client, in
        place of fed.steps. Clients go on in their own samples from call to call.
        """
        who = self.active if clients is None else np.array(sorted(int(i) for i in clients), np.int64)
        if len(who) == 0:
            return Ends([], who, np.zeros(0))
        message: dict[str, Any] = {"op": "train", "start": _numbers(start), "decay": float(decay)}
        if clients is not None:
            message["clients"] = who.tolist()
        if lr is not None:
            message["lr"] = float(lr)
        if drift is not None:
            message["drift"] = _numbers(drift)
        if steps is not None:
            message["steps"] = [int(e) for e in steps]
        answer = self._pipe.call(**message)
        rows = [Row(k, self._scope) for k in answer["ends"]]
        return Ends(rows, who, np.array(answer["loss"], float))

    def evaluate(
        self, rows: Union[Row, Rows, Sequence[Row]], clients: Optional[Iterable[int]] = None
    ) -> tuple[Array, Array, Array]:
        """Return loss and accuracy of rows on the training samples of clients, [rows, clients] or [clients] for one row,
        and the number of samples [clients]. Without clients: of all. No method sees the test set.
        """
        message: dict[str, Any] = {"op": "evaluate", "rows": _numbers([rows] if isinstance(rows, Row) else rows)}
        if clients is not None:
            message["clients"] = sorted(int(i) for i in clients)
        answer = self._pipe.call(**message)
        loss, accuracy = (np.array(answer[k], float) for k in ("loss", "accuracy"))
        n = np.array(answer["n"], np.int64)
        return (loss[0], accuracy[0], n) if isinstance(rows, Row) else (loss, accuracy, n)

    def decide(
        self, q: Iterable[float], included: Optional[Iterable[bool]] = None, pi: Optional[Iterable[float]] = None,
        lambda_: Optional[Iterable[float]] = None,
    ) -> None:  # fmt: skip
        """Say for `rollcall run --decisions` by which weight q [N] each client entered, who was included [N] (by default
        all), and the estimates pi and lambda_ [N] behind it."""
        zeros = [0.0] * self.N
        self._decisions = {
            "q": [float(x) for x in q],
            "included": [True] * self.N if included is None else [bool(x) for x in included],
            "pi": zeros if pi is None else [float(x) for x in pi],
            "lambda": zeros if lambda_ is None else [float(x) for x in lambda_],
        }


def _numbers(rows: Any) -> Any:
    """Return the number of a row, or those of several."""
    if isinstance(rows, Row):
        return rows.number()
    for row in rows:
        if not isinstance(row, Row):
            raise TypeError("a sum of rows, want rows: set a row to it first")
    return [row.number() for row in rows]
