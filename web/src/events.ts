// Handovers, time-outs and losses: a lane over the charts, and a list for the keyboard.
import { LEFT, RIGHT } from './chart/options';
import { palette } from './chart/palette';
import type { About, Outcome } from './core/messages';
import { h } from './dom';
import { shown } from './numbers';
import type { Store } from './store';

export interface Happening {
  time: number;
  what: string;
  cause: string | null;
  flow: number | null;
  /** Of a packet that is lost. */
  number: number | null;
}

const LANES = ['handover', 'timeout', 'lost'] as const;
const ROW = 14;
/** The list shows so many at most. */
const MOST = 200;

/** The events of a run, in their order. */
export function happenings(outcome: Outcome | undefined): Happening[] {
  const table = outcome?.tables.events;
  if (!table) return [];
  const { event, cause } = table.texts;
  const { time_s, flow, number } = table.numbers;
  if (!event || !cause || !time_s || !flow || !number) return [];
  const known = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? null : value);
  return Array.from({ length: table.rows }, (_, row) => ({
    time: time_s[row] ?? 0,
    what: event.words[event.codes[row] ?? -1] ?? '',
    cause: cause.words[cause.codes[row] ?? -1] ?? null,
    flow: known(flow[row]),
    number: known(number[row]),
  }));
}

export class Events {
  readonly lane: HTMLElement;
  readonly list: HTMLElement;
  private readonly canvas = h('canvas', { className: 'lane', 'aria-hidden': 'true' });
  private readonly items = h('ol');
  private readonly count = h('summary', {}, 'Events');
  private all: Happening[] = [];

  constructor(
    private readonly store: Store,
    private readonly about: () => About | undefined,
    private readonly chosen: (event: Happening) => void,
  ) {
    this.lane = h('div', { className: 'events' }, this.canvas);
    this.list = h('details', { className: 'list', hidden: true }, this.count, this.items);
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('mousemove', (event) => {
      const near = this.near(event);
      this.canvas.style.cursor = near ? 'pointer' : 'default';
      this.canvas.title = near ? this.words(near) : '';
    });
    this.list.addEventListener('toggle', () => this.fill());
    store.on(['outcome', 'window', 'theme', 'scenario'], () => this.draw());
    store.on(['time'], () => this.paint());
  }

  draw(): void {
    this.all = happenings(this.store.side.outcome);
    this.list.hidden = !this.store.side.outcome;
    this.paint();
    this.fill();
  }

  /** What happened, in words. */
  words(event: Happening): string {
    const cause = this.about()?.columns.reasons.find(({ name }) => name === event.cause)?.words ?? event.cause;
    const what: Record<string, string> = {
      handover: 'handover to another satellite',
      outage: 'no satellite serves',
      resumed: 'a satellite serves again',
      timeout: 'retransmission time-out',
      lost: `packet lost: ${cause}`,
    };
    const flow = event.flow !== null && this.store.side.outcome && this.store.side.outcome.summary.flows.length > 1 ? `, flow ${event.flow}` : '';
    return `${shown(event.time, 's')}: ${what[event.what] ?? event.what}${flow}`;
  }

  private within(): Happening[] {
    const [from, to] = this.store.span;
    return this.all.filter(({ time }) => time >= from && time <= to);
  }

  private paint(): void {
    const { canvas } = this;
    const [width, height] = [this.lane.clientWidth, ROW * LANES.length + 2];
    const ratio = devicePixelRatio;
    if (!width) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = canvas.getContext('2d');
    if (!context) return;
    const colours = palette();
    context.scale(ratio, ratio);
    context.font = '11px system-ui';
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillStyle = colours.muted;
    ['handover', 'time-out', 'loss'].forEach((name, row) => context.fillText(name, LEFT - 6, row * ROW + ROW / 2 + 1));
    const of: Record<string, string> = { handover: colours.series[2] ?? '', timeout: colours.series[1] ?? '', lost: colours.fate.lost };
    for (const event of this.within()) {
      const row = lane(event);
      context.fillStyle = of[LANES[row] ?? 'lost'] ?? '';
      const x = this.x(event.time, width);
      context.fillRect(x - 1, row * ROW + 2, 2, ROW - 3);
    }
    context.fillStyle = colours.now;
    const x = this.x(this.store.time, width);
    if (x >= LEFT && x <= width - RIGHT) context.fillRect(x - 0.5, 0, 1, height);
  }

  private x(seconds: number, width: number): number {
    const [from, to] = this.store.span;
    return LEFT + ((seconds - from) / (to - from)) * (width - LEFT - RIGHT);
  }

  private near({ offsetX, offsetY }: MouseEvent): Happening | null {
    const width = this.lane.clientWidth;
    const row = Math.floor(offsetY / ROW);
    let [best, found]: [number, Happening | null] = [8, null];
    for (const event of this.within()) {
      const away = Math.abs(this.x(event.time, width) - offsetX);
      if (lane(event) === row && away < best) [best, found] = [away, event];
    }
    return found;
  }

  private click(event: MouseEvent): void {
    const near = this.near(event);
    if (near) this.chosen(near);
  }

  private fill(): void {
    const within = this.within();
    this.count.textContent = `${within.length.toLocaleString('en')} events in this window`;
    if (!(this.list as HTMLDetailsElement).open) return;
    const shownOnes = within.slice(0, MOST);
    this.items.replaceChildren(
      ...shownOnes.map((event) => h('li', {}, h('button', { type: 'button', onclick: () => this.chosen(event) }, this.words(event)))),
    );
    if (within.length > MOST) this.items.append(h('li', {}, `… and ${within.length - MOST} more: choose a shorter window`));
  }
}

function lane({ what }: Happening): number {
  if (what === 'lost') return 2;
  return what === 'timeout' ? 1 : 0;
}
