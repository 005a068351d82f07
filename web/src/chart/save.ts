// A chart as a file: a picture in pixels, a drawing of lines and text, or its numbers.
import type uPlot from 'uplot';
import { shown } from '../numbers';
import { at, headed, type Curves, type Line } from './curves';
import { LEFT } from './options';
import { ofCurve, palette } from './palette';

/** Room for title and legend above a saved chart. */
const HEAD = 40;

/** The lines whole, of a plot those that are visible; those with intervals are followed by their ends. */
export function csv(curves: Curves, plot?: uPlot): string {
  const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const unit = curves.unit && curves.unit !== 's' ? ` (${curves.unit})` : '';
  const columns = curves.lines.flatMap((line, index) => {
    if (plot && !plot.series[index + 1]?.show) return [];
    const name = line.label + unit;
    const end = (which: 0 | 1) => (place: number) => line.intervals?.[place]?.[which] ?? null;
    const ends = line.intervals ? [{ name: `${name}, low`, value: end(0) }, { name: `${name}, high`, value: end(1) }] : [];
    return [{ name, value: (place: number) => at(curves, index, place) }, ...ends];
  });
  const head = [curves.axis?.label ?? 'time_s', ...columns.map(({ name }) => name)].map(quoted);
  const rows = Array.from({ length: curves.x.length }, (_, place) => [curves.x[place], ...columns.map(({ value }) => value(place) ?? '')]);
  return [...[head, ...rows].map((row) => row.join(',')), ''].join('\n');
}

/** The visible part, with title and legend. */
export function png(curves: Curves, plot: uPlot): Promise<Blob | null> {
  const canvas = document.createElement('canvas');
  const ratio = devicePixelRatio;
  [canvas.width, canvas.height] = [plot.ctx.canvas.width, plot.ctx.canvas.height + HEAD * ratio];
  const context = canvas.getContext('2d');
  if (!context) return Promise.resolve(null);
  context.fillStyle = palette().surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(plot.ctx.canvas, 0, HEAD * ratio);
  context.scale(ratio, ratio);
  context.fillStyle = palette().text;
  context.font = '600 13px system-ui, sans-serif';
  context.fillText(headed(curves), 8, 16);
  context.font = '11px system-ui, sans-serif';
  let x = LEFT;
  for (const line of visible(curves, plot)) {
    context.strokeStyle = ofCurve(line.colour);
    context.lineWidth = 2;
    context.setLineDash(line.dashed ? [4, 2] : []);
    context.beginPath();
    context.moveTo(x, 29);
    context.lineTo(x + 16, 29);
    context.stroke();
    context.fillText(line.label, x + 20, 33);
    x += 36 + context.measureText(line.label).width;
  }
  return new Promise((done) => canvas.toBlob(done));
}

/** The visible part, drawn with lines and text. */
export function svg(curves: Curves, plot: uPlot): string {
  const { text, muted, grid, surface } = palette();
  const [width, height] = [plot.width, plot.height + HEAD];
  const lines = visible(curves, plot);
  const [min, max] = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 1];
  const [low, high] = [plot.scales.y?.min ?? 0, plot.scales.y?.max ?? 1];
  const bottom = (plot.bbox.top + plot.bbox.height) / devicePixelRatio + HEAD;
  const name = (x: number) => (curves.axis ? shown(x) : shown(x, 's'));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const [x] = place(plot, min + share * (max - min), low);
    return `<text x="${x}" y="${bottom + 14}" text-anchor="middle" fill="${muted}">${name(min + share * (max - min))}</text>`;
  });
  const levels = [low, (low + high) / 2, high].map((value) => {
    const [left, y] = place(plot, min, value);
    const [right] = place(plot, max, value);
    return `<path d="M${left} ${y}H${right}" stroke="${grid}"/><text x="${LEFT - 6}" y="${y + 4}" text-anchor="end" fill="${muted}">${shown(value, curves.unit)}</text>`;
  });
  let x = LEFT;
  const legend = lines.map((line) => {
    const key = `<path d="M${x} 29h16" stroke="${ofCurve(line.colour)}" stroke-width="2"${dash(line)}/><text x="${x + 20}" y="33">${escaped(line.label)}</text>`;
    x += 36 + 6.2 * line.label.length;
    return key;
  });
  const axis = curves.axis ? `<text x="${(LEFT + width) / 2}" y="${height - 4}" text-anchor="middle" fill="${muted}">${escaped(curves.axis.label)}</text>` : '';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11" fill="${text}">`
    + `<rect width="100%" height="100%" fill="${surface}"/><text x="8" y="16" font-size="13" font-weight="600">${escaped(headed(curves))}</text>`
    + `${legend.join('')}${levels.join('')}${lines.map((line) => drawn(curves, line, plot)).join('')}${ticks.join('')}${axis}</svg>`;
}

function visible({ lines }: Curves, plot: uPlot): Line[] {
  return lines.filter((_, place) => plot.series[place + 1]?.show);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function dash({ dashed }: Line): string {
  return dashed ? ' stroke-dasharray="5 3"' : '';
}

/** A point of the drawing, in its pixels. */
function place(plot: uPlot, x: number, y: number): [number, number] {
  const round = (value: number) => Number(value.toFixed(1));
  return [round(plot.valToPos(x, 'x', true) / devicePixelRatio), round(plot.valToPos(y, 'y', true) / devicePixelRatio + HEAD)];
}

function drawn(curves: Curves, line: Line, plot: uPlot): string {
  const [min, max] = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 1];
  const colour = ofCurve(line.colour);
  let [path, whiskers, up] = ['', '', true];
  for (let index = 0; index < curves.x.length; index++) {
    const [x, value] = [curves.x[index] as number, line.values[index]];
    if (x < min || x > max || value === null || value === undefined || Number.isNaN(value)) {
      if (!line.intervals) up = true;
      continue;
    }
    const [left, top] = place(plot, x, value);
    path += up ? `M${left} ${top}` : line.step ? `V${top}H${left}` : `L${left} ${top}`;
    up = false;
    const ends = line.intervals?.[index];
    if (ends) whiskers += `M${left} ${place(plot, x, ends[0])[1]}V${place(plot, x, ends[1])[1]}`;
  }
  const stroke = (d: string) => `<path d="${d}" fill="none" stroke="${colour}" stroke-width="1.4"${dash(line)}/>`;
  return stroke(path) + (whiskers ? stroke(whiskers) : '');
}
