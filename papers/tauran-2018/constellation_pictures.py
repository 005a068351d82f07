"""The two pictures of docs/validation/constellations.md: SaVi's map of Iridium, and the delays of pairs of places.

Run with `make validation`. Nothing in them is random; the numbers are claims (`table-3-1`, `figure-3-1`, `figure-3-3`).
"""

from pages import Effort, effort, panels
from studies_orbit import PAIRS, PLACES, PRESETS, TEN_MINUTES_S

import transorbit as to
from transorbit import plots
from transorbit.plots import heading, style


def main() -> None:
    """Draw both."""
    much = effort(__doc__, "the same")
    chart = to.constellation.world(PRESETS["Iridium"])
    much.save(
        plots.world(chart, title="Iridium: satellites and where they are seen", links=False), "iridium-coverage.png"
    )
    draw(much)


def draw(much: Effort) -> None:
    """Figure 3.3: the pairs over ten minutes, and the band that the thesis tells."""
    with panels(1, 1, 3.4) as (figure, [axes]):
        for i, (one, other) in enumerate(PAIRS):
            found = to.constellation.delay(
                "leo-66", source=PLACES[one], user=PLACES[other], duration_s=TEN_MINUTES_S, step_s=0.1
            )
            axes.plot(
                found["time_s"], found["one_way_delay_s"] * 1e3, color=style.CYCLE[i % len(style.CYCLE)],
                label=f"{one} to {other}",
            )  # fmt: skip
        axes.axhspan(70, 100, color=style.GREY, alpha=0.15, linewidth=0)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Delay (ms)")
        axes.set_xlim(0, TEN_MINUTES_S)
        heading.above(axes)
    much.save(figure, "constellation-delays.png")


if __name__ == "__main__":
    main()
