// The names of a chart's lines, each a button that hides or shows it, and their values where the pointer is.
import { h } from '../dom';
import { digits, shown } from '../numbers';
import { at, type Curves } from './curves';
import { ofCurve } from './palette';

export class Legend {
  readonly element = h('div', { className: 'legend' });
  private values: HTMLElement[] = [];
  private where: HTMLElement | undefined;
  private curves: Curves | undefined;

  /** `toggle`: the user hides or shows a line. */
  constructor(private readonly toggle: (line: number) => void) {}

  show(curves: Curves, hidden: (line: number) => boolean): void {
    this.curves = curves;
    this.values = curves.lines.map(() => h('span', { className: 'value' }));
    this.where = curves.axis && h('span', { className: 'value' });
    const buttons = curves.lines.map((line, place) => {
      const key = h('i');
      key.style.borderColor = ofCurve(line.colour);
      if (line.dashed) key.style.borderTopStyle = 'dashed';
      const pressed = String(!hidden(place));
      const title = `Show or hide ${line.label}`;
      return h('button', { type: 'button', title, 'aria-pressed': pressed, onclick: () => this.toggle(place) }, key, h('span', { className: 'name' }, line.label), this.values[place]);
    });
    const where = this.where && h('span', { className: 'where' }, h('span', { className: 'name' }, curves.axis?.label ?? ''), this.where);
    this.element.replaceChildren(...buttons, ...(curves.note ? [h('span', { className: 'note' }, curves.note)] : []), ...(where ? [where] : []));
    this.tell(null);
  }

  /** The values at a place of the axis; null for none. */
  tell(place: number | null): void {
    const { curves } = this;
    if (!curves) return;
    this.element.classList.toggle('pointed', place !== null);
    if (this.where) this.where.textContent = place === null ? '' : digits(curves.x[place] as number, 5);
    this.values.forEach((element, line) => {
      const value = place === null ? null : at(curves, line, place);
      const ends = place === null ? null : curves.lines[line]?.intervals?.[place];
      const text = value === null ? '' : shown(value, curves.unit, 4);
      element.textContent = ends && text ? `${text} (${digits(ends[0], 4)} to ${digits(ends[1], 4)})` : text;
    });
  }
}
