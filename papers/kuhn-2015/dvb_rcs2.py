"""Random against dedicated access over DVB-RCS2: sections 5 and 6 of the paper, and beyond.

Writes docs/validation/dvb-rcs2-tables.md and the pictures docs/images/dvb-rcs2-*.png; what it means is in
docs/validation/dvb-rcs2.md. Two processors take some eight minutes; `--quick`
takes less than three.
"""

import beyond
import section_5
import section_6
from common import effort


def main() -> None:
    """Run everything, write the tables, draw."""
    much = effort(__doc__, "two seeds and few loads")
    ours = section_5.by_load(much)
    section_5.picture(ours, much)
    lines = [*section_5.tables(much, ours), *section_6.tables(much), *beyond.tables(much)]
    lines = [line.replace("| inf ", "| unfinished ") for line in lines]
    much.write("dvb-rcs2-tables.md", lines, "kuhn-2015/dvb_rcs2.py")


if __name__ == "__main__":
    main()
