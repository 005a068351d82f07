"""How long 200 runs take: four methods, ten loads, five seeds, 20 s each, on all processors."""

import itertools
import time

from common import Method, Row, scenario, sessions, sweep, switch

USERS = (25, 50, 75, 100, 150, 200, 250, 300, 350, 400)


def main() -> None:
    """Run them and say how long it took."""
    methods: dict[str, Method] = {
        "dedicated": "dedicated",
        "crdsa": "crdsa",
        "musca": "musca",
        "switch": switch(kind="sequence"),
    }
    began = time.perf_counter()

    def job(case: tuple[str, int], seed: int) -> Row:
        changes = {"flows.0.count": case[1], "flows.0.start_spread": "1 s"}
        return sessions(scenario("dvbrcs2-transfer.toml", methods[case[0]], changes).run(seed=seed).summary, case[1])

    ours = sweep(list(itertools.product(methods, USERS)), range(1, 6), job)
    print(f"{sum(map(len, ours.values()))} runs in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
