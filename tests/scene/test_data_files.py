"""The files that a scene opens below its folder are part of it: a run is told from one with other levels."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.user_files.opened import ABSENT, WRITTEN, OpenedFiles, differing

TEXT = """\
import json
from pathlib import Path
from ecs_rl.scene import *
{above}

SCENE = Scene(about="A test.", max_ticks=20)


def build(arena):
    disc = arena.spawn("disc", Body(), Disc(0.1))
    {inside}
    arena.agent(sees=[X(disc)], does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0)), earns={{"x": X(disc)}})
"""
HERE = "Path(__file__).parent"


def scene(folder: Path, inside: str = "pass", above: str = "") -> Scene:
    path = folder / "mine.py"
    path.write_text(TEXT.format(inside=inside, above=above))
    return load_scene(str(path))


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "reads",
    [
        f"json.loads(({HERE} / 'levels' / 'one.json').read_text())",
        f"json.load(open({HERE} / 'levels' / 'one.json', 'rb'))",
        "json.load(open('levels/one.json'))",
        "__import__('os').close(__import__('os').open('levels/one.json', 0))",
    ],
)
@pytest.mark.parametrize("inside", [True, False], ids=["in build", "as it is loaded"])
def test_what_it_reads_is_known_by_content(
    reads: str, inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "levels").mkdir()
    (tmp_path / "levels" / "one.json").write_text("{}")
    (tmp_path / "levels" / "two.json").write_text("{}")
    first = scene(tmp_path, **{"inside" if inside else "above": reads})
    assert first.data == {"levels/one.json": sha("{}")}
    assert first.changed_file(first.sha256, first.data) == ""
    (tmp_path / "levels" / "two.json").write_text("[]")
    assert load_scene(first.file).data == first.data
    (tmp_path / "levels" / "one.json").write_text("[]")
    second = load_scene(first.file)
    assert second.sha256 == first.sha256
    assert second.changed_file(first.sha256, first.data) == str(tmp_path / "levels" / "one.json")
    assert second.changed_file(first.sha256, None) == ""  # of a checkpoint from before


def test_a_file_that_appears_or_goes_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "levels").mkdir()
    reads = f"[file.read_text() for file in sorted(({HERE} / 'levels').glob('*.json'))]"
    before = scene(tmp_path, reads)
    assert before.data == {}
    (tmp_path / "levels" / "new.json").write_text("{}")
    after = load_scene(before.file)
    assert after.changed_file(before.sha256, before.data) == str(tmp_path / "levels" / "new.json")
    assert before.changed_file(after.sha256, after.data) == str(tmp_path / "levels" / "new.json")


def test_one_that_it_looks_for_in_vain_counts_as_well(tmp_path: Path) -> None:
    above = f"try:\n    open({HERE} / 'mine.json')\nexcept OSError:\n    pass"
    before = scene(tmp_path, above=above)
    assert before.data == {"mine.json": ABSENT}
    (tmp_path / "mine.json").write_text("{}")
    assert load_scene(before.file).changed_file(before.sha256, before.data) == str(tmp_path / "mine.json")


def test_what_it_writes_itself_may_be_anything(tmp_path: Path) -> None:
    above = (
        f"CACHE = {HERE} / 'cache'\nif not CACHE.exists():\n    CACHE.write_text('7')\nelse:\n    CACHE.read_text()\n"
        f"with open({HERE} / 'log', 'a') as log:\n    print('again', file=log)"
    )
    first = scene(tmp_path, above=above)
    assert first.data == {"cache": WRITTEN, "log": WRITTEN}
    second = load_scene(first.file)
    assert second.changed_file(first.sha256, first.data) == ""
    assert second.data == {"cache": sha("7"), "log": WRITTEN}


def test_files_elsewhere_modules_and_hidden_folders_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "game"
    for name in ("game/.venv", "game/lib/site-packages", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("game/.venv/a", "game/lib/site-packages/b", "other/c", "game/d.py", "game/helper.py"):
        (tmp_path / name).write_text("X = 1\n")
    monkeypatch.syspath_prepend(str(folder))
    opens = [f"open({HERE} / {name!r}).close()" for name in (".venv/a", "lib/site-packages/b", "../other/c")]
    found = scene(folder, above="\n".join(("import helper, importlib; importlib.import_module('d')", *opens)))
    sys.modules.pop("d")
    assert found.data == {}


def test_only_the_thread_that_watches_is_watched(tmp_path: Path) -> None:
    (tmp_path / "level").write_text("")
    opened = OpenedFiles(tmp_path)

    def other() -> None:
        (tmp_path / "level").read_text()

    with opened.watching():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert opened.contents == {}
        other()
    (tmp_path / "after").write_text("")
    assert opened.contents == {"level": sha("")}


def test_a_pipe_is_not_read_and_a_link_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    folder.mkdir()
    (tmp_path / "far").write_text("far")
    (folder / "link").symlink_to(tmp_path / "far")
    (tmp_path / "way").symlink_to(folder)
    (folder / "level").write_text("near")
    os.mkfifo(folder / "pipe")
    opened = OpenedFiles(folder)
    with opened.watching():
        (folder / "link").read_text()
        (tmp_path / "way" / "level").read_text()
        os.close(os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK))
    assert opened.contents == {"link": sha("far"), "level": sha("near"), "pipe": ABSENT}


def test_what_differs_is_named_in_order() -> None:
    before, now = {"b": "1", "a": "1", "c": "1"}, {"b": "2", "d": "1", "c": WRITTEN}
    assert differing(before, now) == ["a", "b", "d"]
    assert differing(now, json.loads(json.dumps(now))) == []
