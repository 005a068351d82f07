// The key numbers of both scenarios, their difference, and intervals over seeds.
import { Cancelled, type Core } from './core/client';
import type { About, Run, Summary } from './core/messages';
import { h } from './dom';
import { KEYS, type Key } from './keys';
import { digits, shown } from './numbers';
import { QUESTIONS } from './gallery';
import { estimate, type Estimate } from './statistics';
import type { Name, Store } from './store';

/** Seeds at least and at most. */
const LEAST = 4;
const MOST = 24;

export class Numbers {
  private readonly body = h('tbody');
  private readonly head = h('tr');
  private readonly seeds = h('button', { type: 'button' }, 'Over seeds');
  private readonly note = h('p', { className: 'note', 'aria-live': 'polite' });
  private readonly warnings = h('ul', { className: 'warnings' });
  private found: Record<Name, Summary[]> = { a: [], b: [] };
  private running = false;

  constructor(
    root: HTMLElement,
    private readonly store: Store,
    private readonly core: Core,
    private readonly about: () => About | undefined,
    private readonly scenario: (name: Name) => Pick<Run, 'toml' | 'files'>,
  ) {
    root.append(
      h('div', { className: 'bar' }, h('h2', {}, 'Key numbers'), this.seeds),
      h('div', { className: 'scroll' }, h('table', {}, h('thead', {}, this.head), this.body)),
      this.note,
      this.warnings,
    );
    this.seeds.addEventListener('click', () => (this.running ? this.stop() : void this.replicate()));
    store.on(['scenario'], () => this.forget());
    store.on(['outcome', 'seeds'], () => this.draw());
  }

  private forget(): void {
    const texts = JSON.stringify([this.store.sides.a.toml, this.store.sides.b?.toml]);
    if (texts === this.head.dataset.texts) return;
    this.head.dataset.texts = texts;
    if (this.running) this.stop();
    this.found = { a: [], b: [] };
    this.note.textContent = '';
    this.draw();
  }

  private stop(): void {
    this.running = false;
    this.core.cancel();
  }

  /** Runs both with the same seeds, until the difference that the question is about is clear, or the seeds are used up. */
  private async replicate(): Promise<void> {
    const { store } = this;
    const names = (['a', 'b'] as const).filter((name) => store.sides[name]);
    const key = KEYS.find(({ id }) => id === (QUESTIONS.find(({ id }) => id === store.question)?.metric ?? 'goodput')) ?? KEYS[0];
    this.running = true;
    this.seeds.textContent = 'Stop';
    this.found = { a: [], b: [] };
    try {
      for (let seed = 1; seed <= MOST && this.running; seed++) {
        for (const name of names) {
          this.note.textContent = `Seed ${seed} of at most ${MOST}, scenario ${name.toUpperCase()} …`;
          const { summary } = await this.core.run({ ...this.scenario(name), seed, tables: [] });
          this.found[name].push(summary);
        }
        store.changed('seeds');
        if (seed >= LEAST && key && this.clear(key, names)) break;
      }
      const seeds = Math.min(...names.map((name) => this.found[name].length));
      this.note.textContent = `Mean and 95 % interval of ${seeds} seeds${names.length > 1 ? ', the same for both' : ''}.`;
    } catch (error) {
      this.note.textContent = error instanceof Cancelled ? 'Stopped.' : String(error instanceof Error ? error.message : error);
    }
    this.running = false;
    this.seeds.textContent = 'Over seeds';
    this.draw();
  }

  /** Whether the difference is clear; of one scenario, whether its mean is within a tenth. */
  private clear(key: Key, names: readonly Name[]): boolean {
    const found = names.length > 1 ? this.difference(key) : this.over(key, 'a');
    if (!found) return true;
    return names.length > 1 ? Math.abs(found.mean) > found.half : found.half < Math.abs(found.mean) / 10;
  }

  private over(key: Key, name: Name): Estimate | null {
    const values = this.found[name].map(key.of).filter((value): value is number => value !== null);
    return values.length > 1 ? estimate(values) : null;
  }

  /** Of pairs with the same seed. */
  private difference(key: Key): Estimate | null {
    const pairs = this.found.a.map((summary, place) => [key.of(summary), this.found.b[place] && key.of(this.found.b[place])]);
    const values = pairs.filter((pair): pair is [number, number] => typeof pair[0] === 'number' && typeof pair[1] === 'number').map(([a, b]) => b - a);
    return values.length > 1 ? estimate(values) : null;
  }

  private draw(): void {
    const { a, b } = this.store.sides;
    const columns = this.about()?.columns.summary.find(({ name }) => name === 'flows')?.below ?? [];
    this.head.replaceChildren(
      h('th', { scope: 'col' }, ''),
      h('th', { scope: 'col' }, b ? `A: ${a.label}` : 'This run'),
      ...(b ? [h('th', { scope: 'col' }, `B: ${b.label}`), h('th', { scope: 'col' }, 'B − A')] : []),
    );
    const metric = QUESTIONS.find(({ id }) => id === this.store.question)?.metric;
    const rows = KEYS.flatMap((key) => {
      const [of, other] = [a.outcome ? key.of(a.outcome.summary) : null, b?.outcome ? key.of(b.outcome.summary) : null];
      if (of === null && other === null) return [];
      const meaning = columns.find(({ name }) => name === key.column)?.meaning;
      const cells = [cell(key, of, this.over(key, 'a'))];
      if (b) {
        cells.push(cell(key, other, this.over(key, 'b')));
        cells.push(cell(key, of !== null && other !== null ? other - of : null, this.difference(key), true));
      }
      return [h('tr', { className: key.id === metric ? 'asked' : '' }, h('th', { scope: 'row', title: meaning }, key.label), ...cells)];
    });
    this.body.replaceChildren(...rows);
    // Once both are there: they would move with the table above them.
    const complete = Object.values(this.store.sides).every(({ outcome }) => outcome);
    const warnings = [...new Set([a, b].flatMap((side) => side?.outcome?.summary.warnings ?? []))];
    this.warnings.replaceChildren(...warnings.slice(0, complete ? 4 : 0).map((warning) => h('li', {}, warning)));
    this.seeds.disabled = !a.outcome && !this.running;
  }
}

function cell(key: Key, value: number | null, over: Estimate | null, signed = false): HTMLElement {
  if (!over) {
    const text = key.whole && value !== null ? value.toLocaleString('en').replace('-', '−') : shown(value, key.unit);
    return h('td', {}, signed && value !== null && value > 0 ? `+${text}` : text);
  }
  const clear = signed && Math.abs(over.mean) > over.half;
  const sign = signed && over.mean > 0 ? '+' : '';
  return h('td', { className: clear ? 'clear' : '' }, `${sign}${interval(over, key.unit)}`);
}

/** A mean and half of its interval, in the same unit, to the digit that the interval leaves. */
function interval({ mean, half }: Estimate, unit: string): string {
  const text = shown(Math.max(Math.abs(mean), half), unit);
  const [, , suffix = ''] = /^([-\d.,]+)\s*(.*)$/.exec(text) ?? [];
  const scale = { G: 1e9, M: 1e6, k: 1e3, m: 1e-3, µ: 1e-6 }[suffix.length > unit.length ? (suffix[0] ?? '') : ''] ?? 1;
  return `${digits(mean / scale)} ± ${digits(half / scale, 2)}${suffix && ' '}${suffix}`;
}
