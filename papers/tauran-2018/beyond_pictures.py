"""The pictures of the page beyond chapter 6."""

from collections.abc import Mapping, Sequence

from matplotlib.lines import Line2D
from pages import Effort, Row, mean, panels, point

from transorbit.plots import style

SHOWN = {
    "droptail": (style.BLUE, "^", "-"),
    "round-robin": (style.ORANGE, "s", "-"),
    "pf": (style.RED, "o", "-"),
    "codes": (style.GREEN, "D", "-"),
    "m-lwdf, limit 100 ms": (style.PURPLE, "<", "-"),
    "max-rate": (style.BLACK, "x", "--"),
    "fq-codel": (style.SKY, "v", "--"),
}


def calls(ours: Mapping[tuple[str, int], list[Row]], much: Effort) -> None:
    """MOS, losses and jitter by load."""
    loads = sorted({users for _, users in ours})
    shown = (("mos", "MOS"), ("loss_pct", "Lost (%)"), ("jitter_ms", "Jitter (ms)"))
    with panels(1, 3, 2.8) as (figure, axes):
        for ax, (key, label) in zip(axes, shown, strict=True):
            for name, (color, marker, dashes) in SHOWN.items():
                x, y, sd = zip(*(point(users, ours[name, users], key) for users in loads), strict=True)
                ax.errorbar(
                    x, y, yerr=sd, color=color, marker=marker, ls=dashes, markersize=3.5, elinewidth=0.8, label=name
                )
            ax.set_xlabel("Calls")
            ax.set_ylabel(label)
            ax.margins(x=0.04)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        much.save(figure, "beyond-chapter-6-voice.png")


def mixed(ours: Mapping[tuple[str, str], list[Row]], places: Sequence[str], much: Effort) -> None:
    """The opinion of the callers, the goodput of the downloads and the time of a page."""
    names = list(dict.fromkeys(name for _, name in ours))
    shown = (
        ("mos", "Calls, MOS"),
        ("bulk_total", "Downloads, all (Mbit/s)"),
        ("page_s", "Page, mean (s)"),
    )
    with panels(1, 3, 4.2) as (figure, axes):
        for ax, (key, label) in zip(axes, shown, strict=True):
            for i, (place, color) in enumerate(zip(places, (style.BLUE, style.ORANGE), strict=True)):
                values = [mean(ours[place, name], key) for name in names]
                ax.barh([y + 0.4 * i - 0.2 for y in range(len(names))], values, 0.36, color=color, label=place)
            ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names))
            ax.invert_yaxis()
            ax.grid(visible=False, axis="y")
            ax.set_xlabel(label)
        axes[0].set_xlim(1, 4.5)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
        much.save(figure, "beyond-chapter-6-mixed.png")


def short(ours: Mapping[tuple[str, int], list[Row]], loads: Sequence[int], much: Effort) -> None:
    """The mean and the 95th percentile of the time to completion of small and of large transfers."""
    names = list(dict.fromkeys(name for name, _ in ours))
    with panels(1, 2, 3.4) as (figure, axes):
        for ax, size, title in zip(axes, ("10 kB", "larger"), ("up to 10 kB", "more than 100 kB"), strict=True):
            for i, (load, color) in enumerate(zip(loads, (style.SKY, style.BLUE, style.RED), strict=True)):
                values = [mean(ours[name, load], f"p95 {size}") for name in names]
                ax.barh(
                    [y + 0.27 * (i - 1) for y in range(len(names))],
                    values,
                    0.25,
                    color=color,
                    label=f"{load} % offered",
                )
            ax.set_yticks(range(len(names)), names if size == "10 kB" else [""] * len(names))
            ax.invert_yaxis()
            ax.grid(visible=False, axis="y")
            ax.set_title(f"Transfers of {title}")
            ax.set_xlabel("95 % are complete within (s)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        much.save(figure, "beyond-chapter-6-short.png")


def queues(ours: Mapping[tuple[str, str, bool], list[Row]], much: Effort) -> None:
    """Delay against goodput by queue manager: colours are schedulers, markers managers."""
    colors = {"droptail": style.BLUE, "round-robin": style.ORANGE, "pf": style.RED}
    markers = dict(zip(dict.fromkeys(manager for _, manager, _ in ours), "^soDv*", strict=False))
    with panels(1, 1, 3.2) as (figure, axes):
        ax = axes[0]
        for (scheduler, manager, ecn), rows in ours.items():
            if not ecn:
                x, y = mean(rows, "total"), mean(rows, "delay_ms")
                ax.plot(x, y, marker=markers[manager], color=colors[scheduler], ls="", markersize=7)
        keys = [
            (Line2D([], [], marker="s", ls="", color=color), f"scheduler: {name}") for name, color in colors.items()
        ]
        keys += [
            (Line2D([], [], marker=marker, ls="", color=style.GREY), f"queue: {name}")
            for name, marker in markers.items()
        ]
        ax.set_xlabel("Goodput of all 40 downloads (Mbit/s)")
        ax.set_ylabel("Mean one-way delay (ms)")
        ax.margins(x=0.06, y=0.06)
        handles, labels = zip(*keys, strict=True)
        figure.legend(handles, labels, loc="outside right center")
        much.save(figure, "beyond-chapter-6-queues.png")
