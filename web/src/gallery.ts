// Twelve questions, each a pair of scenarios.
import questions from './gallery.json';
import { h } from './dom';
import type { Store } from './store';

export interface Part {
  label: string;
  set: Record<string, unknown>;
}

export interface Question {
  id: string;
  question: string;
  finding: string;
  scenario: string;
  /** For both. */
  set: Record<string, unknown>;
  a: Part;
  b: Part;
  /** The key number that answers it, and which of the two has more of it. */
  metric: string;
  more: string;
}

export const QUESTIONS = questions as unknown as Question[];

const texts = import.meta.glob<string>('../../scenarios/*.toml', { query: '?raw', import: 'default', eager: true });
const tables = import.meta.glob<string>('../../scenarios/*.csv', { query: '?raw', import: 'default', eager: true });

/** The project's scenarios by name; those of a sweep, a million flows, and QUIC, are not for a page. */
export const SCENARIOS = new Map(
  Object.entries(texts)
    .map(([path, text]): [string, string] => [path.replace(/^.*\//, '').replace('.toml', ''), text])
    .filter(([name]) => !name.endsWith('.sweep') && name !== 'million-flows' && !name.startsWith('quic')),
);

/** The files that they name. */
export const FILES = Object.fromEntries(Object.entries(tables).map(([path, text]) => [path.replace(/^.*\//, ''), new TextEncoder().encode(text)]));

export class Gallery {
  private readonly select: HTMLSelectElement;
  private readonly finding = h('p', { className: 'finding' });

  constructor(root: HTMLElement, store: Store, chosen: (question: Question) => void, own: (name: string) => void) {
    this.select = h(
      'select',
      { id: 'question' },
      h('option', { value: '' }, 'Choose a question …'),
      h('optgroup', { label: 'Questions' }, ...QUESTIONS.map(({ id, question }) => h('option', { value: id }, question))),
      h('optgroup', { label: 'One scenario' }, ...[...SCENARIOS.keys()].map((name) => h('option', { value: `scenario:${name}` }, name))),
    );
    this.select.addEventListener('change', () => {
      const name = this.select.value;
      const question = QUESTIONS.find(({ id }) => id === name);
      if (question) chosen(question);
      else if (name) own(name.replace('scenario:', ''));
    });
    root.append(h('label', { htmlFor: 'question' }, 'Question'), this.select, this.finding);
    store.on(['scenario'], () => {
      const question = QUESTIONS.find(({ id }) => id === store.question);
      this.select.value = store.question ?? '';
      this.finding.textContent = question?.finding ?? '';
    });
  }
}
