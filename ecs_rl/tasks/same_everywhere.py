"""What must be the same on all machines of a cluster: libraries, ecs_rl, and the files that a training runs."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path

from ecs_rl.cli.plan import Plan
from ecs_rl.errors import CommandError
from ecs_rl.runs import versions_here
from ecs_rl.user_files.sources import read_sources

PACKAGE = Path(__file__).resolve().parents[1]


def versions(*, with_ray: bool = False) -> dict[str, str]:
    """Return what must be the same in all processes: their results are to agree to the last bit."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    on_ray = {"ray": importlib.metadata.version("ray")} if with_ray else {}
    return {**versions_here(), **on_ray, "ecs_rl": digest.hexdigest()[:12]}


def own_files(plan: Plan) -> list[str]:
    """Return the files that this training runs besides the package: the same ones on all machines."""
    settings, scene = plan.settings, plan.scene
    network = str(getattr(getattr(settings, settings.agent), "network", ""))
    references = network, settings.algorithm.reference, settings.against, settings.pool_also
    named = [text.rpartition(":")[0] for text in references]
    paths = [*scene.data_files, *map(Path, (scene.file, *named, settings.against, settings.changes or ""))]
    return [str(path.resolve()) for path in paths if path.is_file()]


def contents(files: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file and of what it imports from its folder, '' where there is none to be read."""
    return {file: _digest(Path(file)) for file in files}


def _digest(file: Path) -> str:
    try:
        if file.suffix == ".py":
            return read_sources(file).sha256
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, SyntaxError, ValueError):
        return ""


def refuse_other_versions(
    nodes: list[dict[str, str]], own: Mapping[str, str] | None = None, flag: str = "--workers"
) -> None:
    """Refuse workers whose libraries, or whose ecs_rl, are not those of this process, or `mine`."""
    own = own or versions()
    for theirs in nodes:
        for name, version in own.items():
            if theirs.get(name) != version:
                message = f"a node of the cluster has {name} {theirs.get(name)}, and this machine {version}"
                raise CommandError(f"{flag}: {message}: install the same everywhere")


def refuse_other_files(nodes: list[dict[str, str]], own: Mapping[str, str], flag: str = "--workers") -> None:
    """Refuse workers whose files are not those of this machine: they would train something else."""
    for theirs in nodes:
        for file, content in own.items():
            if theirs[file] != content:
                difference = f"another {file} than there was here" if theirs[file] else f"no file {file}"
                raise CommandError(f"{flag}: a node of the cluster has {difference}: copy it there")
