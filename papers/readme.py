"""Write into README.md how many claims of each kind hold, as docs/validation/reproduction.md has it."""

import re
import textwrap

from pages import DOCS, ROOT

README = ROOT / "README.md"
_SENTENCE = re.compile(r"^\d+ of \d+ directions?\b.*\.$", re.MULTILINE)
_PLACE = re.compile(r"(<!-- claims by kind: `make validation` -->\n).*?(\n<!-- end -->)", re.DOTALL)


def sentence() -> str:
    """The sentence that counts claims by kind."""
    found = _SENTENCE.findall((DOCS / "reproduction.md").read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError("docs/validation/reproduction.md: no sentence that counts claims by kind")
    return str(found[0])


def written(readme: str) -> str:
    """The text of README.md with that sentence in its place, in lines of 120 columns."""
    return _PLACE.sub(lambda place: f"{place[1]}{textwrap.fill(sentence(), 120)}{place[2]}", readme)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
