"""Prints docs/python-api.md: names, signatures and docstrings of the package.

It reads the sources without running them, so that it needs neither the native module nor Gymnasium.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent / "fairwave"
HEAD = """# The Python package, name by name

Made by `cargo xtask gen` from the package's signatures and docstrings. [Python](python.md) shows
the package in use, [Use your own algorithm](own-algorithm.md) the modules `cc`, `scheduler` and
`rate_control`, [Learning](gym.md) the environments.
"""
# Modules, the names of each on the page (none: all that do not begin with "_"), and the name by
# which programs import them.
MODULES = [
    ("_run", ["run", "load", "Run"], "fairwave"),
    ("_sweep", ["sweep", "SweepWarning"], "fairwave"),
    ("_table", ["Table"], "fairwave"),
    ("_scenario", ["Scenario", "ScenarioWarning"], "fairwave"),
    ("_study", ["reproduce", "Reproduction", "Claim"], "fairwave"),
    ("_trace", ["trace", "Trace"], "fairwave"),
    ("_command", ["command"], "fairwave"),
    ("cc", [], "fairwave.cc"),
    ("scheduler", [], "fairwave.scheduler"),
    ("rate_control", [], "fairwave.rate_control"),
    ("gym", [], "fairwave.gym"),
]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def signature(function: Function, name: str, is_method: bool) -> str:
    """The call of a function with the types of its arguments, on several lines if it is long."""
    found = parts(function.args)[1 if is_method else 0 :]
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    line = f"{name}({', '.join(found)}){returns}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in found) + f"){returns}"


def parts(arguments: ast.arguments) -> list[str]:
    """Each argument with its type and default."""
    positional = arguments.posonlyargs + arguments.args
    gap: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = gap + list(arguments.defaults)
    found = [one(*pair) for pair in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        found.append(f"*{ast.unparse(arguments.vararg)}")
    elif arguments.kwonlyargs:
        found.append("*")
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [one(*pair) for pair in pairs]
    if arguments.kwarg:
        found.append(f"**{ast.unparse(arguments.kwarg)}")
    return found


def one(argument: ast.arg, default: ast.expr | None) -> str:
    """An argument with its default."""
    text = ast.unparse(argument)
    if default is None:
        return text
    return f"{text} = {ast.unparse(default)}"


def code(text: str) -> str:
    """A block of Python."""
    return f"```python\n{text}\n```\n"


def words(node: ast.Module | ast.ClassDef | Function) -> str:
    """The docstring; its indented lines are examples."""
    text = ast.get_docstring(node) or ""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and all(line.startswith("    ") for line in lines):
            block = code("\n".join(line[4:] for line in lines)).rstrip()
        blocks.append(block)
    return "\n\n".join(blocks) + "\n" if text else ""


def is_property(function: Function) -> bool:
    """Whether a method is read like an attribute."""
    return any(ast.unparse(decorator) == "property" for decorator in function.decorator_list)


def of_class(node: ast.ClassDef, module: str) -> Iterator[str]:
    """A class with its methods and properties."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    yield f"### `{module}.{node.name}`\n"
    methods = [part for part in node.body if isinstance(part, Function)]
    begin = next((part for part in methods if part.name == "__init__"), None)
    call = signature(begin, node.name, True).removesuffix(" -> None") if begin else node.name
    yield code(f"class {call}" + (f"  # {bases}" if bases else ""))
    yield words(node)
    shown = [part for part in methods if not part.name.startswith("_")]
    if not shown:
        return
    yield "| member | meaning |\n|---|---|"
    for part in shown:
        call = ast.unparse(part.returns) if part.returns else ""
        name = f"{part.name}: {call}" if is_property(part) else signature(part, part.name, True)
        name = " ".join(name.split()).replace("( ", "(").replace(", )", ")")
        meaning = " ".join((ast.get_docstring(part) or "").split())
        cells = [text.replace("|", "\\|") for text in [f"`{name}`", meaning]]
        yield f"| {' | '.join(cells)} |"
    yield ""


def of_module(file: str, names: list[str], module: str) -> Iterator[str]:
    """The public parts of a module."""
    tree = ast.parse((PACKAGE / f"{file}.py").read_text(encoding="utf-8"))
    found = {part.name: part for part in tree.body if isinstance(part, Function | ast.ClassDef)}
    chosen = names or [name for name in found if not name.startswith("_")]
    if not names:
        yield f"## `{module}`\n"
        yield words(tree)
    for name in chosen:
        part = found[name]
        if isinstance(part, ast.ClassDef):
            yield from of_class(part, module)
        else:
            yield f"### `{module}.{name}`\n"
            yield code(signature(part, name, False))
            yield words(part)


def page() -> str:
    """The page in Markdown."""
    parts = [HEAD, "## `fairwave`\n"]
    for file, names, module in MODULES:
        parts += of_module(file, names, module)
    parts += [
        "### Errors\n",
        "`fairwave.ScenarioError`, a `ValueError`, is raised for a wrong scenario; its text is "
        "that of `fairwave check`. `fairwave.RunError`, a `RuntimeError`, is raised for a run "
        "that failed.\n",
    ]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
