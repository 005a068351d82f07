// What the page shows, in one place; whoever shows a part of it is told when that part changes.
import type { Checked, Files, Globe, Outcome } from './core/messages';

export type Name = 'a' | 'b';

export interface Side {
  label: string;
  toml: string;
  /** Of the text, once the core has read it. */
  checked?: Checked;
  refused?: { message: string; field: string; line: number | null };
  outcome?: Outcome;
  globe?: Globe | null;
  /** The run that `outcome` belongs to, or is coming. */
  ran?: string;
}

export type Topic = 'scenario' | 'outcome' | 'time' | 'window' | 'progress' | 'flow' | 'theme' | 'seeds';

export class Store {
  sides: { a: Side; b?: Side } = { a: { label: 'A', toml: '' } };
  /** The scenario that is edited and seen on the globe. */
  active: Name = 'a';
  seed = 1;
  /** Simulated seconds: what globe and panels point at. */
  time = 0;
  /** The part of the run that the panels show; null for all of it. */
  window: [number, number] | null = null;
  /** The flow that panels of one flow show. */
  flow = 0;
  /** The share of the run that is done, while one goes on. */
  progress: number | null = null;
  files: Files = {};
  /** The question that was chosen. */
  question: string | null = null;

  private readonly listeners = new Map<Topic, Set<() => void>>();

  get side(): Side {
    return this.sides[this.active] ?? this.sides.a;
  }

  /** Simulated seconds of the longest run. */
  get duration(): number {
    const of = (side?: Side) => side?.outcome?.summary.simulated_s ?? 0;
    return Math.max(of(this.sides.a), of(this.sides.b)) || 1;
  }

  /** The seconds that the panels show. */
  get span(): [number, number] {
    return this.window ?? [0, this.duration];
  }

  on(topics: Topic[], listener: () => void): void {
    for (const topic of topics) {
      const listeners = this.listeners.get(topic) ?? new Set();
      this.listeners.set(topic, listeners.add(listener));
    }
  }

  changed(...topics: Topic[]): void {
    const told = new Set<() => void>();
    for (const topic of topics) for (const listener of this.listeners.get(topic) ?? []) told.add(listener);
    for (const listener of told) listener();
  }

  setTime(seconds: number): void {
    this.time = Math.min(Math.max(seconds, 0), this.duration);
    this.changed('time');
  }

  setWindow(window: [number, number] | null): void {
    if (window && window[1] - window[0] < 1e-3) return;
    this.window = window && [Math.max(window[0], 0), Math.min(window[1], this.duration)];
    this.changed('window');
  }
}
