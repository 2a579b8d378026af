"""A user's file and the modules that it imports from its own folder: read once, hashed, run from those very bytes.

What is imported is found by reading the import statements, before any line runs: so the hash can be compared first.
"""

from __future__ import annotations

import ast
import builtins
import errno
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

Blame = Callable[[str], AbstractContextManager[None]]
"""Given a file, returns the context in which its lines run."""
LARGEST = 16_000_000
"""Bytes of a file and its helpers together: files are read because a checkpoint of somebody else's names them."""
_MAIN = "__scene__"
"""The name of the file's own module in the package that stands for its folder."""


@dataclass(frozen=True)
class Module:
    """A file of Python as it was read; a folder without `__init__.py` is a package with nothing in it."""

    file: Path
    text: bytes
    is_package: bool = False


@dataclass(frozen=True)
class Sources:
    """A file, and every module of its folder that it imports, directly or through another, by dotted name."""

    main: Module
    helpers: Mapping[str, Module]

    @property
    def sha256(self) -> str:
        """SHA-256 of the file; with helpers, of the list of all digests, helpers in the order of their names."""
        own = hashlib.sha256(self.main.text).hexdigest()
        if not self.helpers:
            return own
        lines = [own, *(f"{hashlib.sha256(m.text).hexdigest()} {name}" for name, m in sorted(self.helpers.items()))]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def files(self) -> list[Path]:
        """Every file that would be run."""
        return [self.main.file, *(module.file for module in self.helpers.values())]

    def run(self, blame: Blame) -> ModuleType:
        """Return the file's module after its first run, `blame` around each helper's own.

        All of it is in a package that stands for the file's folder, under a name that no other file has: two folders
        may each have a `helper.py`. The names at hand stay those of the import statements, at any time.
        """
        package = f"ecs_rl_scene_{hashlib.sha256(os.fsencode(self.main.file)).hexdigest()[:16]}"
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            del sys.modules[name]  # read anew
        folder = ModuleType(package)
        folder.__path__ = []
        sys.modules[package] = folder
        _FINDER.loaders[package] = loader = _Loader(self, package, blame)
        module = ModuleType(f"{package}.{_MAIN}")
        module.__file__, module.__package__ = str(self.main.file), package
        sys.modules[module.__name__] = module  # dataclasses in the file look their module up
        loader.execute(self.main, module)
        return module


class _Loader(Loader):
    """Runs the modules of one file."""

    def __init__(self, sources: Sources, package: str, blame: Blame) -> None:
        self.sources, self.package, self.blame = sources, package, blame

    def exec_module(self, module: ModuleType) -> None:
        """Run a helper; a failed import stays what it is, for the file may have an answer to it."""
        helper = self.sources.helpers[module.__name__.removeprefix(f"{self.package}.")]
        module.__file__ = str(helper.file)
        try:
            self.execute(helper, module)
        except ImportError:
            raise
        except BaseException as error:
            with self.blame(str(helper.file)):
                raise error

    def execute(self, source: Module, module: ModuleType) -> None:
        """Run the bytes that were read, whatever is in the file by now."""
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": self.find}
        exec(compile(source.text, str(source.file), "exec", dont_inherit=True), vars(module))

    def find(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import as Python does, but what the file has in its folder from there."""
        top = name.partition(".")[0]
        if level or top not in self.sources.helpers:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = builtins.__import__(f"{self.package}.{name}", globals, locals, fromlist or (), 0)
        return module if fromlist else sys.modules[f"{self.package}.{top}"]


class _Finder(MetaPathFinder):
    """Finds the helpers of all files that were loaded, by the package that stands for a file's folder."""

    def __init__(self) -> None:
        self.loaders: dict[str, _Loader] = {}

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return how to load a helper, None for any other module."""
        package, _, name = fullname.partition(".")
        loader = self.loaders.get(package)
        helper = loader.sources.helpers.get(name) if loader else None
        if helper is None:
            return None
        return importlib.util.spec_from_loader(fullname, loader, origin=str(helper.file), is_package=helper.is_package)


_FINDER = _Finder()
sys.meta_path.append(_FINDER)


def read_sources(path: Path) -> Sources:
    """Return a file and what it imports from its folder; OSError or SyntaxError if that cannot be read."""
    main = Module(path, _read(path, LARGEST), is_package=True)
    left = LARGEST - len(main.text)
    helpers: dict[str, Module] = {}
    waiting = [("", main)]
    while waiting:
        importer, module = waiting.pop()
        for name in _imported(importer, module):
            parts = name.split(".")
            for part in (".".join(parts[: i + 1]) for i in range(len(parts))):
                if part not in helpers:
                    helper = _module(path.parent, part, left)
                    if helper is None:
                        break
                    left -= len(helper.text)
                    helpers[part] = helper
                    waiting.append((part, helper))
                if not helpers[part].is_package:
                    break
    return Sources(main, helpers)


def _imported(importer: str, module: Module) -> Iterator[str]:
    """Yield the names that a module's import statements may mean, seen from the file's folder."""
    package = importer.split(".") if importer else []
    if not module.is_package:
        package.pop()
    tree: Any = compile(module.text, str(module.file), "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= len(package) + 1:
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = [*base, node.module] if node.module else base
            yield from (".".join([*base, alias.name]) for alias in node.names)


def _read(file: Path, most: int) -> bytes:
    """Return the bytes of a file; OSError if they are more than `most`."""
    with file.open("rb") as opened:
        text = opened.read(most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"a file and its helpers may have {LARGEST:,} bytes of code", str(file))
    return text


def _module(folder: Path, name: str, most: int) -> Module | None:
    """Return the module of this name in the folder; Python's own and this project come first."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "ecs_rl":
        return None
    place = folder.joinpath(*name.split("."))
    init, file = place / "__init__.py", place.parent / f"{place.name}.py"
    if init.is_file():
        return Module(init, _read(init, most), is_package=True)
    if file.is_file():
        return Module(file, _read(file, most))
    return Module(place, b"", is_package=True) if place.is_dir() and not _is_installed(top) else None


def _is_installed(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None
