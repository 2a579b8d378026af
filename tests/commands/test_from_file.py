"""`FILE.py:NAME` is found wherever it lies, run from the bytes that were hashed, and a mistake in it has a line."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from ecs_rl.errors import CommandError, DivergedError
from ecs_rl.user_files.file_errors import blaming
from ecs_rl.user_files.named import is_reference, load_object, parted

CEM = "class CEM:\n    lr = 0.5\n\n\ndef net():\n    return CEM\n\n\nNUMBER = 7\n"
FLAG = "--agent"


def write(folder: Path, text: str = CEM, name: str = "cem.py") -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(text)
    return folder / name


def refusal(text: str) -> str:
    with pytest.raises(CommandError) as refused:
        load_object(FLAG, text)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("folder", [".", "deep/er", "path with spaces", "co:lon", "x.py:y"])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_file_is_found_by_any_path(
    folder: str, absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / folder, name="my cem.py")
    found = load_object(FLAG, f"{file if absolute else Path(folder) / 'my cem.py'}:CEM")
    assert (found.value.lr, found.file, found.name) == (0.5, file.resolve(), "CEM")
    assert found.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert load_object(FLAG, found.reference).sha256 == found.sha256


def test_a_plain_value_and_a_function_can_be_named_too(tmp_path: Path) -> None:
    file = write(tmp_path)
    assert load_object(FLAG, f"{file}:NUMBER").value == 7
    assert load_object(FLAG, f"{file}:net").value().__name__ == "CEM"


@pytest.mark.parametrize(
    ("text", "file", "name"),
    [
        (r"C:\my agents\cem.py:CEM", r"C:\my agents\cem.py", "CEM"),
        ("C:cem.py:CEM", "C:cem.py", "CEM"),
        ("a.py:b.py:CEM", "a.py:b.py", "CEM"),
    ],
)
def test_the_last_colon_divides_whatever_stands_before_it(text: str, file: str, name: str) -> None:
    assert is_reference(text)
    assert parted(FLAG, text) == (Path(file), name)


@pytest.mark.parametrize("text", ["ppo", "cem.py", r"C:\cem.py", "C:/cem.py", "cem:CEM", "gym:Pong-v5", ""])
def test_what_names_no_file_and_a_name_in_it_is_no_reference(text: str) -> None:
    assert not is_reference(text)
    assert refusal(text) == f"--agent {text}: write a file and a name in it, as in FILE.py:NAME"


@pytest.mark.parametrize("text", ["cem.py:", "cem.py:two words", "cem.py:a.b", "cem.py:1"])
def test_a_name_that_is_none_is_refused(text: str) -> None:
    assert "as in FILE.py:NAME" in refusal(text)


def test_a_file_that_is_not_there_or_is_a_folder_is_told(tmp_path: Path) -> None:
    assert refusal("nowhere/cem.py:CEM") == (
        "--agent nowhere/cem.py:CEM: there is no file nowhere/cem.py: check the path"
    )
    (tmp_path / "cem.py").mkdir()
    assert "there is no file" in refusal(f"{tmp_path / 'cem.py'}:CEM")


def test_a_name_that_is_not_there_gets_those_that_are(tmp_path: Path) -> None:
    file = write(tmp_path, f"import os\nfrom pathlib import Path\n{CEM}")
    assert refusal(f"{file}:CME").endswith("there is no 'CME' in that file; did you mean 'CEM'?")
    assert refusal(f"{file}:Quite_other").endswith("there is no 'Quite_other' in that file; there is: CEM, net")
    write(tmp_path, "import os\n")
    assert refusal(f"{file}:CEM").endswith("in that file; it makes no class and no function")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("x = 1\nclass CEM(:\n    pass\n", 2, "invalid syntax"),
        ("number = 1\nnumbr + 1\n", 2, "NameError: name 'numbr' is not defined: did you mean 'number'?"),
        ("\nx = np.zeros(3)\n", 2, "NameError: name 'np' is not defined: add `import numpy as np`"),
        ("import math\nmath.sqr(2)\n", 2, "has no attribute 'sqr': did you mean 'sqrt'?"),
        ("from ecs_rl.agents import Decison\n", 1, "did you mean 'Decision'?"),
        ("import no_such_thing\n", 1, "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("raise SystemExit(0)\n", 1, "this ends the whole program: take it out"),
        ("def f():\n    1 / 0\n\n\nf()\n", 2, "ZeroDivisionError: division by zero (called in line 5)"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_line_and_what_was_meant(
    text: str, line: int, told: str, tmp_path: Path
) -> None:
    file = write(tmp_path, text)
    message = refusal(f"{file}:CEM")
    assert message.startswith(f"--agent: {file}, line {line}: ")
    assert told in message


@pytest.mark.parametrize("content", [b"x = 'a\0b'\n", b"\xff\xfe\x00", b"(" * 5_000], ids=["zeros", "bytes", "nest"])
def test_a_file_that_is_no_python_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    file = write(tmp_path)
    file.write_bytes(content)
    assert str(file) in refusal(f"{file}:CEM")


def test_modules_beside_it_belong_to_it_and_their_mistakes_have_lines_too(tmp_path: Path) -> None:
    file = write(tmp_path, "from helper import SIZE\n\n\nclass CEM:\n    size = SIZE\n")
    (tmp_path / "helper.py").write_text("SIZE = 3\n")
    first = load_object(FLAG, f"{file}:CEM")
    assert first.value.size == 3
    (tmp_path / "helper.py").write_text("SIZE = 4\n")
    second = load_object(FLAG, f"{file}:CEM")
    assert second.value.size == 4
    assert first.sha256 != second.sha256 != hashlib.sha256(file.read_bytes()).hexdigest()
    (tmp_path / "helper.py").write_text("\nSIZE = thre\n")
    assert refusal(f"{file}:CEM") == f"--agent: {tmp_path / 'helper.py'}, line 2: NameError: name 'thre' is not defined"


def test_two_folders_may_each_have_a_file_and_a_helper_of_one_name(tmp_path: Path) -> None:
    for folder, size in (("a", 1), ("b", 2)):
        write(tmp_path / folder, "import helper\n\n\ndef size():\n    import helper\n    return helper.SIZE\n")
        (tmp_path / folder / "helper.py").write_text(f"SIZE = {size}\n")
    a, b = (load_object(FLAG, f"{tmp_path / folder / 'cem.py'}:size") for folder in "ab")
    assert (a.value(), b.value(), a.value()) == (1, 2, 1)


def test_what_fails_later_in_the_file_is_told_by_line_and_what_fails_elsewhere_stays_what_it_is(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "from ecs_rl.errors import DivergedError\n"
        "def late(x):\n    return [][x]\ndef end():\n    raise DivergedError('far')\n",
    )
    late, end = (load_object(FLAG, f"{file}:{name}").value for name in ("late", "end"))
    with (
        pytest.raises(CommandError, match=r"cem\.py, line 3: IndexError: list index out of range"),
        blaming(FLAG, file),
    ):
        late(3)
    with pytest.raises(DivergedError, match="far"), blaming(FLAG, file):
        end()
    with pytest.raises(ZeroDivisionError), blaming(FLAG, file):
        1 / 0  # noqa: B018 - not a line of the file


def test_loading_needs_neither_torch_nor_the_world(tmp_path: Path) -> None:
    file = write(tmp_path)
    code = (
        f"import sys\nfrom ecs_rl.user_files.named import load_object\nload_object('--agent', {f'{file}:CEM'!r})\n"
        "print(sorted({'torch', 'esper', 'numpy', 'pymunk', 'ecs_rl.scene'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
