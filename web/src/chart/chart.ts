// The one chart of the project: lines or points over a shared axis.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { download, h } from '../dom';
import { shown, tick } from '../numbers';
import { palette } from './palette';

export interface Line {
  label: string;
  values: ArrayLike<number | null>;
  /** Of the palette, from 0. */
  colour: number;
  /** Of the second scenario. */
  dashed?: boolean;
}

export interface Curves {
  id: string;
  title: string;
  /** Of the values, for labels; what the axis shows is scaled. */
  unit: string;
  x: ArrayLike<number>;
  lines: Line[];
  note?: string;
}

export interface Hooks {
  /** The user has dragged over a part of the axis. */
  onWindow: (from: number, to: number) => void;
  /** The user points at an instant. */
  onTime: (seconds: number) => void;
  /** The user asks for everything. */
  onAll: () => void;
  /** What the vertical line marks. */
  time: () => number;
}

export const LEFT = 62;
export const RIGHT = 12;
const HEIGHT = 132;

/** Charts with the same key share their cursor. */
const shared = uPlot.sync('timeline');

export class Chart {
  readonly element: HTMLElement;
  private readonly area: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly caption: HTMLElement;
  private plot: uPlot | undefined;
  private curves: Curves | undefined;
  private names = '';

  constructor(private readonly hooks: Hooks) {
    this.area = h('div', { className: 'area', tabIndex: 0, role: 'img' });
    this.legend = h('p', { className: 'legend', 'aria-hidden': 'true' });
    this.caption = h('h3');
    const menu = h(
      'details',
      { className: 'menu' },
      h('summary', { 'aria-label': 'Save this chart' }, '⋯'),
      h('div', {}, ...(['PNG', 'SVG', 'CSV'] as const).map((kind) => h('button', { type: 'button', onclick: () => this.save(kind) }, kind))),
    );
    this.element = h('figure', { className: 'chart' }, h('figcaption', {}, this.caption, this.legend, menu), this.area);
    this.area.addEventListener('keydown', (event) => this.key(event));
    this.area.addEventListener('dblclick', () => hooks.onAll());
  }

  /** Shows these curves between two instants. */
  show(curves: Curves, [from, to]: [number, number]): void {
    this.curves = curves;
    this.caption.textContent = curves.unit && curves.unit !== 's' ? `${curves.title}, ${curves.unit}` : curves.title;
    this.element.dataset.chart = curves.id;
    this.area.setAttribute('aria-label', this.described());
    const names = JSON.stringify([curves.lines.map(({ label, colour, dashed }) => [label, colour, dashed]), curves.unit]);
    const data = [curves.x, ...curves.lines.map((line) => line.values)] as unknown as uPlot.AlignedData;
    if (this.plot && this.names === names) {
      this.plot.setData(data, false);
    } else {
      this.plot?.destroy();
      this.names = names;
      this.plot = new uPlot(this.options(curves), data, this.area);
      shared.sub(this.plot);
    }
    this.plot.setScale('x', { min: from, max: to });
    this.tell(null);
  }

  window([from, to]: [number, number]): void {
    this.plot?.setScale('x', { min: from, max: to });
  }

  redraw(): void {
    this.plot?.redraw(false);
  }

  /** After a change of the theme: colours are read when a chart is made. */
  repaint(): void {
    this.names = '';
  }

  resize(): void {
    const width = this.area.clientWidth;
    if (this.plot && width > 0 && Math.abs(width - this.plot.width) > 1) this.plot.setSize({ width, height: HEIGHT });
  }

  destroy(): void {
    if (this.plot) shared.unsub(this.plot);
    this.plot?.destroy();
    this.plot = undefined;
    this.element.remove();
  }

  private options(curves: Curves): uPlot.Options {
    const colours = palette();
    const axis: uPlot.Axis = { stroke: colours.muted, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, size: 4 }, font: '11px system-ui' };
    return {
      width: Math.max(this.area.clientWidth, 200),
      height: HEIGHT,
      padding: [6, RIGHT, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, auto: false }, y: { range: (_, low, high) => range(low, high) } },
      axes: [
        { ...axis, size: 22, values: (_, ticks) => ticks.map((tick) => `${Number(tick.toFixed(6))} s`) },
        { ...axis, size: LEFT, values: (_, ticks) => ticks.map((value) => tick(value, curves.unit)) },
      ],
      cursor: {
        sync: { key: 'timeline', setSeries: false, scales: ['x', null] },
        drag: { x: true, y: false, setScale: false },
        points: { size: 5 },
      },
      series: [
        {},
        ...curves.lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: colours.series[line.colour % colours.series.length],
          width: 1.25,
          dash: line.dashed ? [5, 3] : undefined,
          points: { show: false },
          spanGaps: false,
        })),
      ],
      hooks: {
        setCursor: [(plot) => this.tell(plot.cursor.idx ?? null)],
        setSelect: [(plot) => this.selected(plot)],
        draw: [(plot) => mark(plot, this.hooks.time(), colours.now)],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  private listen(plot: uPlot): void {
    plot.over.addEventListener('click', () => {
      const { left } = plot.cursor;
      if (left !== undefined && left >= 0 && plot.select.width < 3) this.hooks.onTime(plot.posToVal(left, 'x'));
    });
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const window: [number, number] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.hooks.onWindow(...window);
  }

  /** The legend with the values at a place of the axis. */
  private tell(place: number | null): void {
    const { curves } = this;
    if (!curves) return;
    const colours = palette();
    this.legend.replaceChildren(
      ...curves.lines.map((line) => {
        const value = place === null ? null : line.values[place];
        const key = h('i');
        key.style.borderColor = colours.series[line.colour % colours.series.length] ?? '';
        if (line.dashed) key.style.borderTopStyle = 'dashed';
        return h('span', {}, key, line.label, value === null || value === undefined ? '' : ` ${shown(value, curves.unit)}`);
      }),
      curves.note ?? '',
    );
  }

  /** What a chart says to those who do not see it. */
  private described(): string {
    const { curves } = this;
    if (!curves) return '';
    const of = (line: Line) => {
      let [low, high, sum, count] = [Infinity, -Infinity, 0, 0];
      for (let place = 0; place < line.values.length; place++) {
        const value = line.values[place];
        if (value === null || value === undefined || Number.isNaN(value)) continue;
        [low, high, sum, count] = [Math.min(low, value), Math.max(high, value), sum + value, count + 1];
      }
      if (!count) return `${line.label}: nothing`;
      return `${line.label}: mean ${shown(sum / count, curves.unit)}, from ${shown(low, curves.unit)} to ${shown(high, curves.unit)}`;
    };
    return `${curves.title}. ${curves.lines.map(of).join('; ')}. Arrow keys move the time, plus and minus change the window.`;
  }

  private key(event: KeyboardEvent): void {
    const { scales } = this.plot ?? {};
    const [from, to] = [scales?.x?.min ?? 0, scales?.x?.max ?? 1];
    const [span, now] = [to - from, this.hooks.time()];
    const zoom = (factor: number) => this.hooks.onWindow(now - (now - from) * factor, now + (to - now) * factor);
    const act: Record<string, () => void> = {
      ArrowLeft: () => this.hooks.onTime(now - span / 100),
      ArrowRight: () => this.hooks.onTime(now + span / 100),
      '+': () => zoom(0.5),
      '-': () => zoom(2),
      Escape: () => this.hooks.onAll(),
    };
    const found = act[event.key];
    if (!found) return;
    event.preventDefault();
    found();
  }

  private save(kind: 'PNG' | 'SVG' | 'CSV'): void {
    const { curves, plot } = this;
    if (!curves || !plot) return;
    const name = `transorbit-${curves.id}.${kind.toLowerCase()}`;
    if (kind === 'CSV') return download(name, csv(curves), 'text/csv');
    if (kind === 'SVG') return download(name, svg(curves, plot), 'image/svg+xml');
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [plot.ctx.canvas.width, plot.ctx.canvas.height];
    const context = canvas.getContext('2d');
    if (!context) return;
    context.fillStyle = palette().surface;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(plot.ctx.canvas, 0, 0);
    canvas.toBlob((blob) => blob && download(name, blob));
  }
}

/** From zero where all is positive, with some room above. */
function range(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const bottom = low >= 0 ? 0 : low;
  const top = high > bottom ? high : bottom + 1;
  return [bottom, top + (top - bottom) * 0.06];
}

/** The vertical line at the instant that everything points at. */
function mark(plot: uPlot, seconds: number, colour: string): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(seconds, 'x', true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

export function csv({ x, lines }: Curves): string {
  const rows = Array.from({ length: x.length }, (_, place) => [x[place], ...lines.map((line) => line.values[place] ?? '')].join(','));
  const quoted = lines.map(({ label }) => `"${label.replaceAll('"', '""')}"`);
  return [['time_s', ...quoted].join(','), ...rows, ''].join('\n');
}

/** The visible part of a chart, drawn with lines and text. */
function svg(curves: Curves, plot: uPlot): string {
  const colours = palette();
  const [width, height] = [plot.width, plot.height + 24];
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const [min, max] = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 1];
  const paths = curves.lines.map((line) => {
    let [path, up] = ['', true];
    for (let place = 0; place < curves.x.length; place++) {
      const [x, y] = [curves.x[place], line.values[place]];
      if (x === undefined || x < min || x > max || y === null || y === undefined || Number.isNaN(y)) {
        up = true;
        continue;
      }
      const [left, top] = [plot.valToPos(x, 'x', true) / devicePixelRatio, plot.valToPos(y, 'y', true) / devicePixelRatio + 24];
      path += `${up ? 'M' : 'L'}${left.toFixed(1)} ${top.toFixed(1)}`;
      up = false;
    }
    const dash = line.dashed ? ' stroke-dasharray="5 3"' : '';
    return `<path d="${path}" fill="none" stroke="${colours.series[line.colour % colours.series.length]}" stroke-width="1.25"${dash}/>`;
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const x = min + share * (max - min);
    const left = plot.valToPos(x, 'x', true) / devicePixelRatio;
    return `<text x="${left.toFixed(1)}" y="${height - 4}" text-anchor="middle">${shown(x, 's')}</text>`;
  });
  const [low, high] = [plot.scales.y?.min ?? 0, plot.scales.y?.max ?? 1];
  const levels = [low, (low + high) / 2, high].map((y) => {
    const top = plot.valToPos(y, 'y', true) / devicePixelRatio + 24;
    return `<text x="${LEFT - 6}" y="${(top + 4).toFixed(1)}" text-anchor="end">${shown(y, curves.unit)}</text>`;
  });
  const key = curves.lines.map(({ label }) => label).join(', ');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11" fill="${colours.text}">`
    + `<rect width="100%" height="100%" fill="${colours.surface}"/><text x="8" y="16" font-size="13">${escaped(`${curves.title}: ${key}`)}</text>`
    + `${paths.join('')}${ticks.join('')}${levels.join('')}</svg>`;
}
