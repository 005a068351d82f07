// What the page does: reads scenarios, runs them in the worker, and keeps address and history in step.
import { Cancelled, Core } from './core/client';
import { Refused } from './core/host.js';
import type { About, Run } from './core/messages';
import { FILES, QUESTIONS, SCENARIOS, type Part, type Question } from './gallery';
import { packed, seedOf, unpacked, type Shared } from './share';
import type { Name, Side, Store } from './store';
import type { Native } from './native';

/** Instants of the globe at most; between them the satellites are on their circles. */
const INSTANTS = 240;

export class App {
  /** Runs what is looked at; the other one packets and seeds, so that neither waits for the other. */
  readonly core = new Core();
  readonly second = new Core();
  about: About | undefined;
  private round = 0;

  constructor(readonly store: Store) {
    store.files = { ...FILES };
  }

  /** What a run of a side is asked with. */
  request(name: Name): Pick<Run, 'toml' | 'files' | 'seed'> {
    const side = this.store.sides[name] ?? this.store.sides.a;
    return { toml: side.toml, files: this.store.files, seed: this.store.seed };
  }

  /** Shows what the address holds; without anything, the first question. */
  async begin(): Promise<void> {
    this.about = await this.core.about();
    const shared = await this.fromAddress();
    if (shared) await this.restore(shared);
    else await this.ask(QUESTIONS[0] as Question, false);
    addEventListener('popstate', () => void this.back());
    addEventListener('hashchange', () => void this.back());
  }

  private async back(): Promise<void> {
    const shared = await this.fromAddress();
    if (shared) await this.restore(shared);
  }

  private async fromAddress(): Promise<Shared | null> {
    const text = location.hash.slice(1);
    const question = QUESTIONS.find(({ id }) => `q=${id}` === text);
    if (question) return this.of(question);
    const name = text.startsWith('scenario=') ? text.slice(9) : '';
    const toml = SCENARIOS.get(name);
    if (toml) return { a: { label: name, toml }, seed: seedIn(toml), question: `scenario:${name}` };
    return text.startsWith('s=') ? unpacked(text.slice(2)) : null;
  }

  private async restore(shared: Shared): Promise<void> {
    const { store } = this;
    store.sides = { a: { ...shared.a }, ...(shared.b ? { b: { ...shared.b } } : {}) };
    [store.seed, store.question] = [shared.seed, shared.question ?? null];
    store.active = shared.b && shared.active === 'b' ? 'b' : 'a';
    [store.time, store.window, store.flow] = [shared.time ?? 0, shared.window ?? null, 0];
    store.changed('scenario', 'window');
    await this.run();
  }

  private async of(question: Question): Promise<Shared> {
    const toml = SCENARIOS.get(question.scenario) ?? '';
    const part = async ({ label, set }: Part) => {
      let text = toml;
      for (const [path, value] of Object.entries({ ...question.set, ...set })) text = await this.core.edit(text, this.store.files, path, value);
      return { label, toml: text };
    };
    return { a: await part(question.a), b: await part(question.b), seed: 1, question: question.id };
  }

  /** Loads a question's pair; `note`: as a step of the history. */
  async ask(question: Question, note = true): Promise<void> {
    if (note) history.pushState(null, '', `#q=${question.id}`);
    await this.restore(await this.of(question));
  }

  /** Loads one scenario. */
  async load(name: string): Promise<void> {
    history.pushState(null, '', `#scenario=${name}`);
    const shared = await this.fromAddress();
    if (shared) await this.restore(shared);
  }

  /** What a local server has run. */
  async native(native: Native): Promise<void> {
    const { store } = this;
    Object.assign(store.files, native.files);
    store.sides = { a: { label: native.title, toml: native.toml } };
    [store.seed, store.question, store.time, store.window] = [native.seed, null, 0, null];
    store.changed('scenario', 'window');
    await this.run(native.outcome ? { a: native.outcome } : {});
    void this.happened(store.sides.a);
  }

  /** A result folder has no events: the same run again, beside, has them. */
  private async happened(side: Side): Promise<void> {
    const { outcome } = side;
    if (!outcome || outcome.tables.events) return;
    try {
      const { summary, tables } = await this.second.run({ ...this.request('a'), watch: [0, 0], tables: ['events'] });
      if (side.outcome !== outcome || summary.digest !== outcome.summary.digest || !tables.events) return;
      outcome.tables.events = tables.events;
      this.store.changed('outcome');
    } catch {
      // What needs the native core, such as a scheduler in Python, keeps its charts.
    }
  }

  /** The text of the side that is edited is another. */
  async edited(toml: string): Promise<void> {
    const { store } = this;
    store.side.toml = toml;
    store.side.refused = undefined;
    if (store.question?.startsWith('scenario:')) store.question = null;
    store.changed('scenario');
    await this.note();
    await this.run();
  }

  /** A control of the side that is edited has another value. */
  async change(path: string, value: unknown): Promise<void> {
    const { store } = this;
    const { side } = store;
    try {
      await this.edited(await this.core.edit(side.toml, store.files, path, value));
    } catch (error) {
      this.refuse(side, error);
      store.changed('scenario');
    }
  }

  async reseed(seed: number): Promise<void> {
    this.store.seed = seedOf(seed);
    for (const side of Object.values(this.store.sides)) side.ran = undefined;
    this.store.changed('scenario');
    await this.note();
    await this.run();
  }

  /** Another scenario beside the first, to begin with the same; or none. */
  async compare(on: boolean): Promise<void> {
    const { store } = this;
    const { a } = store.sides;
    if (on) store.sides.b = { ...a, label: 'B' };
    else delete store.sides.b;
    if (on && a.label !== 'A') a.label = 'A';
    [store.active, store.question] = [on ? 'b' : 'a', null];
    store.changed('scenario', 'outcome');
    await this.note();
    await this.run();
  }

  activate(name: Name): void {
    this.store.active = name;
    this.store.changed('scenario', 'outcome');
  }

  cancel(): void {
    this.round++;
    this.core.cancel();
  }

  /** The address that brings all of this back. */
  async link(): Promise<string> {
    const { sides, seed, question, time, window, active } = this.store;
    const plain = ({ label, toml }: Side) => ({ label, toml });
    const text = await packed({ a: plain(sides.a), ...(sides.b ? { b: plain(sides.b) } : {}), seed, question, time: Number(time.toFixed(3)), window, active });
    return `${location.origin}${location.pathname}#s=${text}`;
  }

  private async note(): Promise<void> {
    history.pushState(null, '', await this.link());
  }

  /** Runs what has changed. A run that is going on is given up: its scenario is no longer the one. */
  async run(there: Partial<Record<Name, Side['outcome']>> = {}): Promise<void> {
    const { store } = this;
    const round = ++this.round;
    this.core.cancel();
    for (const name of ['a', 'b'] as const) {
      const side = store.sides[name];
      if (!side || side.ran === side.toml) continue;
      try {
        await this.check(side);
        if (round !== this.round) return;
        store.progress = 0;
        store.changed('progress');
        const request = { ...this.request(name), watch: [0, 0] as [number, number], tables: ['series', 'events'] };
        const outcome = there[name] ?? (await this.core.run(request, (share) => {
          store.progress = share;
          store.changed('progress');
        }));
        if (round !== this.round) return;
        [side.outcome, side.ran] = [outcome, side.toml];
        store.changed('outcome');
      } catch (error) {
        if (round !== this.round) return;
        this.refuse(side, error);
        store.changed('scenario');
      }
    }
    store.progress = null;
    if (store.time > store.duration) store.time = 0;
    if (store.window && store.window[1] > store.duration) store.window = null;
    store.changed('progress', 'time', 'window');
  }

  private async check(side: Side): Promise<void> {
    const { files } = this.store;
    side.checked = await this.core.check(side.toml, files);
    side.refused = undefined;
    side.globe = await this.core.globe(side.toml, files, INSTANTS);
    this.store.changed('scenario');
  }

  private refuse(side: Side, error: unknown): void {
    if (error instanceof Cancelled) return;
    if (error instanceof Refused) side.refused = { message: error.message, field: error.field, line: error.line };
    else side.refused = { message: error instanceof Error ? error.message : String(error), field: '', line: null };
  }
}

/** The seed that a scenario's text names. */
function seedIn(toml: string): number {
  return seedOf(/^seed\s*=\s*(\d+)/m.exec(toml)?.[1] ?? 1);
}
