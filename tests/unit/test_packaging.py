"""What a wheel would hold: every folder of the package, and nothing that collides elsewhere."""

import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


def test_every_folder_with_modules_is_listed_as_a_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {"turnledger": ROOT / "turnledger"} | {
        f"turnledger.{name}": ROOT / name for name in ("domain", "projections", "infrastructure")
    }
    found = set()
    for package, folder in folders.items():
        for init in folder.rglob("__init__.py"):
            parts = init.parent.relative_to(folder).parts
            if package != "turnledger" or parts[:1] not in (
                ("domain",),
                ("projections",),
                ("infrastructure",),
            ):
                found.add(".".join((package, *parts)))
    assert found == set(settings["packages"])


def test_the_rooms_are_reached_through_relative_links() -> None:
    for name in ("domain", "projections", "infrastructure"):
        link = ROOT / "turnledger" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name


def test_every_name_of_the_face_is_exported() -> None:
    import turnledger

    assert all(hasattr(turnledger, name) for name in turnledger.__all__)
    assert sorted(turnledger.__all__) == turnledger.__all__


def test_a_wheel_holds_the_files_of_the_page(tmp_path: Path) -> None:
    web = ROOT / "turnledger" / "web"
    files = {
        path.relative_to(ROOT).as_posix()
        for kind in ("static", "templates")
        for path in (web / kind).iterdir()
    }
    code = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"
    source = tmp_path / "source"
    source.mkdir()
    for name in (
        "turnledger",
        "domain",
        "projections",
        "infrastructure",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    ):
        subprocess.run(["cp", "-R", str(ROOT / name), str(source)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        held = set(wheel.namelist())
    assert len(files) > 15
    assert files <= held
    assert "turnledger/web/app.py" in held
