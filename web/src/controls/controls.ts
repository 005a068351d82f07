// Controls made from the schema of scenarios: whatever a scenario has can be changed, what matters most stands first.
import type { Schema } from '../core/messages';
import { h } from '../dom';
import { isQuantity, kinds, resolved, sentence, split, typeOf, words } from './schema';

type Change = (path: string, value: unknown) => void;
type Values = Record<string, unknown>;

/** What stands first, by the dotted path; all else is behind "More". */
const FIRST = [
  'duration', 'path', 'path.constellation', 'path.delay', 'path.handover', 'channel', 'channel.reference_snr', 'channel.environment', 'channel.speed', 'channel.loss',
  'last_hop.rate', 'last_hop.scheduler', 'last_hop.scheduler.buffer', 'last_hop.harq', 'last_hop.harq.transmissions', 'last_hop.reordering',
  'last_hop.reordering.enabled', 'last_hop.reordering.capacity', 'access.method', 'flows', 'flows.*.count', 'flows.*.transport', 'flows.*.transport.congestion',
  'flows.*.transport.profile', 'flows.*.traffic',
];
const TITLES: Record<string, string> = {
  path: 'Path', channel: 'Channel', last_hop: 'Last hop', access: 'Return link', flows: 'Flows', record: 'Record', rest: 'Run',
};

let count = 0;

export class Controls {
  readonly element = h('form', { className: 'controls', autocomplete: 'off' });
  private readonly help = h('p', { className: 'help', 'aria-hidden': 'true' });
  private root: Schema = {};
  private readonly open = new Set<string>(['path', 'channel', 'last_hop', 'flows', 'access', 'rest']);

  constructor(private readonly change: Change) {
    this.element.addEventListener('submit', (event) => event.preventDefault());
    this.element.addEventListener('focusin', (event) => this.explain(event.target));
    this.element.addEventListener('pointerover', (event) => this.explain(event.target));
  }

  schema(root: Schema): void {
    this.root = root;
  }

  /** Shows the values of a scenario, every default filled in; the focus stays where it was. */
  show(values: Values): void {
    const focused = document.activeElement instanceof HTMLElement && this.element.contains(document.activeElement) ? document.activeElement.dataset.path : undefined;
    const groups = ['rest', 'path', 'channel', 'last_hop', 'access', 'flows', 'record'];
    this.element.replaceChildren(...groups.flatMap((group) => this.group(group, values)), this.help);
    if (focused) this.element.querySelector<HTMLElement>(`[data-path="${CSS.escape(focused)}"]`)?.focus();
  }

  /** Marks the control of a key that the core refuses. */
  refuse(path: string, message: string): void {
    for (const input of this.element.querySelectorAll<HTMLElement>('[data-path]')) {
      const wrong = Boolean(path) && input.dataset.path === path;
      input.toggleAttribute('aria-invalid', wrong);
      if (wrong) {
        input.setAttribute('aria-invalid', 'true');
        this.help.textContent = message;
      }
    }
  }

  private explain(target: EventTarget | null): void {
    const holder = target instanceof Element ? target.closest('[data-help]') : null;
    if (holder instanceof HTMLElement) this.help.textContent = holder.dataset.help ?? '';
  }

  private group(group: string, values: Values): HTMLElement[] {
    const properties = this.root.properties ?? {};
    const inside: HTMLElement[] = [];
    if (group === 'rest') {
      for (const key of ['duration']) inside.push(...this.field(key, properties[key] ?? {}, values[key], key));
    } else if (group === 'flows') {
      const flows = Array.isArray(values.flows) ? (values.flows as Values[]) : [];
      const item = resolved(properties.flows?.items ?? {}, this.root);
      flows.slice(0, 6).forEach((flow, place) => {
        const fields = this.fields(`flows.${place}`, item, flow);
        inside.push(flows.length > 1 ? this.folded(`flows.${place}`, `Entry ${place + 1}`, fields, true) : h('div', {}, ...fields));
      });
    } else if (values[group] !== undefined && values[group] !== null && properties[group]) {
      inside.push(...this.field(group, properties[group] ?? {}, values[group], group));
    }
    if (!inside.length) return [];
    return [this.folded(group, TITLES[group] ?? group, inside, group !== 'record')];
  }

  private folded(path: string, title: string, inside: HTMLElement[], standard: boolean): HTMLElement {
    if (standard && !this.open.has(`!${path}`)) this.open.add(path);
    const element = h('details', { className: 'group', open: this.open.has(path) }, h('summary', {}, title), ...inside);
    element.addEventListener('toggle', () => {
      if (element.open) this.open.add(path);
      else {
        this.open.delete(path);
        this.open.add(`!${path}`);
      }
    });
    return element;
  }

  /** The fields of a table: the first ones, then the others behind "More". */
  private fields(path: string, schema: Schema, values: Values): HTMLElement[] {
    const [first, more]: [HTMLElement[], HTMLElement[]] = [[], []];
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      if (key === 'kind' || property.description?.startsWith('PCA:')) continue;
      const below = `${path}.${key}`;
      const fields = this.field(below, property, values?.[key], key);
      (FIRST.includes(below.replace(/\.\d+\b/g, '.*')) ? first : more).push(...fields);
    }
    return more.length ? [...first, this.folded(`${path}+`, 'More', more, false)] : first;
  }

  private field(path: string, property: Schema, value: unknown, key: string): HTMLElement[] {
    const schema = resolved(property, this.root);
    const label = key.replaceAll('_', ' ');
    const variants = kinds(schema);
    if (variants.size) return this.variant(path, label, schema, variants, value);
    const choices = words(schema);
    if (choices.length && (value === undefined || value === null || typeof value === 'string')) {
      return [this.choice(path, label, schema, choices, value as string | undefined)];
    }
    if (schema.properties && typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const fields = this.fields(path, schema, value as Values);
      return TITLES[path] ? fields : [h('fieldset', {}, h('legend', {}, label), ...fields)];
    }
    switch (typeOf(schema)) {
      case 'boolean':
        return [this.row(path, label, schema, h('input', { type: 'checkbox', checked: value === true, onchange: (event: Event) => this.change(path, (event.target as HTMLInputElement).checked) }))];
      case 'integer':
      case 'number':
        return [this.number(path, label, schema, value)];
      case 'string':
        return [isQuantity(schema) || typeof value === 'string' ? this.quantity(path, label, schema, value) : this.text(path, label, schema, value)];
      default:
        return typeof value === 'string' ? [this.quantity(path, label, schema, value)] : [];
    }
  }

  /** A table whose kind chooses its other keys. */
  private variant(path: string, label: string, schema: Schema, variants: Map<string, Schema>, value: unknown): HTMLElement[] {
    const table = (typeof value === 'object' && value !== null ? value : { kind: value }) as Values;
    const kind = String(table.kind ?? '');
    const options = [...variants].map(([name, { description }]) => ({ word: name, meaning: sentence(description) }));
    const missing = value === undefined || value === null;
    const select = this.choice(path, TITLES[path] ? 'kind' : label, schema, options, missing ? '' : kind, (word) => this.change(path, word ? { kind: word, ...this.needed(variants.get(word), table) } : null));
    const chosen = variants.get(kind);
    const below = chosen ? this.fields(path, chosen, table) : [];
    return TITLES[path] || !below.length ? [select, ...below] : [select, h('div', { className: 'below' }, ...below)];
  }

  /** What a kind asks for and has no default: taken over from the kind before, or from the schema's example. */
  private needed(schema: Schema | undefined, before: Values): Values {
    const values: Values = {};
    for (const key of schema?.required ?? []) {
      if (key === 'kind') continue;
      const property = resolved(schema?.properties?.[key] ?? {}, this.root);
      const example = property.examples?.[0] ?? words(property)[0]?.word;
      if (before[key] !== undefined && before[key] !== null) values[key] = before[key];
      else if (example !== undefined) values[key] = example;
      else if (property.minimum !== undefined) values[key] = property.minimum;
      else if (property.properties) values[key] = PLACES[key];
    }
    return values;
  }

  private choice(path: string, label: string, schema: Schema, options: { word: string; meaning: string }[], value: string | undefined, change?: (word: string) => void): HTMLElement {
    const known = options.some(({ word }) => word === value);
    const select = h(
      'select',
      { onchange: (event: Event) => (change ?? ((word: string) => this.change(path, word || null)))((event.target as HTMLSelectElement).value) },
      ...(known ? [] : [h('option', { value: value ?? '', selected: true }, value || 'by default')]),
      ...options.map(({ word, meaning }) => h('option', { value: word, selected: word === value, title: meaning }, word)),
    );
    const meaning = options.find(({ word }) => word === value)?.meaning;
    return this.row(path, label, { ...schema, description: [schema.description, meaning && `${value}: ${meaning}`].filter(Boolean).join(' ') }, select);
  }

  private number(path: string, label: string, schema: Schema, value: unknown): HTMLElement {
    const whole = typeOf(schema) === 'integer';
    const input = h('input', {
      type: 'number', value: value === null || value === undefined ? '' : String(value), min: schema.minimum, max: schema.maximum, step: whole ? '1' : 'any', placeholder: 'by default',
      onchange: (event: Event) => {
        const text = (event.target as HTMLInputElement).value;
        this.change(path, text === '' ? null : Number(text));
      },
    });
    return this.row(path, label, schema, input);
  }

  /** A number and its unit, or the words that may stand for them. */
  private quantity(path: string, label: string, schema: Schema, value: unknown): HTMLElement {
    const text = typeof value === 'string' ? value : '';
    const parts = split(text);
    if (!parts) return this.text(path, label, schema, value);
    const input = h('input', { type: 'number', value: parts.number, step: 'any', onchange: (event: Event) => this.change(path, `${(event.target as HTMLInputElement).value} ${parts.unit}`) });
    return this.row(path, label, schema, h('span', { className: 'quantity' }, input, h('span', { className: 'unit' }, parts.unit)));
  }

  private text(path: string, label: string, schema: Schema, value: unknown): HTMLElement {
    const example = schema.examples?.[0];
    const input = h('input', { type: 'text', value: typeof value === 'string' ? value : '', placeholder: example ? `e.g. ${example}` : 'by default', onchange: (event: Event) => this.change(path, (event.target as HTMLInputElement).value || null) });
    return this.row(path, label, schema, input);
  }

  private row(path: string, label: string, schema: Schema, control: HTMLElement): HTMLElement {
    const input = control.matches('input, select') ? control : (control.querySelector('input') as HTMLElement);
    const id = `control-${count++}`;
    input.id = id;
    input.dataset.path = path;
    const description = (schema.description ?? '').replace(/\s+/g, ' ');
    const bounds = schema.minimum !== undefined && schema.maximum !== undefined ? ` From ${schema.minimum} to ${schema.maximum}.` : '';
    const meaning = h('span', { className: 'hidden', id: `${id}-help` }, description + bounds);
    input.setAttribute('aria-describedby', `${id}-help`);
    const row = h('div', { className: 'row' }, h('label', { htmlFor: id }, label), control, meaning);
    row.dataset.help = `${path}: ${description}${bounds}`;
    return row;
  }
}

/** Where a path begins and ends until somebody says otherwise. */
const PLACES: Record<string, unknown> = {
  source: { latitude: '43.6 deg', longitude: '1.4 deg' },
  user: { latitude: '-36.9 deg', longitude: '174.8 deg' },
};
