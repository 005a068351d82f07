// The charts of a report: those over the same axis share cursor, window and instant.
import { Chart, type Hooks } from '../chart/chart';
import type { Curves, Line } from '../chart/curves';
import type { ChartSpec, Data } from './data';
import { Explorer, whole } from './explorer';

const HEIGHT = 165;
const EXPLORER_HEIGHT = 320;

interface Shown {
  chart: Chart;
  curves: Curves;
  /** All of its own axis. */
  whole: [number, number];
  /** After the reader has chosen another flow. */
  again?: () => Curves;
}

/** Charts over one axis. */
class Group implements Hooks {
  readonly charts: Shown[] = [];
  private instant = NaN;

  onWindow = (from: number, to: number): void => this.charts.forEach(({ chart }) => chart.window([from, to]));
  onAll = (): void => this.onWindow(...this.whole);
  time = (): number => this.instant;
  onTime = (instant: number): void => {
    this.instant = instant;
    this.charts.forEach(({ chart }) => chart.redraw());
  };

  /** From where the first chart begins to where the last one ends. */
  get whole(): [number, number] {
    return [Math.min(...this.charts.map(({ whole }) => whole[0])), Math.max(...this.charts.map(({ whole }) => whole[1]))];
  }

  add(shown: Shown, place: Element): void {
    this.charts.push(shown);
    place.append(shown.chart.element);
    shown.chart.show(shown.curves, shown.whole);
  }
}

export class Charts {
  private readonly groups = new Map<string, Group>();

  constructor(private readonly data: Data, private choice: string | undefined) {
    for (const place of document.querySelectorAll<HTMLElement>('[data-curves]')) {
      const spec = data.charts[Number(place.dataset.curves)];
      if (spec && 'explorer' in spec) this.explorer(spec.explorer, place);
      else if (spec) this.over(spec, place);
    }
    for (const group of this.groups.values()) group.onAll();
  }

  get all(): Shown[] {
    return [...this.groups.values()].flatMap(({ charts }) => charts);
  }

  private group(name: string): Group {
    const group = this.groups.get(name) ?? new Group();
    this.groups.set(name, group);
    return group;
  }

  private over(spec: ChartSpec, place: Element): void {
    const group = this.group(spec.x_label);
    const curves = this.curves(spec);
    const again = Object.keys(spec.choices).length ? () => this.curves(spec) : undefined;
    const chart = new Chart(group, { height: HEIGHT, cursor: spec.x_label });
    group.add({ chart, curves, whole: [curves.x[0] ?? 0, curves.x[curves.x.length - 1] ?? 1], again }, place);
  }

  private explorer(spec: ConstructorParameters<typeof Explorer>[0], place: Element): void {
    const group = this.group(`explorer ${this.groups.size}`);
    const chart = new Chart(group, { height: EXPLORER_HEIGHT, cursor: `explorer ${this.groups.size}` });
    const explorer = new Explorer(spec, (curves) => {
      Object.assign(shown, { curves, whole: whole(curves) });
      chart.show(curves, shown.whole);
    });
    const curves = explorer.curves();
    const shown: Shown = { chart, curves, whole: whole(curves) };
    place.append(explorer.choosers);
    group.add(shown, place);
  }

  private curves(spec: ChartSpec): Curves {
    const { columns } = this.data;
    const lines = spec.series.map(({ label, y, color = 0, shown = true, dash, ...look }): Line => (
      { ...look, label, values: columns[y] ?? [], colour: color, dashed: dash, hidden: !shown }
    ));
    const chosen = this.choice === undefined ? undefined : spec.choices[this.choice];
    if (chosen !== undefined) lines.push({ label: this.choice ?? '', values: columns[chosen] ?? [], colour: 3 });
    return {
      id: spec.title.toLowerCase().replace(/[^a-z0-9]+/g, '-'), title: spec.title, unit: spec.unit, note: spec.note, href: spec.href, axis: { label: spec.x_label },
      x: (columns[spec.x] ?? []) as number[], lines, floor: spec.floor, inverted: spec.inverted,
    };
  }

  /** The reader has chosen another flow. */
  choose(choice: string): void {
    this.choice = choice;
    for (const shown of this.all) {
      if (!shown.again) continue;
      const { min = 0, max = 1 } = shown.chart.plot?.scales.x ?? {};
      shown.curves = shown.again();
      shown.chart.show(shown.curves, [min, max]);
    }
  }

  repaint(): void {
    for (const { chart } of this.all) chart.repaint();
  }

  resize(): void {
    for (const { chart } of this.all) chart.resize();
  }
}
