"use strict";
// What a reader takes along of a chart (SVG, PNG, CSV), and zooming with fingers.
const charts_to_keep = (() => {
  const WIDTH = 720, LEFT = 62, LINE = 17, SIZE = 12;
  const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  // Paper is white: colours are those of the light theme.
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.colorScheme = "light";
  const light = (name) => {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };

  function save(name, type, content) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = document.createElement("a");
    [link.href, link.download] = [address, name];
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  async function png(svg) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    const context = canvas.getContext("2d");
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // ---- a chart of curves

  // The values that a curve stands for: of stacked shares what is added to those below.
  const valuesOf = (plot, index) => (plot.series[index].stacked
    ? plot.data[index].map((value, at) => (value == null ? null : value - (plot.data[index - 1][at] ?? 0)))
    : plot.data[index]);
  const shown = (plot) => plot.series.map((series, index) => index).slice(1).filter((index) => plot.series[index].show);

  function csv({ plot, spec, bars }) {
    const header = [spec.explorer ? plot.series[0].label : spec.x_label];
    const columns = [plot.data[0]];
    for (const index of shown(plot)) {
      const label = plot.series[index].label + (spec.unit ? ` (${spec.unit})` : "");
      header.push(label);
      columns.push(valuesOf(plot, index));
      if (bars) {
        header.push(`${label}, low`, `${label}, high`);
        columns.push(bars[index - 1].map((one) => one?.[1]), bars[index - 1].map((one) => one?.[2]));
      }
    }
    const rows = plot.data[0].map((_, at) => columns.map((column) => column[at] ?? "").join(","));
    return [header.map(quoted).join(","), ...rows, ""].join("\n");
  }

  // Where instants and values are in the drawing, from where they are in the chart.
  function frame({ plot }, top) {
    const scale = devicePixelRatio;
    const across = (WIDTH - LEFT - 16) / plot.bbox.width;
    return {
      x: (value) => LEFT + (plot.valToPos(value, "x", true) - plot.bbox.left) * across,
      y: (value) => top + (plot.valToPos(value, "y", true) - plot.bbox.top) / scale,
      right: WIDTH - 16, top, bottom: top + plot.bbox.height / scale,
    };
  }

  function axes(plot, place) {
    const [grid, soft] = [light("grid"), light("soft")];
    const parts = [];
    const texts = (axis) => axis._splits.map((split, at) => [split, axis._values[at]]).filter(([, text]) => text != null && text !== "");
    for (const [split, text] of texts(plot.axes[0])) {
      const x = place.x(split).toFixed(1);
      parts.push(`<path d="M${x} ${place.top}V${place.bottom}" stroke="${grid}"/>`,
        `<text x="${x}" y="${place.bottom + LINE}" text-anchor="middle" fill="${soft}">${escaped(text)}</text>`);
    }
    for (const [split, text] of texts(plot.axes[1])) {
      const y = place.y(split).toFixed(1);
      parts.push(`<path d="M${LEFT} ${y}H${place.right}" stroke="${grid}"/>`,
        `<text x="${LEFT - 6}" y="${Number(y) + 4}" text-anchor="end" fill="${soft}">${escaped(text)}</text>`);
    }
    return parts.join("");
  }

  // The points of a curve between the ends of the axis, in pieces where it is interrupted.
  function pieces(plot, index, place) {
    const [xs, values, { min, max }] = [plot.data[0], plot.data[index], plot.scales.x];
    const found = [[]];
    let last = null;
    for (let at = 0; at < xs.length; at++) {
      const [x, value] = [xs[at], values[at]];
      if (value == null || x < min || x > max) {
        if (value == null && !plot.series[index].spanGaps && found.at(-1).length) found.push([]);
        last = null;
        continue;
      }
      const [left, high] = [place.x(x).toFixed(1), place.y(value).toFixed(1)];
      // A step's value holds since the instant before.
      if (plot.series[index].stepped && last !== null) found.at(-1).push(`${last} ${high}`);
      found.at(-1).push(`${left} ${high}`);
      last = left;
    }
    return found.filter((piece) => piece.length);
  }

  function curve(chart, index, place) {
    const { plot, bars } = chart;
    const series = plot.series[index];
    const stroke = light(series.paint);
    const of_curve = pieces(plot, index, place);
    const line = of_curve.map((piece) => `M${piece.join("L")}`).join("");
    const floor = series.area === "zero" ? place.y(Math.max(plot.scales.y.min, 0)) : null;
    let area = "";
    if (floor !== null) area = of_curve.map((piece) => `M${piece[0].split(" ")[0]} ${floor}L${piece.join("L")}L${piece.at(-1).split(" ")[0]} ${floor}Z`).join("");
    if (series.area === "below") {
      const under = pieces(plot, index - 1, place);
      area = of_curve.map((piece, at) => `M${piece.join("L")}L${[...(under[at] ?? [])].reverse().join("L")}Z`).join("");
    }
    const parts = area ? [`<path d="${area}" fill="${stroke}" fill-opacity="${series.opacity}" stroke="none"/>`] : [];
    const dash = series.dashed ? ' stroke-dasharray="6 4"' : "";
    parts.push(`<path d="${line}" fill="none" stroke="${stroke}" stroke-width="${series.width}"${series.pale ? ' stroke-opacity="0.4"' : ""}${dash}/>`);
    for (const [at, one] of (bars?.[index - 1] ?? []).entries()) {
      if (!one || plot.data[0][at] < plot.scales.x.min || plot.data[0][at] > plot.scales.x.max) continue;
      const x = place.x(plot.data[0][at]);
      const [low, high] = [place.y(one[1]), place.y(one[2])];
      parts.push(`<circle cx="${x}" cy="${place.y(one[0])}" r="3" fill="${stroke}"/>`);
      if (one[2] > one[1]) parts.push(`<path d="M${x} ${low}V${high}M${x - 4} ${low}H${x + 4}M${x - 4} ${high}H${x + 4}" stroke="${stroke}"/>`);
    }
    return parts.join("");
  }

  // Names beside their lines, in as many rows as they need.
  function legend(plot, ink) {
    let [x, y] = [LEFT, 2.4 * LINE];
    const parts = shown(plot).map((index) => {
      const { label, paint, dashed } = plot.series[index];
      const width = 30 + 0.58 * SIZE * label.length;
      if (x > LEFT && x + width > WIDTH - 16) [x, y] = [LEFT, y + LINE];
      const dash = dashed ? ' stroke-dasharray="6 4"' : "";
      const part = `<path d="M${x} ${y - 4}h20" stroke="${light(paint)}" stroke-width="2"${dash}/><text x="${x + 25}" y="${y}" fill="${ink}">${escaped(label)}</text>`;
      x += width + 14;
      return part;
    });
    return { text: parts.join(""), bottom: y };
  }

  function svg(chart) {
    const { plot, spec } = chart;
    const [ink, soft] = [light("ink"), light("soft")];
    const names = legend(plot, ink);
    const place = frame(chart, names.bottom + LINE);
    const height = place.bottom + 2.6 * LINE;
    const x_label = spec.explorer ? plot.series[0].label : spec.x_label;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="${SIZE}">`
      + `<rect width="100%" height="100%" fill="white"/><clipPath id="in"><rect x="${LEFT}" y="${place.top - 2}" width="${place.right - LEFT}" height="${place.bottom - place.top + 4}"/></clipPath>`
      + `<text x="10" y="${LINE}" font-weight="bold" fill="${ink}">${escaped(title(chart))}</text>${names.text}${axes(plot, place)}`
      + `<g clip-path="url(#in)">${shown(plot).map((index) => curve(chart, index, place)).join("")}</g>`
      + `<text x="${(LEFT + place.right) / 2}" y="${place.bottom + 2.2 * LINE}" text-anchor="middle" fill="${soft}">${escaped(x_label)}</text></svg>`;
  }

  const title = ({ spec, measure }) => measure ?? spec.title + (spec.unit ? ` (${spec.unit})` : "");
  const fileName = (text) => text.toLowerCase().replace(/\([^)]*\)/g, "").replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "chart";

  // ---- a drawing that is in the page as SVG

  function drawn(element) {
    const copy = element.cloneNode(true);
    copy.setAttribute("fill", light("ink"));
    const text = new XMLSerializer().serializeToString(copy);
    return text.replace(/var\(--([a-z0-9]+)\)/g, (_, name) => (name === "card" ? "#ffffff" : light(name)));
  }

  function buttons(into, name, kinds) {
    const bar = document.createElement("span");
    bar.className = "save";
    for (const [kind, make] of Object.entries(kinds)) {
      const button = document.createElement("button");
      [button.type, button.textContent, button.title] = ["button", kind, `Save as ${kind}`];
      button.addEventListener("click", async () => {
        const types = { SVG: "image/svg+xml", PNG: "image/png", CSV: "text/csv" };
        save(`${fileName(name())}.${kind.toLowerCase()}`, types[kind], await make());
      });
      bar.append(button);
    }
    into.append(bar);
  }

  function of_chart(chart) {
    const into = chart.element.parentElement.querySelector("h4") ?? chart.element.parentElement.querySelector(".choosers").previousElementSibling;
    buttons(into, () => title(chart), { SVG: () => svg(chart), PNG: () => png(svg(chart)), CSV: () => csv(chart) });
  }

  function of_drawing(figure, numbers) {
    const picture = figure.querySelector("svg");
    const kinds = { SVG: () => drawn(picture), PNG: () => png(drawn(picture)) };
    if (numbers) kinds.CSV = () => numbers;
    buttons(figure, () => figure.querySelector("figcaption")?.firstChild?.textContent ?? "figure", kinds);
  }

  // ---- fingers

  // Two fingers zoom, one moves what is zoomed, a double tap shows all.
  function touch(chart) {
    const { plot } = chart;
    const { over } = plot;
    const logarithmic = plot.scales.x.distr === 3;
    const [to, back] = logarithmic ? [Math.log, Math.exp] : [(value) => value, (value) => value];
    const xs = plot.data[0];
    let held = null;
    let tapped = 0;
    const places = (event) => [...event.touches].map((finger) => finger.clientX - over.getBoundingClientRect().left);
    const at = (place) => {
      const [min, max] = [to(plot.scales.x.min), to(plot.scales.x.max)];
      return min + (place / over.clientWidth) * (max - min);
    };
    const isZoomed = () => plot.scales.x.min > xs[0] || plot.scales.x.max < xs.at(-1);
    over.style.touchAction = "pan-y";
    over.addEventListener("touchstart", (event) => {
      if (event.touches.length > 2) return;
      held = places(event).map(at);
      if (event.touches.length === 2) event.preventDefault();
    }, { passive: false });
    over.addEventListener("touchmove", (event) => {
      const fingers = places(event);
      if (!held || held.length !== fingers.length || (fingers.length === 1 && !isZoomed())) return;
      const [min, max] = [to(plot.scales.x.min), to(plot.scales.x.max)];
      let per = (max - min) / over.clientWidth;
      if (fingers.length === 2) {
        if (Math.abs(fingers[1] - fingers[0]) < 8) return;
        per = (held[1] - held[0]) / (fingers[1] - fingers[0]);
      }
      if (!(per > 0)) return;
      if (event.cancelable) event.preventDefault();
      const [first, last] = [to(xs[0]), to(xs.at(-1))];
      const span = Math.min(per * over.clientWidth, last - first);
      const from = Math.min(Math.max(held[0] - per * fingers[0], first), last - span);
      if (span > 1e-6 * (last - first)) plot.setScale("x", { min: back(from), max: back(from + span) });
    }, { passive: false });
    over.addEventListener("touchend", (event) => {
      if (event.touches.length) { held = places(event).map(at); return; }
      const again = held?.length === 1 && event.timeStamp - tapped < 300;
      tapped = held?.length === 1 ? event.timeStamp : 0;
      held = null;
      if (again) over.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    });
  }

  return { of_chart, of_drawing, touch, svg, csv, drawn, png };
})();
