// The time line: all charts over one axis, with one cursor, one window and one instant.
import { Chart, type Hooks } from './chart/chart';
import { curves } from './chart/panels';
import type { About } from './core/messages';
import { h } from './dom';
import { Events, type Happening } from './events';
import { shown } from './numbers';
import type { Store } from './store';

export class Timeline {
  readonly events: Events;
  private readonly charts = new Map<string, Chart>();
  private readonly area = h('div', { className: 'charts' });
  private readonly where = h('output', { className: 'where' });
  private readonly slider = h('input', { type: 'range', min: '0', max: '1000', value: '0', step: '1', id: 'time', 'aria-label': 'Time' });
  private readonly flows = h('select', { 'aria-label': 'Flow' });
  private readonly empty = h('p', { className: 'note', hidden: true }, 'This run kept no series: record.series is off. ');
  private readonly whole = h('button', { type: 'button', disabled: true }, 'Whole run');
  private readonly hooks: Hooks;

  constructor(root: HTMLElement, private readonly store: Store, about: () => About | undefined, chosen: (event: Happening) => void, record: () => void) {
    this.empty.append(h('button', { type: 'button', onclick: record }, 'Keep them'));
    this.hooks = {
      onWindow: (from, to) => store.setWindow([from, to]),
      onTime: (seconds) => store.setTime(seconds),
      onPoint: (seconds) => this.pointed(seconds),
      onAll: () => store.setWindow(null),
      time: () => store.time,
    };
    this.events = new Events(store, about, chosen);
    this.slider.addEventListener('input', () => {
      const [from, to] = store.span;
      store.setTime(from + (Number(this.slider.value) / 1000) * (to - from));
    });
    this.whole.addEventListener('click', () => store.setWindow(null));
    this.flows.addEventListener('change', () => {
      store.flow = Number(this.flows.value);
      store.changed('flow');
    });
    root.append(
      h('div', { className: 'bar' }, h('h2', {}, 'Time line'), this.flows, this.whole, this.where),
      h('div', { className: 'slide' }, this.slider),
      this.events.lane,
      this.empty,
      this.area,
      this.events.list,
    );
    store.on(['outcome', 'flow', 'theme'], () => this.draw());
    store.on(['window'], () => this.window());
    store.on(['time'], () => this.time());
    new ResizeObserver(() => {
      for (const chart of this.charts.values()) chart.resize();
      this.events.draw();
    }).observe(this.area);
  }

  private draw(): void {
    const all = curves(this.store);
    this.empty.hidden = all.length > 0 || !this.store.side.outcome;
    for (const [id, chart] of this.charts) {
      if (all.some((one) => one.id === id)) continue;
      chart.destroy();
      this.charts.delete(id);
    }
    for (const one of all) {
      const chart = this.charts.get(one.id) ?? new Chart(this.hooks);
      this.charts.set(one.id, chart);
      this.area.append(chart.element);
      chart.show(one, this.store.span);
    }
    this.offer();
    this.window();
  }

  /** The flows to choose from, where there are several. */
  private offer(): void {
    const flows = this.store.side.outcome?.summary.flows ?? [];
    this.flows.hidden = flows.length < 2;
    if (this.flows.options.length !== Math.min(flows.length, 500)) {
      this.flows.replaceChildren(...flows.slice(0, 500).map((flow) => h('option', { value: String(flow.id) }, `flow ${flow.id}, user ${flow.user}`)));
    }
    this.flows.value = String(Math.min(this.store.flow, flows.length - 1));
  }

  private window(): void {
    for (const chart of this.charts.values()) chart.window(this.store.span);
    this.whole.disabled = this.store.window === null;
    this.time();
  }

  /** Where the pointer is; without it the instant that everything points at. */
  private pointed(seconds: number | null): void {
    const [from, to] = this.store.span;
    const digits = to - from < 20 ? 3 : 1;
    if (seconds === null) this.time();
    else this.where.textContent = `pointer at ${seconds.toFixed(digits)} s`;
  }

  private time(): void {
    const [from, to] = this.store.span;
    this.where.textContent = `${this.store.time.toFixed(to - from < 20 ? 3 : 1)} s of ${shown(this.store.duration, 's')}`;
    this.slider.value = String(Math.round(((this.store.time - from) / (to - from)) * 1000));
    this.slider.setAttribute('aria-valuetext', `${this.store.time.toFixed(1)} seconds`);
    for (const chart of this.charts.values()) chart.redraw();
  }
}
