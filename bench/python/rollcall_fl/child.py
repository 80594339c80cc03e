"""The process of a method: it speaks to the engine on descriptors 3 and 4, by the protocol of docs/protocol.md."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
import os
import platform
import signal
import sys
import sysconfig
import threading
import time
import traceback
import weakref
from importlib import machinery
from numbers import Real
from types import CodeType, ModuleType
from typing import Any, Optional

import numpy as np

import rollcall_fl

from .method import Fed, Method, Param, Round
from .rows import EngineError

PROTOCOL = 1
MOST = 16 << 20  # bytes of a source, as the engine has it for the file of a method
HERE = os.path.dirname(os.path.realpath(__file__))


class Ended(BaseException):
    """The parent has ended the run."""


class Wire:
    """The two pipes. What needs no answer is sent with the next message that does."""

    def __init__(self) -> None:
        for fd in (3, 4):
            os.set_inheritable(fd, False)
        self._in, self._out = os.fdopen(3, "rb", 1 << 16), os.fdopen(4, "wb", 1 << 16)

    def send(self, **message: Any) -> None:
        self._out.write(_json(message))

    def combine(self, dst: int, c: list[float], src: list[int]) -> None:
        """Send a combine, of which there may be hundreds in a round: Python's text of lists of finite numbers is JSON."""
        cs = str(c)
        if "n" in cs:  # nan, inf
            self.send(op="combine", dst=dst, c=c, src=src)
            return
        self._out.write(b'{"op":"combine","dst":%d,"c":%b,"src":%b}\n' % (dst, cs.encode(), str(src).encode()))

    def call(self, **message: Any) -> dict[str, Any]:
        self.send(**message)
        answer = self.next()
        if "error" in answer:
            raise EngineError(answer["error"])
        return answer

    def next(self) -> dict[str, Any]:
        """Return the parent's next line."""
        try:
            self._out.flush()
        except BrokenPipeError:
            raise Ended from None
        line = self._in.readline()
        if not line.endswith(b"\n"):
            raise Ended
        message: dict[str, Any] = json.loads(line)
        if message.get("op") == "end":
            raise Ended
        return message

    def last(self, **message: Any) -> None:
        """Send the last message of this process."""
        try:
            self.send(**message)
            self._out.flush()
        except BrokenPipeError:
            pass


_encode = json.JSONEncoder(allow_nan=False, check_circular=False, separators=(",", ":")).encode


def _json(value: Any) -> bytes:
    try:
        text = _encode(value)
    except ValueError:  # NaN and infinities are text
        text = _encode(_finite(value))
    return text.encode() + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value


class Source:
    """The file of a method, with what it imports outside of the standard library and of site- and dist-packages."""

    def __init__(self, path: str) -> None:
        self.path, self.stem = path, os.path.splitext(os.path.basename(path))[0]
        self.module = self.stem if self.stem not in sys.modules else "method_" + self.stem
        paths = sysconfig.get_paths()
        self._not_own = [os.path.realpath(paths[k]) + os.sep for k in ("stdlib", "platstdlib")] + [HERE + os.sep]
        self._before = set(sys.modules)  # what Python itself has imported, as for sitecustomize
        self._known: dict[str, str] = {}
        self._looked_at = 0

    def load(self) -> type[Method]:
        """Run the file and return its class."""
        sys.path.insert(0, os.path.dirname(self.path))
        sys.path_hooks.insert(0, self._finder)
        sys.path_importer_cache.clear()
        loader = _AsItIs(self.module, self.path)
        spec = importlib.util.spec_from_file_location(self.module, self.path, loader=loader)
        if spec is None or spec.loader is None:
            raise ImportError(f"{self.path}: want a file whose name ends in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.module] = module
        spec.loader.exec_module(module)
        self._known = self._own()
        classes = [
            c for c in vars(module).values()
            if isinstance(c, type) and issubclass(c, Method) and c.__module__ == self.module
        ]  # fmt: skip
        if len(classes) != 1:
            names = ", ".join(c.__name__ for c in classes) or "none"
            raise TypeError(f"{os.path.basename(self.path)}: classes of rollcall_fl.Method: {names}; want one")
        return classes[0]

    def sum(self) -> str:
        """Return the SHA-256 of the sources: of the file, then of each module with its name, in the order of names."""
        total = hashlib.sha256(_sha256(self.path))
        for name, path in sorted(self._known.items()):
            total.update(name.encode() + b"\0" + _sha256(path))
        return total.hexdigest()

    def check(self) -> None:
        """Refuse modules that were imported since, and so are not in the sum."""
        if len(sys.modules) == self._looked_at:
            return
        late = sorted(self._own().keys() - self._known.keys())
        if late:
            raise ImportError(f"{late[0]}: imported after the file was read: import it at the top of the file, so that "
                              "its source counts with the method's")  # fmt: skip
        self._looked_at = len(sys.modules)

    def _own(self) -> dict[str, str]:
        return {name: path for name, m in list(sys.modules.items()) if (path := self._path(name, m))}

    def _path(self, name: str, module: Optional[ModuleType]) -> Optional[str]:
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or name in self._before or name == self.module or not os.path.isfile(path):
            return None
        real = os.path.realpath(path)
        return real if self._is_own(real) else None

    def _is_own(self, real: str) -> bool:
        others = {"site-packages", "dist-packages"} & set(real.split(os.sep))
        return not others and not real.startswith(tuple(self._not_own))

    def _finder(self, folder: str) -> machinery.FileFinder:
        """Return what finds the modules in a folder of the method's own, for sys.path_hooks."""
        if not os.path.isdir(folder) or not self._is_own(os.path.realpath(folder) + os.sep):
            raise ImportError(folder)
        return machinery.FileFinder(
            folder, (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
            (_AsItIs, machinery.SOURCE_SUFFIXES), (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
        )  # fmt: skip


class _AsItIs(machinery.SourceFileLoader):
    """Runs a source as it is, which is what is in the sum. Out of __pycache__, Python would run an older one that has
    the same size and was written in the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        if (size := os.path.getsize(path)) > MOST:
            raise ImportError(f"{path}: {size} bytes, want at most {MOST}")
        return self.source_to_code(self.get_data(path), path)


def _sha256(path: str) -> bytes:
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).digest()


class Runner:
    """The method in the course of a run."""

    def __init__(self, wire: Wire, source: Source, cls: type[Method]) -> None:
        self.wire, self.source, self.cls = wire, source, cls
        self.params = {n: p for c in reversed(cls.__mro__) for n, p in vars(c).items() if isinstance(p, Param)}
        self.handles = os.environ.get("ROLLCALL_CHECK_HANDLES") == "1"

    def introduce(self) -> None:
        cls = self.cls
        for name, kind, want in (
            ("name", str, "text"), ("__doc__", (str, type(None)), "text"), ("rates", dict, "a dict of lr and server_lr"),
            ("moves_when_empty", bool, "True or False"), ("uses_server_lr", bool, "True or False"),
        ):  # fmt: skip
            if not isinstance(getattr(cls, name), kind):
                raise TypeError(f"class {cls.__name__}: {name} = {getattr(cls, name)!r}, want {want}")
        for name, rate in cls.rates.items():
            if not isinstance(rate, Real):
                raise TypeError(f"class {cls.__name__}: rates: {name} = {rate!r}, want a number")
        unknown = cls.rates.keys() - {"lr", "server_lr"}
        if unknown:
            raise ValueError(f"class {cls.__name__}: rates: {min(map(repr, unknown))}, want lr and server_lr")
        self.wire.send(
            op="method", protocol=PROTOCOL, name=cls.name or self.source.stem, sha256=self.source.sum(),
            help=(cls.__doc__ or "").strip().split("\n")[0], rates={k: float(v) for k, v in cls.rates.items()},
            params=[
                {"name": n, "kind": p.kind, "default": p.text(p.default), "words": p.words, "help": p.help, **p.ends}
                for n, p in self.params.items()
            ],
            runtime={
                "python": platform.python_version(), "numpy": np.__version__, "rollcall_fl": rollcall_fl.__version__,
            },
            says={"moves_when_empty": cls.moves_when_empty, "uses_server_lr": cls.uses_server_lr},
        )  # fmt: skip

    def serve(self) -> None:
        """Do what the parent says, until it ends the run."""
        while True:
            m = self.wire.next()
            self.wire.send(id=m["id"], **getattr(self, "on_" + m["op"])(m))

    def on_start(self, m: dict[str, Any]) -> dict[str, Any]:
        self.fed, self.method = Fed(self.wire, m), self.cls()
        object.__setattr__(self.method, "_fed", self.fed)
        for name, p in self.params.items():
            object.__setattr__(self.method, name, p.value(m["params"][name]))
        self.method.start(self.fed)
        self.fed.first  # noqa: B018 there is one
        object.__setattr__(self.method, "_frozen", True)
        self.source.check()
        gc.freeze()  # what is there now stays, and need not be looked at in every collection
        arrays = [
            {"name": name, "kind": "ints" if a.dtype == np.int64 else "floats", "n": a.size}
            for name, a in self.fed.arrays.items()
        ]
        return {"op": "started", "arrays": arrays}

    def on_round(self, m: dict[str, Any]) -> dict[str, Any]:
        r = Round(self.wire, self.fed, m)
        scope = weakref.ref(r._scope)
        self.method.round(r)
        r._scope.alive = False
        self.source.check()
        decisions, t = r._decisions, r.t
        del r
        if self.handles:
            gc.collect()
            if scope() is not None:
                raise RuntimeError(f"round {t}: its rows are kept after it, want none: they are stale then")
        return {"op": "done"} if decisions is None else {"op": "done", "decisions": decisions}

    def on_model(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"op": "model", "row": self.method.model().number()}

    def on_save(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"op": "saved", "arrays": {name: a.reshape(-1).tolist() for name, a in self.fed.arrays.items()}}

    def on_restore(self, m: dict[str, Any]) -> dict[str, Any]:
        for name, a in self.fed.arrays.items():
            a[...] = np.array([a.dtype.type(x) for x in m["arrays"][name]], a.dtype).reshape(a.shape)
        return {"op": "restored"}


def report(wire: Wire, error: BaseException, file: str) -> None:
    """Show an exception as Python does, without the frames of this package before the method's, and tell the parent."""
    tb = error.__traceback__
    while tb is not None and _ours(tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(error), error, tb))
    sys.stdout.flush()
    sys.stderr.write(text)
    sys.stderr.flush()
    own = [f for f in traceback.extract_tb(tb) if os.path.realpath(f.filename) == os.path.realpath(file)]
    where = os.path.basename(file)
    if own:
        where += f", line {own[-1].lineno}, in {own[-1].name}"
    wire.last(op="error", error=traceback.format_exception_only(type(error), error)[-1].strip(), where=where, traceback=text)


def _ours(file: str) -> bool:
    return file.startswith("<frozen") or os.path.realpath(file).startswith(HERE + os.sep)


def watch_parent() -> None:
    """End with the parent, even if the method asks for nothing again, and end what the method has started."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Run the method of the file that is named as the only argument."""
    threading.Thread(target=watch_parent, daemon=True).start()
    wire, path = Wire(), os.path.abspath(sys.argv[1])
    try:
        source = Source(path)
        runner = Runner(wire, source, source.load())
        runner.introduce()
        runner.serve()
    except Ended:
        pass
    except BaseException as error:  # noqa: BLE001 sys.exit and a debugger's quit too
        report(wire, error, path)
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)  # threads of the method's own do not keep the process
