"use strict";
(() => {
  const body = document.body;
  const report = (text) => { body.dataset.errors = (body.dataset.errors ? body.dataset.errors + "\n" : "") + text; };
  addEventListener("error", (event) => report(String(event.message)));
  addEventListener("unhandledrejection", (event) => report(String(event.reason)));

  const page = JSON.parse(document.getElementById("data").textContent);
  const print = matchMedia("print");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const HEIGHT = 195, LEFT = 58, FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

  // Colours are those of the style sheet, as it has them in this theme.
  const probe = body.appendChild(document.createElement("span"));
  probe.hidden = true;
  const color = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const pale = (text, share) => text.replace(/^rgba?\((\d+), (\d+), (\d+).*\)$/, `rgba($1, $2, $3, ${share})`);
  const digits = (value) => {
    const size = Math.abs(value);
    if (size >= 1e5 || Number.isInteger(value)) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
    return size >= 1e-3 || size === 0 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
  };
  const shown = (value) => (value == null ? "–" : digits(value));

  const charts = [];      // { spec, element, plot }
  let choice = document.querySelector("select.choice")?.value;

  // ---- curves over time

  function rangeOf(spec) {
    return (_, low, high) => {
      if (low == null) return [0, 1];
      const bottom = spec.floor == null ? low : Math.min(spec.floor, low);
      const top = Math.max(high, bottom);
      const room = top - bottom > 1e-9 * Math.abs(top) ? 0.06 * (top - bottom) : 0.1 * Math.abs(top) || 1;
      return [bottom === spec.floor ? bottom : bottom - room, top + room];
    };
  }

  function seriesOf(series) {
    const stroke = color(series.color === null ? "ink" : `c${(series.color ?? 0) % 7}`);
    const area = series.fill || series.below;
    const made = {
      label: series.label,
      show: series.shown !== false,
      stroke: series.faint || series.band ? pale(stroke, 0.4) : stroke,
      width: area || series.band ? 0.5 : series.faint ? 0.8 : 1.5,
      dash: series.dash ? [6, 4] : undefined,
      fill: series.fill ? pale(stroke, 0.35) : undefined,
      points: { show: false },
      value: (_, value) => shown(value),
      // What a drawing of it needs to know.
      paint: series.color === null ? "ink" : `c${(series.color ?? 0) % 7}`,
      area: series.fill ? "zero" : series.band || series.below ? "below" : null,
      opacity: series.fill ? 0.35 : series.below ? 0.5 : 0.2,
      pale: series.faint || series.band, dashed: series.dash, stepped: series.step, stacked: series.below,
    };
    if (series.step) made.paths = uPlot.paths.stepped({ align: -1 });
    if (series.below) made.value = (u, value, index, at) => {
      const under = at == null ? null : u.data[index - 1][at];
      return value == null ? "–" : digits(value - (under ?? 0));
    };
    return made;
  }

  function timeOptions(spec) {
    const all = [...spec.series];
    if (Object.keys(spec.choices).length) all.push({ label: "", color: 3, ...spec.chosen });
    const bands = all.flatMap((series, index) => (series.band || series.below)
      ? [{ series: [index + 1, index], fill: pale(color(`c${(series.color ?? 0) % 7}`), series.below ? 0.5 : 0.2) }] : []);
    return {
      scales: { x: { time: false }, y: { range: rangeOf(spec), dir: spec.inverted ? -1 : 1 } },
      series: [{ label: spec.x_label, value: (_, value) => (value == null ? "–" : String(value)) }, ...all.map(seriesOf)],
      bands,
      cursor: {
        y: false,
        drag: { x: true, y: false, dist: 4 },
        // What the pointer does in one chart shows in all; zooming is passed on below, by its range.
        sync: { key: spec.x_label, setSeries: false, filters: { pub: (type) => !["mousedown", "mouseup", "dblclick"].includes(type) } },
      },
    };
  }

  function timeData(spec) {
    const data = [page.columns[spec.x], ...spec.series.map((series) => page.columns[series.y])];
    if (Object.keys(spec.choices).length) data.push(page.columns[spec.choices[choice]]);
    return data;
  }

  // ---- a measure over an axis

  function explorer(spec, element) {
    const { axes, measures, points } = spec.explorer;
    const numeric = axes.flatMap((axis, index) => (axis.numeric ? [index] : []));
    const state = { measure: 0, x: numeric[0], by: axes.length > 1 ? axes.findIndex((_, index) => index !== numeric[0]) : -1,
      held: axes.map(() => 0), log: null };
    const choosers = element.parentElement.querySelector(".choosers");
    const chart = { spec, element, height: 330 };

    function choose(label, options, value, onChange) {
      const select = document.createElement("select");
      for (const [key, text] of options) select.add(new Option(text, key, false, key === value));
      select.addEventListener("change", () => { onChange(Number(select.value)); chart.kept = null; controls(); build(chart); });
      const box = document.createElement("label");
      box.append(label, " ", select);
      choosers.append(box);
    }

    function controls() {
      choosers.replaceChildren();
      choose("Show", measures.map((measure, index) => [index, measure.label]), state.measure, (value) => { state.measure = value; });
      choose("over", numeric.map((index) => [index, axes[index].label]), state.x, (value) => {
        if (value === state.by) state.by = state.x;
        state.x = value;
      });
      const others = axes.flatMap((axis, index) => (index === state.x ? [] : [[index, axis.label]]));
      if (others.length) choose("a curve for each", others, state.by, (value) => { state.by = value; });
      axes.forEach((axis, index) => {
        if (index === state.x || index === state.by) return;
        choose(axis.label, axis.values.map((value, at) => [at, String(value)]), state.held[index], (value) => { state.held[index] = value; });
      });
    }

    // Intervals by curve and place on the axis; null where there is none.
    function intervals() {
      const xs = axes[state.x].values.map((value, index) => [value, index]).sort((a, b) => a[0] - b[0]);
      const curves = state.by < 0 ? [null] : axes[state.by].values.map((_, index) => index);
      const found = new Map(points.map(([at, values]) => [at.join(), values[state.measure]]));
      const grid = curves.map((curve) => xs.map(([, x]) => {
        const at = [...state.held];
        at[state.x] = x;
        if (curve !== null) at[state.by] = curve;
        return found.get(at.join()) ?? null;
      }));
      // A curve without a value, such as one whose runs all failed, has no place in the legend.
      const kept = curves.flatMap((_, index) => (grid[index].some((one) => one) ? [index] : []));
      return { xs: xs.map(([value]) => value), grid: kept.map((index) => grid[index]), curves: kept.map((index) => curves[index]) };
    }

    chart.options = () => {
      const { xs, grid, curves } = intervals();
      const log = xs.length > 2 && xs[0] > 0 && xs.at(-1) / xs[0] >= 40;
      const colors = curves.map((curve) => color(`c${(curve ?? 0) % 7}`));
      const told = (one) => (one ? `${shown(one[0])} (${shown(one[1])} to ${shown(one[2])})` : "–");
      const few = xs.length <= 14;
      chart.bars = grid;
      chart.measure = measures[state.measure].label;
      chart.data = [xs, ...grid.map((row) => row.map((one) => (one ? one[0] : null)))];
      return {
        scales: {
          x: { time: false, distr: log ? 3 : 1, range: (_, low, high) => {
            if (log) return [low / 1.15, high * 1.15];
            const room = 0.04 * (high - low) || 1;
            return [low - room, high + room];
          } },
          y: { range: (u) => {
            const all = grid.flatMap((row, index) => (u.series[index + 1].show ? row.filter((one) => one) : []));
            if (!all.length) return [0, 1];
            return rangeOf({ floor: Math.min(0, ...all.map((one) => one[1])) })(u, Math.min(...all.map((one) => one[1])), Math.max(...all.map((one) => one[2])));
          } },
        },
        axes: few ? [{ splits: () => xs, values: (_, at) => at.map(shown), filter: (_, at) => at }] : [{}],
        x_label: axes[state.x].label,
        y_label: measures[state.measure].label,
        series: [{ label: axes[state.x].label, value: (_, value) => shown(value) }, ...curves.map((curve, index) => ({
          label: curve === null ? measures[state.measure].label : `${axes[state.by].label} ${axes[state.by].values[curve]}`,
          stroke: colors[index], width: 1.6, spanGaps: true,
          paint: `c${(curve ?? 0) % 7}`, dashed: (curve ?? 0) >= 7,
          dash: (curve ?? 0) >= 7 ? [6, 4] : undefined,
          points: { show: true, size: 6, fill: colors[index] },
          value: (_, value, __, at) => (at == null ? "–" : told(grid[index][at])),
        }))],
        cursor: { y: false, drag: { x: true, y: false, dist: 4 } },
        hooks: { draw: [(u) => {
          const scale = devicePixelRatio;
          u.ctx.save();
          u.ctx.lineWidth = 1.2 * scale;
          grid.forEach((row, index) => {
            if (!u.series[index + 1].show) return;
            u.ctx.strokeStyle = colors[index];
            row.forEach((one, at) => {
              if (!one || one[2] <= one[1]) return;
              const x = u.valToPos(xs[at], "x", true);
              if (x < u.bbox.left - 1 || x > u.bbox.left + u.bbox.width + 1) return;
              const [low, high] = [u.valToPos(one[1], "y", true), u.valToPos(one[2], "y", true)];
              const cap = 4 * scale;
              u.ctx.beginPath();
              u.ctx.moveTo(x, low); u.ctx.lineTo(x, high);
              u.ctx.moveTo(x - cap, low); u.ctx.lineTo(x + cap, low);
              u.ctx.moveTo(x - cap, high); u.ctx.lineTo(x + cap, high);
              u.ctx.stroke();
            });
          });
          u.ctx.restore();
        }] },
      };
    };
    controls();
    return chart;
  }

  // ---- what both are drawn by

  let passing = false;
  function passOn(from) {
    if (passing || !from.plot || from.spec.explorer) return;
    passing = true;
    const { min, max } = from.plot.scales.x;
    for (const other of charts) {
      if (other !== from && other.plot && !other.spec.explorer && other.spec.x_label === from.spec.x_label) other.plot.setScale("x", { min, max });
    }
    passing = false;
  }

  // Builds the chart anew, in the colours of the theme; keeps which curves are shown and the zoom.
  function build(chart) {
    const spec = chart.spec;
    if (chart.plot) {
      chart.kept ??= chart.plot.series.map((series) => series.show);
      chart.plot.destroy();
    }
    const options = chart.options ? chart.options() : timeOptions(spec);
    const data = chart.options ? chart.data : timeData(spec);
    const axis = { stroke: color("soft"), font: FONT, labelFont: FONT, grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid"), width: 1, size: 4 } };
    const labelled = (text) => (text ? { label: text, labelSize: 20 } : {});
    const [own = {}] = options.axes ?? [];
    if (chart.kept) options.series.forEach((series, index) => { series.show = chart.kept[index]; });
    chart.kept = null;
    chart.plot = new uPlot({
      ...options,
      width: chart.element.clientWidth,
      height: chart.height ?? HEIGHT,
      padding: [8, 12, 0, 0],
      legend: { markers: { width: 2, fill: (u, index) => u.series[index].stroke(u, index) } },
      axes: [
        { ...axis, size: 30, ...labelled(options.x_label ?? spec.x_label), ...own },
        { ...axis, size: LEFT, values: (_, at) => at.map(shown), ...labelled(options.y_label) },
      ],
      hooks: { ...options.hooks, setScale: [(_, key) => { if (key === "x") passOn(chart); }], ready: [() => { chart.drawn = true; }] },
    }, data, chart.element);
    // Within reach of the browser's console, and of tests.
    chart.element.plot = chart.plot;
    label(chart);
    charts_to_keep.touch(chart);
    if (chart.zoom) chart.plot.setScale("x", chart.zoom);
    chart.zoom = null;
  }

  function label(chart) {
    const last = chart.plot.series.length - 1;
    if (chart.spec.choices && Object.keys(chart.spec.choices).length) {
      chart.plot.series[last].label = choice;
      chart.element.querySelector(".u-legend").rows[last].querySelector(".u-label").textContent = choice;
    }
  }

  function rebuild() {
    for (const chart of charts) {
      const { min, max } = chart.plot.scales.x;
      const xs = chart.plot.data[0];
      chart.zoom = !chart.spec.explorer && (min > xs[0] || max < xs.at(-1)) ? { min, max } : null;
      build(chart);
    }
  }

  for (const element of document.querySelectorAll("[data-chart]")) {
    const spec = page.charts[Number(element.dataset.chart)];
    const chart = spec.explorer ? explorer(spec, element) : { spec, element };
    build(chart);
    charts.push(chart);
    charts_to_keep.of_chart(chart);
    element.chart = chart;
  }
  for (const figure of document.querySelectorAll("figure")) charts_to_keep.of_drawing(figure, page.numbers[Number(figure.dataset.numbers)]);
  const resize = () => {
    for (const chart of charts) {
      const width = chart.element.clientWidth;
      if (width && width !== chart.plot.width) chart.plot.setSize({ width, height: chart.height ?? HEIGHT });
    }
  };
  addEventListener("resize", resize);
  dark.addEventListener("change", rebuild);
  // Paper is white, and as wide as it is.
  print.addEventListener("change", () => { rebuild(); resize(); });

  document.querySelector("select.choice")?.addEventListener("change", (event) => {
    choice = event.target.value;
    for (const chart of charts) {
      if (!chart.spec.choices || !Object.keys(chart.spec.choices).length) continue;
      const { min, max } = chart.plot.scales.x;
      chart.plot.setData(timeData(chart.spec), false);
      chart.plot.setScale("x", { min, max });
      label(chart);
    }
  });

  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    rebuild();
  });

  // ---- tables and text

  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent;
    const value = Number(text);
    return text === "–" || text === "" ? null : Number.isNaN(value) ? text : value;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  for (const button of document.querySelectorAll("table.sortable thead button")) {
    button.addEventListener("click", () => {
      const heading = button.parentElement;
      const table = heading.closest("table");
      const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      const rows = [...table.tBodies[0].rows].map((row) => [key(row, heading.cellIndex), row]);
      // What has no value stays at the end either way.
      rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  }

  // What is beyond the edge of a table is told.
  const beyond = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      const told = box.nextElementSibling?.classList.contains("goes-on") ? box.nextElementSibling : null;
      if (box.scrollWidth <= box.clientWidth + 1) { told?.remove(); continue; }
      if (told) continue;
      const note = document.createElement("p");
      [note.className, note.textContent] = ["goes-on", "The table goes on to the right: it can be moved."];
      box.after(note);
    }
  };
  beyond();
  addEventListener("resize", beyond);

  for (const bar of document.querySelectorAll(".filters")) {
    const table = bar.nextElementSibling.querySelector("table");
    const rows = [...table.tBodies[0].rows];
    const input = document.createElement("input");
    const count = document.createElement("span");
    const selects = bar.dataset.columns.split(",").map(Number).map((column) => {
      const name = table.tHead.rows[0].cells[column].textContent;
      const select = document.createElement("select");
      const texts = new Set(rows.map((row) => row.cells[column].textContent));
      select.add(new Option(`${name}: all`, ""));
      for (const text of texts) select.add(new Option(text, text));
      select.setAttribute("aria-label", name);
      return { column, select };
    });
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !(words.every((word) => text.includes(word))
          && selects.every(({ column, select }) => !select.value || row.cells[column].textContent === select.value));
      }
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    input.type = "search";
    input.placeholder = "Words in the row";
    input.setAttribute("aria-label", input.placeholder);
    input.addEventListener("input", show);
    for (const { select } of selects) select.addEventListener("change", show);
    bar.append(...selects.map(({ select }) => select), input, count);
    show();
  }

  function copyOld(text) {
    const area = body.appendChild(document.createElement("textarea"));
    area.value = text;
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  for (const button of document.querySelectorAll(".copy-button")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("pre").textContent;
      // A browser may keep the clipboard from pages that were opened as files.
      try { await navigator.clipboard.writeText(text); } catch { copyOld(text); }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // What a test reads: how many charts there are, and how many have been drawn.
  body.dataset.charts = String(charts.length);
  requestAnimationFrame(() => requestAnimationFrame(() => {
    body.dataset.drawn = String(charts.filter((chart) => chart.drawn && chart.plot.status === 1).length);
  }));
})();
