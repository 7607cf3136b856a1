from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from ordern.errors import ModelError
from ordern.io import MissingFileError, load_builder
from ordern.io import source as source_module

URDF = '<robot name="r"><link name="a"/></robot>'


@pytest.mark.parametrize("name", ["r.urdf", "R.URDF", "r.xml"])
def test_by_suffix(tmp_path: Path, name: str) -> None:
    (file := tmp_path / name).write_text(URDF)
    assert load_builder(file).name == "r"
    assert load_builder(str(file)).source == str(file)


@pytest.mark.parametrize(
    "text",
    [
        URDF,
        f"\n  {URDF}",
        f'<?xml version="1.0" encoding="latin-1"?>{URDF}',
        f'\n <?xml version="1.0"?>\n{URDF}',
        "\ufeff" + URDF,
        f"<!-- ?> -->{URDF}",
    ],
    ids=range(6),
)
def test_text(text: str) -> None:
    assert load_builder(text).name == "r"


def test_lines_of_text_are_counted_from_its_start() -> None:
    with pytest.raises(ModelError, match=r"^<string>:4: <link> has no name"):
        load_builder('\n<?xml version="1.0"?>\n<robot name="r">\n<link/></robot>')


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.stl", URDF, "files that end in '.stl' are not read; supported: URDF (.urdf), MJCF (.xml"),
        ("r.zip", URDF, ".world), USD (.usd, .usda, .usdc, .usdz), xacro"),
        ("r", URDF, "files without a suffix are not read; supported: URDF (.urdf)"),
        (
            "r.xml",
            "<collada/>",
            ":1: the root element is <collada>, of no format that is read; supported: URDF",
        ),
        ("r.urdf", "<mujoco/>", ":1: the root element is <mujoco>; that of a URDF document is <robot>"),
        ("r.urdf", "", "the file is empty"),
        ("r.urdf", " \n", "the file is empty"),
        ("r.urdf", "\n<robot", ":2: the XML is broken: unclosed token"),
    ],
)
def test_files_that_are_not_read(tmp_path: Path, name: str, content: str, message: str) -> None:
    (file := tmp_path / name).write_text(content)
    with pytest.raises(ModelError) as e:
        load_builder(file)
    assert str(e.value).startswith(f"{file}:")
    assert message in str(e.value)


def test_text_of_another_format() -> None:
    with pytest.raises(ModelError, match=r"^<string>:1: the root element is <html>, of no format that is read"):
        load_builder("<html/>")


class TestMissing:
    def test_a_close_name_is_suggested(self, tmp_path: Path) -> None:
        (tmp_path / "panda.urdf").touch()
        with pytest.raises(MissingFileError) as e:
            load_builder(tmp_path / "pandas.urdf")
        wanted, close = str(tmp_path / "pandas.urdf"), str(tmp_path / "panda.urdf")
        assert str(e.value) == f"there is no file {wanted!r}; did you mean {close!r}?"
        assert (e.value.filename, e.value.args[0]) == (wanted, str(e.value))

    def test_otherwise_robots_of_the_directory_are_listed(self, tmp_path: Path) -> None:
        (tmp_path / "panda.urdf").touch()
        (tmp_path / "notes.txt").touch()
        with pytest.raises(MissingFileError, match=r"x'; the folder '.*' has panda\.urdf$"):
            load_builder(tmp_path / "x")

    def test_so_are_the_names_that_could_have_been_given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        names = ("puma560", "spherical-chain-N")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine.xml").touch()
        with pytest.raises(MissingFileError) as e:
            load_builder("panda", names)
        assert str(e.value) == (
            "there is no file 'panda'; this folder has mine.xml. Nor is there a bundled robot of this name: known are "
            "puma560, spherical-chain-N"
        )
        with pytest.raises(MissingFileError, match=r"did you mean 'mine.xml'\? Nor is there .*: known are puma560, "):
            load_builder("mine", names)
        with pytest.raises(MissingFileError, match=r"of this name: did you mean 'puma560'\? known are puma560, sph"):
            load_builder("puma56", names)

    def test_a_directory_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(MissingFileError, match=r"there is no file .*; the directory .* does not exist either"):
            load_builder(tmp_path / "no" / "r.urdf")

    def test_it_is_a_model_error_and_a_missing_file_and_pickles(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as e:
            load_builder(tmp_path / "r.urdf")
        assert isinstance(e.value, ModelError)
        again = pickle.loads(pickle.dumps(e.value))
        assert (str(again), again.filename, again.errno) == (str(e.value), e.value.filename, e.value.errno)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "the name of the file is empty"),
        ("a\0b.urdf", "cannot be the name of a file"),
        ("x" * 5000, "the file cannot be read|there is no file"),
        (3, "loaded from the path of a file or from XML text, not from 3"),
        (None, "not from None"),
        (b"r.urdf", "not from b'r.urdf'"),
    ],
    ids=lambda x: repr(x)[:20],
)
def test_what_is_no_file_at_all(given: object, message: str) -> None:
    with pytest.raises(ModelError, match=message) as e:
        load_builder(given)  # type: ignore[arg-type]
    assert len(str(e.value)) < 400


def test_a_directory(tmp_path: Path) -> None:
    (tmp_path / "panda.urdf").touch()
    with pytest.raises(ModelError, match=r"this is a directory; give the file itself; it has panda\.urdf$"):
        load_builder(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (file := tmp_path / "r.urdf").write_text(URDF)
    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    with pytest.raises(ModelError, match=r"r\.urdf: the file cannot be read: Permission denied"):
        load_builder(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.urdf")
    with pytest.raises(ModelError, match="this is not a regular file"):
        load_builder(tmp_path / "r.urdf")


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_BYTES", 10)
    (file := tmp_path / "r.urdf").write_text(URDF)
    with pytest.raises(ModelError, match="the file has 40 bytes; at most 10 are read"):
        load_builder(file)
