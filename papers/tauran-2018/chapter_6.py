"""Chapter 6 of the thesis beside ours: who is sent next on a last hop that many users share.

Every cell is the mean over seeds 1 to 3 of runs of 100 s, and their standard deviation. Writes
docs/validation/chapter-6-tables.md and the pictures docs/images/chapter-6-*.png; what it means is in
docs/validation/chapter-6.md. Two processors take some six minutes; `--quick` takes less than one.
"""

import chapter_6_causes as causes
import chapter_6_tcp as downloads
import chapter_6_voice as calls
from many_users import effort


def main() -> None:
    """Run everything, write the tables, draw."""
    much = effort(__doc__)
    voice = calls.by_load(much)
    lines = calls.tables(voice) + calls.decoding(much)
    calls.draw(voice, much)
    tcp = downloads.by_load(much)
    lines += downloads.tables(tcp) + downloads.fairness(tcp) + downloads.worst_against_best(tcp)
    downloads.draw(tcp, downloads.distribution(much), much)
    lines += causes.of_estimates(causes.estimates(much), much) + causes.windows(much) + causes.snrs(much)
    lines += causes.inflection(much) + causes.buffers(much)
    much.write("chapter-6-tables.md", lines + causes.listeners(much), "tauran-2018/chapter_6.py")


if __name__ == "__main__":
    main()
