// A page's state in its address, and as text to take away. Nothing leaves the browser: the part behind # is not sent.
import { download, h } from './dom';
import { csv } from './chart/save';
import { curves } from './chart/panels';
import type { Store } from './store';

export interface Shared {
  a: { label: string; toml: string };
  b?: { label: string; toml: string };
  seed: number;
  question?: string | null;
  time?: number;
  window?: [number, number] | null;
  active?: 'a' | 'b';
}

/** Texts of a scenario that are longer are no scenario. */
const MOST = 400_000;

export async function packed(state: Shared): Promise<string> {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** What an address holds; null if it is none of ours. It is text of a stranger: only its shape is taken. */
export async function unpacked(text: string): Promise<Shared | null> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    const reader = stream.getReader();
    const decoder = new TextDecoder();
    let json = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      json += decoder.decode(part.value, { stream: true });
      if (json.length > MOST) return null;
    }
    const found = JSON.parse(json) as Partial<Shared>;
    const side = (given: unknown): { label: string; toml: string } | undefined => {
      const { label, toml } = (given ?? {}) as { label?: unknown; toml?: unknown };
      return typeof toml === 'string' ? { toml, label: typeof label === 'string' ? label.slice(0, 80) : 'shared' } : undefined;
    };
    const a = side(found.a);
    if (!a) return null;
    const span = Array.isArray(found.window) && found.window.every(Number.isFinite) && found.window.length === 2 ? found.window : null;
    return {
      a, b: side(found.b), seed: seedOf(found.seed), question: typeof found.question === 'string' ? found.question : null,
      time: Number.isFinite(found.time) ? found.time : 0, window: span, active: found.active === 'b' ? 'b' : 'a',
    };
  } catch {
    return null;
  }
}

export function seedOf(value: unknown): number {
  const seed = Number(value);
  return Number.isSafeInteger(seed) && seed >= 0 ? seed : 1;
}

/** The dialog with all ways to take something away. */
export class Share {
  private readonly dialog = h('dialog', { className: 'share', 'aria-labelledby': 'share-title' });
  private readonly address = h('input', { type: 'text', readOnly: true, 'aria-label': 'Address of this page' });
  private readonly python = h('pre', { tabIndex: 0, 'aria-label': 'In Python' });
  private readonly told = h('output');

  constructor(button: HTMLElement, private readonly store: Store, private readonly link: () => Promise<string>) {
    const by = (name: string, act: () => void) => h('button', { type: 'button', onclick: act }, name);
    this.dialog.append(
      h('h2', { id: 'share-title' }, 'Share'),
      h('p', {}, 'The address holds both scenarios, the seed and the window. Nothing is sent anywhere.'),
      h('div', { className: 'bar' }, this.address, by('Copy', () => void this.copy(this.address.value)), this.told),
      h('h3', {}, 'Take away'),
      h('div', { className: 'bar' }, by('Scenario (TOML)', () => this.toml()), by('Series (CSV)', () => this.csv())),
      h('p', { className: 'note' }, 'Each chart saves itself as PNG, SVG or CSV by its ⋯.'),
      h('h3', {}, 'In Python'),
      this.python,
      h('div', { className: 'bar' }, by('Copy the lines', () => void this.copy(this.python.textContent ?? '')), by('Close', () => this.dialog.close())),
    );
    document.body.append(this.dialog);
    button.addEventListener('click', () => void this.open());
  }

  private async open(): Promise<void> {
    this.address.value = await this.link();
    const { toml } = this.store.side;
    const text = toml.includes("'''") || toml.includes('\\') ? JSON.stringify(toml) : `'''\n${toml.trimEnd()}\n'''`;
    this.python.textContent = `import transorbit as to\n\nscenario = to.Scenario.from_toml(${text})\nresult = scenario.run(seed=${this.store.seed})\nprint(result.goodput_bps, result.summary["digest"])\n`;
    this.told.textContent = '';
    this.dialog.showModal();
  }

  private async copy(text: string): Promise<void> {
    await navigator.clipboard.writeText(text).then(() => (this.told.textContent = 'copied'), () => (this.told.textContent = 'select and copy by hand'));
  }

  private toml(): void {
    download(`scenario-${this.store.active}.toml`, this.store.side.toml, 'application/toml');
  }

  private csv(): void {
    const all = curves(this.store);
    const [first] = all;
    if (first) download('series.csv', csv({ ...first, lines: all.flatMap(({ title, lines }) => lines.map((line) => ({ ...line, label: `${title}: ${line.label}` }))) }), 'text/csv');
  }
}
