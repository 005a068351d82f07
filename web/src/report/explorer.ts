// A chart of a measure over one axis of a sweep; the reader chooses the measure, the axes, and what is held.
import type { Axis, Curves, Line } from '../chart/curves';
import { h } from '../dom';
import type { ExplorerSpec } from './data';

type Interval = [number, number, number];

export class Explorer {
  readonly choosers = h('div', { className: 'choosers' });
  private measure = 0;
  private x: number;
  /** The axis that has a curve for each of its values; -1 for none. */
  private by: number;
  private readonly held: number[];

  constructor(private readonly spec: ExplorerSpec, private readonly changed: (curves: Curves) => void) {
    this.x = spec.axes.findIndex(({ numeric }) => numeric);
    this.by = spec.axes.length > 1 ? spec.axes.findIndex((_, index) => index !== this.x) : -1;
    this.held = spec.axes.map(() => 0);
    this.controls();
  }

  private controls(): void {
    const { axes, measures } = this.spec;
    const numeric = axes.flatMap((axis, index) => (axis.numeric ? [[index, axis.label] as const] : []));
    const others = axes.flatMap((axis, index) => (index === this.x ? [] : [[index, axis.label] as const]));
    this.choosers.replaceChildren(
      this.choose('Show', measures.map(({ label }, index) => [index, label]), this.measure, (value) => (this.measure = value)),
      this.choose('over', numeric, this.x, (value) => {
        if (value === this.by) this.by = this.x;
        this.x = value;
      }),
      ...(others.length ? [this.choose('a curve for each', others, this.by, (value) => (this.by = value))] : []),
      ...axes.flatMap(({ label, values }, index) => (index === this.x || index === this.by ? []
        : [this.choose(label, values.map((value, place) => [place, String(value)]), this.held[index] ?? 0, (value) => (this.held[index] = value))])),
    );
  }

  private choose(label: string, options: (readonly [number, string])[], value: number, change: (value: number) => void): HTMLElement {
    const select = h('select', {}, ...options.map(([key, text]) => h('option', { value: String(key), selected: key === value }, text)));
    select.addEventListener('change', () => {
      change(Number(select.value));
      this.controls();
      this.changed(this.curves());
    });
    return h('label', {}, `${label} `, select);
  }

  curves(): Curves {
    const { axes, measures, points } = this.spec;
    const axis = axes[this.x];
    const xs = (axis?.values ?? []).map((value, place) => [Number(value), place] as const).sort((a, b) => a[0] - b[0]);
    const found = new Map(points.map(([places, values]) => [places.join(), values[this.measure] ?? null]));
    const measured = (curve: number, x: number): Interval | null => {
      const places = [...this.held];
      places[this.x] = x;
      if (this.by >= 0) places[this.by] = curve;
      return found.get(places.join()) ?? null;
    };
    const values = this.by < 0 ? [measures[this.measure]?.label ?? ''] : (axes[this.by]?.values ?? []);
    const lines = values.map((value, curve): Line => {
      const row = xs.map(([, place]) => measured(curve, place));
      return {
        label: this.by < 0 ? String(value) : `${axes[this.by]?.label} ${value}`,
        values: row.map((one) => (one ? one[0] : null)),
        intervals: row.map((one) => one && [one[1], one[2]]),
        colour: curve,
        dashed: curve >= 8,
      };
    });
    const [first, last] = [xs[0]?.[0] ?? 0, xs.at(-1)?.[0] ?? 1];
    const shown: Axis = { label: axis?.label ?? '', log: xs.length > 2 && first > 0 && last / first >= 40 };
    if (xs.length <= 14) shown.ticks = xs.map(([x]) => x);
    return {
      id: 'sweep', title: measures[this.measure]?.label ?? '', unit: '', axis: shown, x: xs.map(([x]) => x),
      // A curve without a value, such as one whose runs all failed, has no place in the legend.
      lines: lines.filter((line) => Array.from(line.values).some((one) => one !== null)),
    };
  }
}

/** All of its axis, with room for the first and the last point. */
export function whole({ x, axis }: Curves): [number, number] {
  const [first, last] = [x[0] ?? 0, x[x.length - 1] ?? 1];
  if (axis?.log) return [first / 1.15, last * 1.15];
  const room = 0.04 * (last - first) || 1;
  return [first - room, last + room];
}
