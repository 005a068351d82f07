// The scenario's text with line numbers, and the core's own message at its line.
import { h } from './dom';

export class Editor {
  readonly element: HTMLElement;
  private readonly text = h('textarea', { spellcheck: false, wrap: 'off', rows: 18, 'aria-label': 'Scenario, TOML', 'aria-describedby': 'editor-message' });
  private readonly lines = h('pre', { className: 'lines', 'aria-hidden': 'true' });
  private readonly message = h('p', { className: 'message', id: 'editor-message', role: 'alert' });
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(changed: (toml: string) => void) {
    this.element = h('div', { className: 'editor' }, h('div', { className: 'page' }, this.lines, this.text), this.message);
    this.text.addEventListener('input', () => {
      this.number();
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => changed(this.text.value), 400);
    });
    this.text.addEventListener('scroll', () => (this.lines.scrollTop = this.text.scrollTop));
  }

  show(toml: string): void {
    if (this.text.value === toml) return;
    this.text.value = toml;
    this.number();
  }

  /** What the core has to say, at its line. */
  refuse(refused: { message: string; line: number | null } | undefined): void {
    this.message.textContent = refused ? (refused.line ? `Line ${refused.line}: ${refused.message}` : refused.message) : '';
    this.text.setAttribute('aria-invalid', String(Boolean(refused)));
    this.number(refused?.line ?? null);
    if (refused?.line && document.activeElement !== this.text) {
      const height = this.text.scrollHeight / Math.max(this.text.value.split('\n').length, 1);
      this.text.scrollTop = Math.max(0, (refused.line - 4) * height);
    }
  }

  private number(wrong: number | null = null): void {
    const count = this.text.value.split('\n').length;
    this.lines.replaceChildren(
      ...Array.from({ length: count }, (_, place) => h('span', { className: place + 1 === wrong ? 'wrong' : '' }, `${place + 1}`)),
    );
    this.lines.scrollTop = this.text.scrollTop;
  }
}
