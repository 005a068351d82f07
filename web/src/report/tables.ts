// A report's tables, sorted and filtered by the reader, and its texts to copy.
import { h } from '../dom';

type Key = number | string | null;

function key(row: HTMLTableRowElement, column: number): Key {
  const cell = row.cells[column];
  const text = cell?.dataset.sort ?? cell?.textContent ?? '';
  if (text === '–' || text === '') return null;
  const value = Number(text);
  return Number.isNaN(value) ? text : value;
}

function compare(a: Key, b: Key): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}

/** A click on a heading sorts by it, a second one the other way around. */
export function sortable(): void {
  for (const button of document.querySelectorAll('table.sortable thead button')) {
    const heading = button.parentElement as HTMLTableCellElement;
    const table = heading.closest('table') as HTMLTableElement;
    button.addEventListener('click', () => {
      const sign = heading.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      const rows = rowsOf(table).map((row) => [key(row, heading.cellIndex), row] as const);
      // What has no value stays at the end either way.
      rows.sort(([a], [b]) => (a === null || b === null ? Number(a === null) - Number(b === null) : sign * compare(a, b)));
      for (const other of table.tHead?.rows[0]?.cells ?? []) other.removeAttribute('aria-sort');
      heading.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      table.tBodies[0]?.append(...rows.map(([, row]) => row));
    });
  }
}

function rowsOf(table: HTMLTableElement): HTMLTableRowElement[] {
  return [...(table.tBodies[0]?.rows ?? [])];
}

/** Lists of the texts of some columns, and a field for words: what is shown of a table. */
export function filters(): void {
  for (const bar of document.querySelectorAll<HTMLElement>('.filters')) {
    const table = bar.nextElementSibling?.querySelector('table');
    if (!table) continue;
    const rows = rowsOf(table);
    const selects = (bar.dataset.columns ?? '').split(',').map(Number).map((column) => {
      const name = table.tHead?.rows[0]?.cells[column]?.textContent ?? '';
      const texts = new Set(rows.map((row) => row.cells[column]?.textContent ?? ''));
      const options = [...texts].map((text) => h('option', { value: text }, text));
      return { column, select: h('select', { 'aria-label': name }, h('option', { value: '' }, `${name}: all`), ...options) };
    });
    const words = 'Words in the row';
    const input = h('input', { type: 'search', placeholder: words, 'aria-label': words });
    const count = h('span', { role: 'status' });
    const show = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = (row.textContent ?? '').toLowerCase();
        const chosen = selects.every(({ column, select }) => !select.value || row.cells[column]?.textContent === select.value);
        row.hidden = !chosen || !wanted.every((word) => text.includes(word));
      }
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    input.addEventListener('input', show);
    for (const { select } of selects) select.addEventListener('change', show);
    bar.append(...selects.map(({ select }) => select), input, count);
    show();
  }
}

function copyOld(text: string): void {
  const area = document.body.appendChild(h('textarea', { value: text }));
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** Buttons that copy the text beside them. */
export function copying(): void {
  for (const button of document.querySelectorAll('.copy-button')) {
    button.addEventListener('click', async () => {
      const text = button.parentElement?.querySelector('pre')?.textContent ?? '';
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        // A browser may keep the clipboard from pages that were opened as files.
        copyOld(text);
      }
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 1500);
    });
  }
}

/** What is beyond the edge of a table is told. */
export function beyond(): void {
  for (const box of document.querySelectorAll('.scroll')) {
    const told = box.nextElementSibling?.classList.contains('goes-on') ? box.nextElementSibling : null;
    if (box.scrollWidth <= box.clientWidth + 1) told?.remove();
    else if (!told) box.after(h('p', { className: 'goes-on' }, 'The table goes on to the right: it can be moved.'));
  }
}
