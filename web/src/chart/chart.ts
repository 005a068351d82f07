// The one chart of the project: lines over an axis that charts share, on the page and in reports.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import './chart.css';
import { download, h } from '../dom';
import { shown } from '../numbers';
import { at, headed, type Curves } from './curves';
import { Legend } from './legend';
import { axes, bands, mark, RIGHT, scales, series, whiskers } from './options';
import { saving } from './menu';
import { palette } from './palette';
import { csv, png, svg } from './save';
import { touch } from './touch';

export interface Hooks {
  /** The user has dragged over a part of the axis. */
  onWindow: (from: number, to: number) => void;
  /** The user chooses an instant. */
  onTime: (instant: number) => void;
  /** The pointer is at an instant, or has left. */
  onPoint?: (instant: number | null) => void;
  /** The user asks for everything. */
  onAll: () => void;
  /** What the vertical line marks; NaN for nothing. */
  time: () => number;
}

export interface Look {
  height?: number;
  /** Charts with the same word share their cursor. */
  cursor?: string;
}

export class Chart {
  readonly element: HTMLElement;
  plot: uPlot | undefined;
  private readonly area: HTMLElement;
  private readonly legend = new Legend((line) => this.toggle(line));
  private readonly caption = h('h3');
  private readonly height: number;
  private readonly cursor: uPlot.SyncPubSub;
  /** Lines that the user has hidden or shown, by name. */
  private readonly chosen = new Map<string, boolean>();
  private curves: Curves | undefined;
  private names = '';

  constructor(private readonly hooks: Hooks, { height = 132, cursor = 'time' }: Look = {}) {
    this.height = height;
    this.cursor = uPlot.sync(cursor);
    this.area = h('div', { className: 'area', tabIndex: 0, role: 'img' });
    this.area.style.height = `${height}px`;
    const menu = saving('Save this chart', ['PNG', 'SVG', 'CSV'], (kind) => this.save(kind));
    this.element = h('figure', { className: 'chart' }, h('figcaption', {}, this.caption, this.legend.element, menu), this.area);
    this.area.addEventListener('keydown', (event) => this.key(event));
    this.area.addEventListener('dblclick', () => hooks.onAll());
    // Within reach of the browser's console, and of tests.
    Object.defineProperty(this.element, 'plot', { get: () => this.plot });
  }

  /** Shows these curves between two instants. */
  show(curves: Curves, [from, to]: [number, number]): void {
    this.curves = curves;
    this.caption.replaceChildren(headed(curves), curves.href ? h('a', { className: 'what', href: curves.href }, 'definition') : '');
    this.element.dataset.chart = curves.id;
    this.area.setAttribute('aria-label', this.described());
    const names = JSON.stringify([curves.lines.map(({ values, intervals, ...line }) => [line, Boolean(values && intervals)]), curves.unit, curves.axis, curves.floor, palette().text]);
    const data = [curves.x, ...curves.lines.map((line) => line.values)] as unknown as uPlot.AlignedData;
    if (this.plot && this.names === names) {
      this.plot.setData(data, false);
    } else {
      this.drop();
      this.names = names;
      this.plot = new uPlot(this.options(curves), data, this.area);
      this.cursor.sub(this.plot);
    }
    this.legend.show(curves, (line) => this.hides(line));
    this.plot.setScale('x', { min: from, max: to });
  }

  window([from, to]: [number, number]): void {
    this.plot?.setScale('x', { min: from, max: to });
  }

  redraw(): void {
    this.plot?.redraw(false);
  }

  /** After a change of the theme: a chart has the colours in which it was made. */
  repaint(): void {
    const { min, max } = this.plot?.scales.x ?? {};
    if (this.curves && min !== undefined && max !== undefined) this.show(this.curves, [min, max]);
  }

  resize(): void {
    const width = this.area.clientWidth;
    if (this.plot && width > 0 && Math.abs(width - this.plot.width) > 1) this.plot.setSize({ width, height: this.height });
  }

  destroy(): void {
    this.drop();
    this.element.remove();
  }

  private drop(): void {
    if (this.plot) this.cursor.unsub(this.plot);
    this.plot?.destroy();
    this.plot = undefined;
  }

  private hides(line: number): boolean {
    const { label, hidden } = this.curves?.lines[line] ?? {};
    return !(this.chosen.get(label ?? '') ?? !hidden);
  }

  private toggle(line: number): void {
    const { curves } = this;
    if (!curves) return;
    this.chosen.set(curves.lines[line]?.label ?? '', this.hides(line));
    this.plot?.setSeries(line + 1, { show: !this.hides(line) });
    this.legend.element.querySelectorAll('button')[line]?.setAttribute('aria-pressed', String(!this.hides(line)));
  }

  private options(curves: Curves): uPlot.Options {
    const lines = curves.lines.map((line, place) => ({ ...line, hidden: this.hides(place) }));
    return {
      width: Math.max(this.area.clientWidth, 200),
      height: this.height,
      padding: [6, RIGHT, 0, 0],
      legend: { show: false },
      scales: scales(curves),
      axes: axes(curves),
      series: [{}, ...series(lines)],
      bands: bands(lines),
      cursor: {
        y: false,
        sync: { key: this.cursor.key, setSeries: false, scales: ['x', null] },
        drag: { x: true, y: false, setScale: false },
        points: { size: 5 },
      },
      hooks: {
        setCursor: [(plot) => this.pointed(plot)],
        setSelect: [(plot) => this.selected(plot)],
        draw: [(plot) => whiskers(plot, curves), (plot) => mark(plot, this.hooks.time())],
        ready: [(plot) => this.listen(plot)],
      },
    };
  }

  private listen(plot: uPlot): void {
    touch(plot, this.hooks);
    plot.over.addEventListener('click', () => {
      const { left } = plot.cursor;
      if (left !== undefined && left >= 0 && plot.select.width < 3) this.hooks.onTime(plot.posToVal(left, 'x'));
    });
  }

  private pointed(plot: uPlot): void {
    const { idx, left } = plot.cursor;
    this.legend.tell(idx ?? null);
    this.hooks.onPoint?.(left !== undefined && left >= 0 ? plot.posToVal(left, 'x') : null);
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const window: [number, number] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.hooks.onWindow(...window);
  }

  /** What a chart says to those who do not see it. */
  private described(): string {
    const { curves } = this;
    if (!curves) return '';
    const told = curves.lines.map(({ label }, line) => {
      let [low, high, sum, count] = [Infinity, -Infinity, 0, 0];
      for (let place = 0; place < curves.x.length; place++) {
        const value = at(curves, line, place);
        if (value !== null) [low, high, sum, count] = [Math.min(low, value), Math.max(high, value), sum + value, count + 1];
      }
      if (!count) return `${label}: nothing`;
      return `${label}: mean ${shown(sum / count, curves.unit)}, from ${shown(low, curves.unit)} to ${shown(high, curves.unit)}`;
    });
    return `${curves.title}. ${told.join('; ')}. Arrow keys move the time, plus and minus change the window.`;
  }

  private key(event: KeyboardEvent): void {
    const { min: from = 0, max: to = 1 } = this.plot?.scales.x ?? {};
    const span = to - from;
    const marked = this.hooks.time();
    const now = marked >= from && marked <= to ? marked : from + span / 2;
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

  private async save(kind: 'PNG' | 'SVG' | 'CSV'): Promise<void> {
    const { curves, plot } = this;
    if (!curves || !plot) return;
    const name = `transorbit-${curves.id}.${kind.toLowerCase()}`;
    if (kind === 'CSV') return download(name, csv(curves, plot), 'text/csv');
    if (kind === 'SVG') return download(name, svg(curves, plot), 'image/svg+xml');
    const picture = await png(curves, plot);
    if (picture) download(name, picture);
  }
}
