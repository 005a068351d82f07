// The key numbers of a run, by which two scenarios are compared.
import type { Summary } from './core/messages';

export interface Key {
  id: string;
  /** Of the summary's column that it comes from; the label is the core's. */
  column: string;
  label: string;
  unit: string;
  /** A count. */
  whole?: boolean;
  of: (summary: Summary) => number | null;
}

function each(summary: Summary, column: string): number[] {
  return summary.flows.map((flow) => flow[column]).filter((value): value is number => typeof value === 'number');
}

function sum(column: string) {
  return (summary: Summary): number | null => {
    const values = each(summary, column);
    return values.length ? values.reduce((a, b) => a + b, 0) : null;
  };
}

function mean(column: string) {
  return (summary: Summary): number | null => {
    const values = each(summary, column);
    return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  };
}

export const KEYS: Key[] = [
  {
    id: 'goodput', column: 'goodput_bps', label: 'Goodput, all flows', unit: 'bit/s',
    of: (summary) => (8 * (sum('delivered_bytes')(summary) ?? 0)) / summary.simulated_s,
  },
  { id: 'rtt', column: 'rtt_mean_s', label: 'Mean round-trip time', unit: 's', of: mean('rtt_mean_s') },
  { id: 'delay', column: 'one_way_delay_mean_s', label: 'Mean one-way delay', unit: 's', of: mean('one_way_delay_mean_s') },
  { id: 'lost', column: 'loss_ratio', label: 'Packets lost', unit: '%', of: (summary) => percent(mean('loss_ratio')(summary)) },
  { id: 'again', column: 'retransmitted_packets', label: 'Retransmitted packets', unit: '', whole: true, of: sum('retransmitted_packets') },
  { id: 'spurious', column: 'spurious_retransmissions', label: 'of them needlessly', unit: '', whole: true, of: sum('spurious_retransmissions') },
  { id: 'timeouts', column: 'rto_events', label: 'Time-outs', unit: '', whole: true, of: sum('rto_events') },
  { id: 'mos', column: 'mos', label: 'Voice quality (MOS)', unit: '', of: mean('mos') },
  { id: 'completion', column: 'completion_s', label: 'Completed after', unit: 's', of: mean('completion_s') },
];

function percent(share: number | null): number | null {
  return share === null ? null : 100 * share;
}
