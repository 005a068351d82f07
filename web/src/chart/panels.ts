// What of a run is shown over time: the series of the core as curves.
import type { Table } from '../core/host.js';
import type { Outcome } from '../core/messages';
import type { Store } from '../store';
import type { Curves, Line } from './curves';

/** The columns of one flow, over the instants of the series. */
export interface Series {
  time: Float64Array;
  flows: number;
  of: (column: string, flow: number) => Float64Array | null;
}

/** The series of a run: its rows are instants, and within them flows. */
export function series(table: Table): Series {
  const flow = table.numbers.flow ?? new Float64Array();
  const instants = table.numbers.time_s ?? new Float64Array();
  let flows = 0;
  while (flows < table.rows && instants[flow.length ? flows : 0] === instants[0]) flows++;
  flows = Math.max(flows, 1);
  const known = new Map<string, Float64Array>();
  const of = (column: string, flow: number): Float64Array | null => {
    const values = table.numbers[column];
    if (!values || flow >= flows) return null;
    const key = `${column} ${flow}`;
    const before = known.get(key);
    if (before) return before;
    const picked = new Float64Array(Math.floor(table.rows / flows));
    for (let place = 0; place < picked.length; place++) picked[place] = values[place * flows + flow] ?? NaN;
    known.set(key, picked);
    return picked;
  };
  return { time: of('time_s', 0) ?? new Float64Array(), flows, of };
}

interface Panel {
  id: string;
  title: string;
  unit: string;
  lines: (series: Series, outcome: Outcome, flow: number) => [string, Float64Array | null][];
  /** Names of lines that are not drawn until their button is pressed. */
  hidden?: string[];
}

const ORDINALS = ['1st', '2nd', '3rd', '4th', '5th', '6th', '7th', '8th'];
/** Users whose goodput has a curve of its own. */
const USERS = 6;

function map(values: Float64Array | null, change: (value: number) => number): Float64Array | null {
  return values && values.map(change);
}

function total(series: Series, column: string): Float64Array | null {
  const sum = series.of(column, 0)?.slice();
  if (!sum) return null;
  for (let flow = 1; flow < series.flows; flow++) series.of(column, flow)?.forEach((value, place) => (sum[place] = (sum[place] ?? 0) + value));
  return sum;
}

const PANELS: Panel[] = [
  {
    id: 'goodput', title: 'Goodput', unit: 'bit/s',
    lines: (series, outcome, flow) => {
      const user = (flow: number) => `user ${outcome.summary.flows[flow]?.user ?? flow}`;
      if (series.flows === 1) return [['goodput', series.of('goodput_bps', 0)]];
      const first = series.flows <= USERS ? [...Array(series.flows).keys()] : [flow];
      return [['all flows', total(series, 'goodput_bps')], ...first.map((flow): [string, Float64Array | null] => [user(flow), series.of('goodput_bps', flow)])];
    },
  },
  {
    id: 'window', title: 'Window and packets in flight', unit: 'packets',
    lines: (series, _, flow) => [
      ['cwnd', series.of('cwnd_packets', flow)],
      ['in flight', series.of('in_flight_packets', flow)],
    ],
  },
  {
    // The timeout begins with seconds, before it is measured: it would press the others to the floor.
    id: 'rtt', title: 'Round-trip time', unit: 's', hidden: ['retransmission timeout'],
    lines: (series, _, flow) => [
      ['smoothed', series.of('srtt_s', flow)],
      ['retransmission timeout', series.of('rto_s', flow)],
      ['path, both ways', map(series.of('path_delay_s', 0), (delay) => 2 * delay)],
    ],
  },
  {
    id: 'again', title: 'Retransmitted', unit: 'packets',
    lines: (series, _, flow) => [['retransmissions', series.of('retransmitted_packets', flow)]],
  },
  { id: 'queue', title: 'Queue of the last hop', unit: 'packets', lines: (series) => [['waiting', series.of('queue_packets', 0)]] },
  {
    id: 'reordering', title: 'Reordering buffers', unit: 'packets',
    lines: (series) => [['held back', series.of('reordering_packets', 0)]],
  },
  {
    id: 'harq', title: 'HARQ: decoded with transmission', unit: 'packets',
    lines: (series) => [...Array(8).keys()].map((n): [string, Float64Array | null] => [ORDINALS[n] ?? '', series.of(`decoded_after_${n + 1}`, 0)])
      .concat([['given up', series.of('harq_failed', 0)]])
      .filter(([, values]) => values?.some((value) => value > 0)) as [string, Float64Array | null][],
  },
  {
    id: 'snr', title: 'Signal to noise, and fade', unit: 'dB',
    lines: (series, { summary }, flow) => {
      // A mean tells nothing of an instant.
      const reference = summary.channel.reference_varies ? null : summary.channel.reference_snr_db;
      const fade = series.of('attenuation_db', flow);
      if (!fade?.some((attenuation) => attenuation !== 0)) return [];
      if (reference === null || reference === undefined) return [['fade', fade]];
      return [['Es/N0', map(fade, (attenuation) => reference - attenuation)], ['fade', fade]];
    },
  },
  {
    id: 'access', title: 'Slots of the return link', unit: '',
    lines: (series) => [
      ['random', series.of('random_slots', 0)],
      ['granted', series.of('granted_slots', 0)],
      ['used', series.of('used_slots', 0)],
    ],
  },
];

/** The curves of what has been run; those of the second scenario are dashed. */
export function curves(store: Store): Curves[] {
  const { a, b } = store.sides;
  const runs = [a, b].filter((side) => side?.outcome?.tables.series).map((side) => side as typeof a & { outcome: Outcome });
  if (!runs.length) return [];
  const many = runs.length > 1;
  const found = runs.map(({ outcome, label }) => ({ outcome, label, series: seriesOf(outcome) }));
  const grid = found.reduce<Float64Array>((longest, { series }) => (series.time.length > longest.length ? series.time : longest), new Float64Array());
  return PANELS.flatMap((panel) => {
    const lines: Line[] = found.flatMap(({ outcome, label, series }, side) =>
      panel.lines(series, outcome, Math.min(store.flow, series.flows - 1))
        .filter((line): line is [string, Float64Array] => line[1] !== null && line[1].some((value) => !Number.isNaN(value)))
        .map(([name, values], place, { length }) => ({
          label: many ? `${side ? 'B' : 'A'}: ${panel.id === 'goodput' && length === 1 ? label : name}` : name,
          values: onGrid(series.time, values, grid),
          // A quantity has its colour in both; where there is only one, each scenario has its own.
          colour: length > 1 ? place : side,
          dashed: side > 0,
          hidden: panel.hidden?.includes(name),
        })),
    );
    // Where nothing ever was there is nothing to see: a call has no window.
    const says = lines.some(({ values }) => Array.from(values).some(Boolean));
    return says ? [{ id: panel.id, title: panel.title, unit: panel.unit, x: grid, lines }] : [];
  });
}

const made = new WeakMap<Outcome, Series>();

export function seriesOf(outcome: Outcome): Series {
  const before = made.get(outcome);
  if (before) return before;
  const fresh = series(outcome.tables.series as Table);
  made.set(outcome, fresh);
  return fresh;
}

/** Values at the instants of another series: the last before each; null is a gap. */
function onGrid(time: Float64Array, values: Float64Array, grid: Float64Array): (number | null)[] {
  const found: (number | null)[] = new Array(grid.length);
  let place = 0;
  for (let at = 0; at < grid.length; at++) {
    const instant = grid[at] ?? 0;
    while (place + 1 < time.length && (time[place + 1] ?? Infinity) <= instant + 1e-9) place++;
    const value = values[place];
    found[at] = value === undefined || Number.isNaN(value) || instant > (time[time.length - 1] ?? 0) + 1e-9 ? null : value;
  }
  return found;
}
