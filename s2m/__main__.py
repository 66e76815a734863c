"""All commands as one: `s2m launch ...` is `python -m s2m.launch ...`.

`eval "$(register-python-argcomplete s2m)"` in ~/.bashrc or ~/.zshrc completes commands, settings
and their values.
"""

import argparse
import ast
import os
import runpy
import sys
from pathlib import Path

from s2m.console.errors import UserError, run_command, unknown

HERE = Path(__file__).parent
SCRIPTS = {"tables": "make_tables.py", "compare": "compare.py"}
"""Commands of analysis/, which lies beside this package in the repository."""


def commands() -> dict[str, Path]:
    """Return the file of every command."""
    found = {path.stem: path for path in HERE.glob("*.py") if not path.stem.startswith("_")}
    return found | {name: HERE.parent / "analysis" / file for name, file in SCRIPTS.items()}


def main(words: list[str]) -> int:
    """Run the command that the first word names."""
    known = commands()
    if not words or words[0] in ("-h", "--help"):
        lines = [f"  {name:<10} {_about(path)}" for name, path in sorted(known.items())]
        print("\n".join(["s2m COMMAND [WORDS]; s2m COMMAND --help explains one", "", *lines]))
        return 0
    name, *rest = words
    if name not in known:
        raise unknown("command", name, sorted(known))
    if not known[name].is_file():
        raise UserError(f"s2m {name} needs the repository: pip install -e . in a clone")
    sys.argv = [f"s2m {name}", *rest]
    if name in SCRIPTS:
        runpy.run_path(str(known[name]), run_name="__main__")
    else:
        runpy.run_module(f"s2m.{name}", run_name="__main__", alter_sys=True)
    return 0


def _about(path: Path) -> str:
    """Return the first sentence of a command's docstring, without importing it."""
    said = ast.get_docstring(ast.parse(path.read_text())) if path.is_file() else None
    return (said or "").partition("\n")[0].partition(": python ")[0].rstrip(".:")


def complete() -> None:
    """Answer the shell, which asks through argcomplete."""
    import argcomplete

    from s2m.config.completion import candidates

    def words(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
        return candidates(parsed_args.command, prefix)

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("command", choices=sorted(commands()))
    rest = parser.add_argument("words", nargs=argparse.REMAINDER)
    rest.completer = words  # pyright: ignore[reportAttributeAccessIssue]
    argcomplete.autocomplete(parser)


def entry() -> None:
    """Begin the console script."""
    if "_ARGCOMPLETE" in os.environ:
        complete()
    run_command(main)


if __name__ == "__main__":
    entry()
