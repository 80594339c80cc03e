"""Rows of weights in the engine, and sums of them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional, Protocol, Union, overload

import numpy as np

# A term is (numerator, denominator, row): the mean of K rows has 1/K of each, and what multiplies the mean multiplies
# the numerator, so that rate · mean has exactly the coefficient rate/K.
Term = tuple[float, int, "Row"]
Numbers = Union[Sequence[float], "np.ndarray[Any, Any]"]


class EngineError(RuntimeError):
    """The engine refused what the method asked for, now or since the last answer."""


class StaleRow(RuntimeError):
    """A row of an earlier round was used: the ends of local steps last until the round ends."""


class Pipe(Protocol):
    """What rows need of the connection to the engine."""

    def send(self, **message: Any) -> None: ...
    def combine(self, dst: int, c: list[float], src: list[int]) -> None: ...
    def call(self, **message: Any) -> dict[str, Any]: ...


class Scope:
    """How long some rows live: the whole run, or one round."""

    def __init__(self, pipe: Pipe, what: str, weights: int) -> None:
        self.pipe, self.what, self.weights, self.alive = pipe, what, weights, True


class Expr:
    """A linear combination of rows, Σ c·row, which costs nothing until a row is set to it."""

    __slots__ = ("_terms",)
    __array_ufunc__ = None  # so that np.float64 · Expr is an Expr

    def __init__(self, terms: list[Term]) -> None:
        self._terms = terms

    @property
    def terms(self) -> list[Term]:
        return self._terms

    def __add__(self, other: Expr) -> Expr:
        return Expr(self.terms + other.terms) if isinstance(other, Expr) else NotImplemented

    def __radd__(self, other: int) -> Expr:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # the built-in sum begins with 0

    def __sub__(self, other: Expr) -> Expr:
        return self + (-other) if isinstance(other, Expr) else NotImplemented

    def __neg__(self) -> Expr:
        return Expr(_scaled(-1.0, self.terms))

    def __mul__(self, c: float) -> Expr:
        return Expr(_scaled(float(c), self.terms)) if np.isscalar(c) or np.ndim(c) == 0 else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, c: float) -> Expr:
        return Expr([(n / d / float(c), 1, row) for n, d, row in self.terms])


class Row(Expr):
    """A row of weights in the engine: declared in start and kept from round to round, or an end of a client's steps."""

    __slots__ = ("_id", "_scope", "__weakref__")

    def __init__(self, number: int, scope: Scope) -> None:
        self._id, self._scope = number, scope

    @property
    def terms(self) -> list[Term]:
        return [(1.0, 1, self)]

    def number(self) -> int:
        """Return the row's number on the pipe."""
        if not self._scope.alive:
            raise StaleRow(f"{self._scope.what}: used after it")
        return self._id

    def set(self, value: Expr, include: Optional[Iterable[int]] = None) -> None:
        """Set the weights to a linear combination of rows, which may have this row in it.

        The coefficients of one row are added in float64 in the order written, at the row's first place; coefficients
        of 0 are left out; the engine adds in float32 in that order. A model that is set gets, when `round` returns, the
        running statistics of batch normalisation of the clients that trained in this round, or of those in `include`.
        """
        if not isinstance(value, Expr):
            raise TypeError(f"set to {type(value).__name__}: want rows and sums of rows; .load takes an array")
        c: dict[int, float] = {}
        for n, d, row in value.terms:
            k = row.number()
            c[k] = c[k] + n / d if k in c else n / d
        cs, src = [x for x in c.values() if x != 0], [k for k, x in c.items() if x != 0]
        if include is not None:
            who = sorted(int(i) for i in include)
            self._scope.pipe.send(op="combine", dst=self.number(), c=cs, src=src, include=who)
            return
        self._scope.pipe.combine(self.number(), cs, src)

    def numpy(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return a copy of the weights [weights] float32, without running statistics. It crosses the pipe: milliseconds."""
        answer = self._scope.pipe.call(op="store", row=self.number())
        return np.frombuffer(base64.b64decode(answer["data"]), "<f4").astype(np.float32)

    def load(self, weights: Numbers, include: Optional[Iterable[int]] = None) -> None:
        """Set the weights to an array [weights], of which float32 is kept. See `numpy` and `set`."""
        a = np.ascontiguousarray(weights, dtype="<f4")
        if a.shape != (self._scope.weights,):
            raise ValueError(f"load of shape {a.shape}, want ({self._scope.weights},)")
        message = {"op": "load", "row": self.number(), "data": base64.b64encode(a.tobytes()).decode("ascii")}
        if include is not None:
            message["include"] = sorted(int(i) for i in include)
        self._scope.pipe.send(**message)


class Rows:
    """Several rows, or linear combinations of rows, side by side: `ends - w` is every end minus w."""

    __array_ufunc__ = None

    def __init__(
        self, items: Sequence[Expr], before: Sequence[Term] = (), after: Sequence[Term] = ()
    ) -> None:
        self._items, self._before, self._after = items, list(before), list(after)  # what all share, and its place

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, k: Union[int, np.integer[Any]]) -> Any: ...
    @overload
    def __getitem__(self, k: Union[slice, Numbers]) -> Rows: ...
    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, (int, np.integer)):
            item = self._items[int(k)]
            return Expr(self._before + item.terms + self._after) if self._before or self._after else item
        if isinstance(k, slice):
            return Rows(self._items[k], self._before, self._after)
        index = np.asarray(k)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        return Rows([self._items[int(i)] for i in index], self._before, self._after)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __add__(self, other: Union[Expr, Rows]) -> Rows:
        if isinstance(other, Expr):
            return Rows(self._items, self._before, self._after + other.terms)
        if isinstance(other, Rows):
            return Rows([a + b for a, b in _pairs(self, other)])
        return NotImplemented

    def __radd__(self, other: Expr) -> Rows:
        return Rows(self._items, other.terms + self._before, self._after) if isinstance(other, Expr) else NotImplemented

    def __neg__(self) -> Rows:
        return -1.0 * self

    def __sub__(self, other: Union[Expr, Rows]) -> Rows:
        return self + (-other) if isinstance(other, (Expr, Rows)) else NotImplemented

    def __rsub__(self, other: Expr) -> Rows:
        return other + (-self) if isinstance(other, Expr) else NotImplemented

    def __mul__(self, c: Union[float, Numbers]) -> Rows:
        if np.ndim(c) == 0:
            x = float(c)  # type: ignore[arg-type]
            return Rows([e * x for e in self._items], _scaled(x, self._before), _scaled(x, self._after))
        return Rows([e * float(x) for x, e in _pairs(c, self)])

    __rmul__ = __mul__

    def set(self, value: Union[Expr, Rows], include: Optional[Iterable[int]] = None) -> None:
        """Set each row, one after the other: to its place in `value`, or all to the same."""
        values = value if isinstance(value, Rows) else [value] * len(self)
        for row, v in _pairs(self, values):
            if not isinstance(row, Row):
                raise TypeError("set of a sum of rows: want rows")
            row.set(v, include)


class Ends(Rows):
    """Where clients' local steps ended. They last until the round ends, and may be written to until then.

    clients [K] int64 ascending; loss [K] float64, of each client's first batch before its first step.
    """

    def __init__(self, rows: Sequence[Row], clients: Any, loss: Any) -> None:
        super().__init__(rows)
        self.clients, self.loss = clients, loss


def _scaled(c: float, terms: Iterable[Term]) -> list[Term]:
    return [(c * n, d, row) for n, d, row in terms]


def _pairs(a: Any, b: Any) -> Iterable[tuple[Any, Any]]:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)}, want as many")
    return zip(a, b)


def sum(c: Union[float, Numbers], rows: Union[Rows, Sequence[Expr]]) -> Expr:
    """Return Σ c_k · rows_k, in this order. c is one number for each row, or one for all."""
    cs = [float(c)] * len(rows) if np.ndim(c) == 0 else c  # type: ignore[arg-type]
    terms: list[Term] = []
    for x, e in _pairs(cs, rows):
        terms += _scaled(float(x), e.terms)
    return Expr(terms)


def mean(rows: Union[Rows, Sequence[Expr]]) -> Expr:
    """Return the mean. mean(x − w) is mean(x) − w, with exactly 1. Of no rows it is nothing: it moves no model."""
    k = len(rows)
    if k == 0:
        return Expr([])
    shared = rows if isinstance(rows, Rows) else Rows(rows)
    terms = [(n, d * k, row) for e in shared._items for n, d, row in e.terms]
    return Expr(shared._before + terms + shared._after)


def dot(a: Row, b: Row) -> float:
    """Return Σ a·b over the weights of two rows, added in float64 by the engine."""
    for x in (a, b):
        if not isinstance(x, Row):
            raise TypeError("dot of a sum of rows: set a row to it first")
    return float(a._scope.pipe.call(op="dot", a=a.number(), b=b.number())["value"])


def norm(a: Row) -> float:
    """Return the Euclidean norm of the weights of a row."""
    if not isinstance(a, Row):
        raise TypeError("norm of a sum of rows: set a row to it first")
    return float(a._scope.pipe.call(op="norm", row=a.number())["value"])
