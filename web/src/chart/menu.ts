// The menu by which a reader keeps a picture.
import { h } from '../dom';

/** `save` is called with the kind that is chosen. */
export function saving<Kind extends string>(label: string, kinds: Kind[], save: (kind: Kind) => Promise<void>): HTMLElement {
  const menu = h('details', { className: 'menu' });
  const by = (kind: Kind) => h('button', { type: 'button', onclick: () => void save(kind).then(() => (menu.open = false)) }, kind);
  menu.append(h('summary', { 'aria-label': label, title: label }, '⋯'), h('div', {}, ...kinds.map(by)));
  return menu;
}
