"""Executes the notebooks of `docs/notebooks` and writes what they show: into themselves, and as pages of the site.

    .venv/bin/python tests/notebooks.py        (make notebooks)

Cells run in one namespace, as a kernel would run them, and the last expression of a cell is what it shows. A kernel of
its own (nbclient, ipykernel) is a dozen packages and seconds of start for each notebook, and knows no more of ours.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/notebooks"
MOST_BYTES = 60_000


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of code, from a folder of its own that has the scenarios in reach."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    made = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scenarios").symlink_to(ROOT / "scenarios")
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    made.append(_run("".join(cell["source"]), namespace, len(made) + 1))
        finally:
            os.chdir(before)
    return made


def _run(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    body = ast.parse(source)
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, f"cell {number}", "exec"), namespace)  # noqa: S102 - our own documentation
        value = (
            eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)  # noqa: S307
            if isinstance(last, ast.Expr)
            else None
        )
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        outputs.append(
            {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _shown(value)}
        )
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    """What a notebook would show of a value."""
    data: dict[str, Any] = {}
    if hasattr(value, "_repr_png_"):
        data["image/png"] = base64.b64encode(value._repr_png_()).decode()
        return data | {"text/plain": [f"<{type(value).__name__}>"]}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data | {"text/plain": repr(value).splitlines(keepends=True)}


def write(path: Path) -> None:
    """Put the outputs into the notebook, and write its page and pictures."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = iter(run(notebook))
    for count, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), 1):
        cell["execution_count"], cell["outputs"] = count, next(outputs)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, content in page(path, notebook).items():
        (path.parent / name).write_bytes(content)


def page(path: Path, notebook: dict[str, Any]) -> dict[str, bytes]:
    """The page of an executed notebook in Markdown, and its pictures, by file name."""
    files: dict[str, bytes] = {}
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{len(files) + 1}.png"
                files[name] = base64.b64decode(data["image/png"])
                parts.append(f"![What the cell above draws]({name})")
            elif "text/html" in data:
                parts.append("".join(data["text/html"]).strip())
            else:
                text = "".join(output.get("text") or data["text/plain"]).rstrip()
                parts.append(f"```text\n{text}\n```")
    parts.append(f"This page is the notebook [{path.name}]({path.name}) as it was executed.")
    return files | {f"{path.stem}.md": ("\n\n".join(parts) + "\n").encode()}


if __name__ == "__main__":
    for found in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        write(found)
