"""Finding the program, and the message if it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cerith_triton import binary


def program(folder: Path, text: str = "#!/bin/sh\necho said\necho besides >&2\nexit 3\n") -> Path:
    path = folder / "cerith"
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(binary.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setattr(binary, "_scripts", lambda: iter([tmp_path / "scripts"]))


def test_the_variable_comes_before_the_wheel_and_the_wheel_before_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("variable", "scripts", "path"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(program(tmp_path / "path").parent))
    assert binary.find() == str(tmp_path / "path" / "cerith")
    program(tmp_path / "scripts")
    assert binary.find() == str(tmp_path / "scripts" / "cerith")
    monkeypatch.setenv(binary.VARIABLE, str(program(tmp_path / "variable")))
    assert binary.find() == str(tmp_path / "variable" / "cerith")


def test_where_there_is_none_the_mend_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(binary.CerithError, match="cargo build --release"):
        binary.find()
    monkeypatch.setenv(binary.VARIABLE, "/no/such/cerith")
    with pytest.raises(binary.CerithError, match="CERITH is '/no/such/cerith'"):
        binary.find()


def test_a_failure_has_the_words_of_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(binary.VARIABLE, str(program(tmp_path)))
    assert binary.run(["run"], [0, 3]) == "said\n"
    assert capfd.readouterr().err == "besides\n"
    with pytest.raises(binary.CerithError, match="run` ended with 3: besides"):
        binary.run(["run"], [0])
