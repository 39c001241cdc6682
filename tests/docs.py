"""docs.py FILE.md BIN OUT: holds a page of documentation to its word.

What is looked at, and must be so:

  ```console            lines `$ command`, run one after the other by sh, succeed, and print what
                        follows them. `…` stands for any text, as a line of its own for any lines,
                        none included; a command with nothing after it may print anything. A command
                        goes on in the next line after a backslash.
  ```console fails      the same, but each command fails.
  ```LANGUAGE NAME      is the file NAME, for commands further down.
  `compiler/ir/ir.h`    in running text: there is such a file or folder; `*` and NAME stand for any.
  [text](page.md)       so is the page that is linked to.
  <!-- complete: F -->  every row of the .def file F is named on the page; or, F being *.slu files,
                        every model and block is on it in a table's row `name(parameters)`, as it is
                        declared, and no other; a row `option = default` says in the next column
                        who declares it, and it is so.

A page's commands share an empty folder in which dsl_examples/ is found. `sluice` and the programs
built from dsl_examples/*.c are on the path, and cc finds sluice.h and libsluice.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = "bench|compiler|docs|dsl_examples|passes|runtime|tests|tools"
failures = 0


def fail(where, text):
    global failures
    failures += 1
    print(f"{where}: {text}")


def blocks(lines):
    """(line number, info string, lines inside) of each fenced block; None as info: running text."""
    info, start, inside = None, 1, []
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            yield start, info, inside
            info, start, inside = (None if info is not None else line[3:].strip()), number + 1, []
        else:
            inside.append(line)
    if info is not None:
        fail(start - 1, "this block is not closed")
    yield start, info, inside


def commands(start, inside):
    """(line number, command, lines expected) of a console block."""
    found, joined = [], False
    for number, line in enumerate(inside, start):
        if joined:
            found[-1][1] += "\n" + line
        elif line.startswith("$ "):
            found.append([number, line[2:], []])
        elif found:
            found[-1][2].append(line)
        else:
            fail(number, "a console block begins with `$ `")
        joined = line.endswith("\\") and (joined or line.startswith("$ "))
    return found


def matches(expected, actual):
    """Whether the lines are those, `…` aside."""
    if not expected:
        return not actual
    if expected[0].strip() == "…":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    line = ".*".join(re.escape(piece) for piece in expected[0].split("…"))
    return (bool(actual) and re.fullmatch(line, actual[0]) is not None
            and matches(expected[1:], actual[1:]))


def run(number, command, expected, fails, work, env):
    done = subprocess.run(["sh", "-c", command], cwd=work, env=env, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    actual = [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]
    while expected and not expected[-1]:
        expected.pop()
    if (done.returncode != 0) != fails:
        fail(number, f"{command}\n  exit status {done.returncode}\n{done.stdout}")
    elif expected and not matches([line.rstrip() for line in expected], actual):
        fail(number, f"{command}\n  prints\n{done.stdout}")


def check_text(page, start, inside):
    for number, line in enumerate(inside, start):
        for link in re.findall(r"\]\(([\w./-]+)\)", line):
            if not (page.parent / link).exists():
                fail(number, f"there is no {link}")
        for path in re.findall(rf"`((?:{FOLDERS})/[\w./*-]*)`", line):
            if not any(TOP.glob(path.rstrip("/").replace("NAME", "*"))):
                fail(number, f"there is no {path}")


def declarations(pattern):
    """name: name(parameters) of every model and block of these files, on one line."""
    found = {}
    for path in TOP.glob(pattern):
        text = re.sub("#.*", "", path.read_text())
        for match in re.finditer(r"^(?:model|block) (\w+)(?=\()", text, re.M):
            end, depth = match.end() + 1, 1
            while depth:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            found[match[1]] = re.sub(r"\s+", " ", text[match.start(1):end])
    return found


def check_library(pattern, text):
    declared = declarations(pattern)
    rows = re.findall(r"^\| `((\w+)\(.*?\))` \|", text, re.M)
    for shown, name in rows:
        if shown != declared.get(name):
            fail(pattern, f"`{name}` is not declared as `{shown}`")
    for name in sorted(declared.keys() - {name for _, name in rows}):
        fail(pattern, f"`{declared[name]}` is not on the page")
    for option, owners in re.findall(r"^\| `(\w+ = [^`]*)` \| ([^|]*) \|", text, re.M):
        for owner in re.findall(r"`(\w+)`", owners):
            if not re.search(rf"[(,] ?{re.escape(option)}[,)]", declared.get(owner, "")):
                fail(pattern, f"`{owner}` does not declare `{option}`")


def check_complete(text):
    for path in re.findall(r"<!-- complete: (\S+) -->", text):
        if path.endswith(".slu"):
            check_library(path, text)
            continue
        rows = re.findall(r"^[A-Z]+\((?:graph, |program, )?(\w+)", (TOP / path).read_text(), re.M)
        for row in rows:
            if not re.search(rf"\b{row}\b", text):
                fail(path, f"`{row}` is not on the page")


def main(page, binaries, out):
    work = pathlib.Path(out)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "dsl_examples").symlink_to(TOP / "dsl_examples")
    env = dict(os.environ, PATH=f"{binaries}:{binaries}/examples:{os.environ['PATH']}",
               C_INCLUDE_PATH=f"{TOP}/runtime", LIBRARY_PATH=binaries, LD_LIBRARY_PATH=binaries)
    page = pathlib.Path(page).resolve()
    text = page.read_text()
    check_complete(text)
    for start, info, inside in blocks(text.split("\n")):
        words = (info or "").split()
        if info is None:
            check_text(page, start, inside)
        elif words[:1] == ["console"]:
            for number, command, expected in commands(start, inside):
                run(number, command, expected, "fails" in words, work, env)
        elif len(words) == 2:
            (work / words[1]).write_text("\n".join(inside) + "\n")
    sys.exit(failures > 0)


main(*sys.argv[1:])
