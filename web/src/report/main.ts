// What a report does in a browser: the page's charts, and its tables. Built into one file that each report holds.
import { byId } from '../dom';
import { Charts } from './charts';
import type { Data } from './data';
import { drawings } from './drawings';
import { beyond, copying, filters, sortable } from './tables';

const { body, documentElement: root } = document;
const note = (text: string) => (body.dataset.errors = [body.dataset.errors, text].filter(Boolean).join('\n'));
addEventListener('error', (event) => note(event.message));
addEventListener('unhandledrejection', (event) => note(String(event.reason)));

const data = JSON.parse(byId('data').textContent ?? '') as Data;
const choice = document.querySelector<HTMLSelectElement>('select.choice');
const charts = new Charts(data, choice?.value);
choice?.addEventListener('change', () => charts.choose(choice.value));

const dark = matchMedia('(prefers-color-scheme: dark)');
addEventListener('resize', () => charts.resize());
dark.addEventListener('change', () => charts.repaint());
// Paper is white, and as wide as it is.
matchMedia('print').addEventListener('change', () => {
  charts.repaint();
  charts.resize();
});
byId('theme').addEventListener('click', () => {
  const now = root.dataset.theme ?? (dark.matches ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
  charts.repaint();
});

sortable();
filters();
copying();
drawings(data.numbers);
beyond();
addEventListener('resize', beyond);

// What a test reads: how many charts there are, and how many have been drawn.
body.dataset.charts = String(charts.all.length);
requestAnimationFrame(() => requestAnimationFrame(() => {
  body.dataset.drawn = String(charts.all.filter(({ chart }) => (chart.plot as { status?: number } | undefined)?.status === 1).length);
}));
