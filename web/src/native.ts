// What `transorbit view` serves beside the page: a result that the native core has computed, or a sweep's table.
import type { Table } from './core/host.js';
import type { Files, Outcome, Summary } from './core/messages';
import { h } from './dom';
import { shown } from './numbers';

export interface Native {
  title: string;
  toml: string;
  seed: number;
  files: Files;
  outcome?: Outcome;
  /** Of a sweep: a row for each run. */
  sweep?: { axes: string[]; rows: { point: Record<string, unknown>; seed: number; toml: string; values: Record<string, number | null> }[]; units: Record<string, string>; labels: Record<string, string> };
}

interface Told {
  title: string;
  toml: string;
  seed: number;
  files: Record<string, string>;
  summary?: Summary;
  tables?: Record<string, { numbers: Record<string, (number | null)[]>; texts: Record<string, (string | null)[]>; rows: number }>;
  sweep?: Native['sweep'];
}

/** What the local server has, if this page comes from one. */
export async function native(): Promise<Native | null> {
  if (!new URLSearchParams(location.search).has('view')) return null;
  const answer = await fetch('view.json');
  if (!answer.ok) return null;
  const { title, toml, seed, files, summary, tables, sweep } = (await answer.json()) as Told;
  const bytes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))]));
  const found = Object.fromEntries(Object.entries(tables ?? {}).map(([name, told]) => [name, table(told)]));
  return { title, toml, seed, files: bytes, sweep, ...(summary ? { outcome: { summary, tables: found, took_ms: 0, memory: 0 } } : {}) };
}

function table({ numbers, texts, rows }: NonNullable<Told['tables']>[string]): Table {
  const coded = Object.entries(texts).map(([name, values]) => {
    const words = [...new Set(values.filter((value): value is string => value !== null))].sort();
    return [name, { words, codes: Uint32Array.from(values, (value) => (value === null ? 0xffffffff : words.indexOf(value))) }] as const;
  });
  return {
    rows,
    numbers: Object.fromEntries(Object.entries(numbers).map(([name, values]) => [name, Float64Array.from(values, (value) => value ?? NaN)])),
    texts: Object.fromEntries(coded),
  };
}

/** The runs of a sweep to choose from. */
export function sweepTable({ axes, rows, units, labels }: NonNullable<Native['sweep']>, chosen: (row: NonNullable<Native['sweep']>['rows'][number]) => void): HTMLElement {
  const columns = Object.keys(rows[0]?.values ?? {});
  const head = h('tr', {}, ...[...axes, 'seed', ...columns].map((name) => h('th', { scope: 'col' }, labels[name] ?? name)), h('th', { scope: 'col' }, ''));
  const body = rows.map((row) => h(
    'tr', {},
    ...axes.map((axis) => h('th', { scope: 'row' }, String(row.point[axis]))),
    h('td', {}, String(row.seed)),
    ...columns.map((column) => h('td', {}, shown(row.values[column], units[column] ?? ''))),
    h('td', {}, h('button', { type: 'button', onclick: () => chosen(row) }, 'Look')),
  ));
  return h('details', { className: 'sweep', open: true }, h('summary', {}, `Sweep: ${rows.length} runs`), h('div', { className: 'scroll' }, h('table', {}, h('thead', {}, head), h('tbody', {}, ...body))));
}
