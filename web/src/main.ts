// Puts the parts of the page together.
import './style.css';
import { App } from './app';
import { Controls } from './controls/controls';
import { byId, h } from './dom';
import { Editor } from './editor';
import { Gallery } from './gallery';
import { GlobeView } from './globe/globe';
import { native, sweepTable } from './native';
import { Numbers } from './numbers-table';
import { Packets } from './packets';
import { Share } from './share';
import { Store, type Name } from './store';
import { Timeline } from './timeline';

const store = new Store();
const app = new App(store);

function settings(root: HTMLElement): void {
  const controls = new Controls((path, value) => void app.change(path, value));
  const editor = new Editor((toml) => void app.edited(toml));
  const tab = (name: Name) => h('button', { type: 'button', role: 'tab', onclick: () => app.activate(name) }, name.toUpperCase());
  const [first, other] = [tab('a'), tab('b')];
  const compare = h('button', { type: 'button', onclick: () => void app.compare(!store.sides.b) });
  const seed = h('input', { type: 'number', min: '0', step: '1', id: 'seed', onchange: () => void app.reseed(Number(seed.value)) });
  const progress = h('progress', { max: 1, value: 0, 'aria-label': 'Progress of the run' });
  const cancel = h('button', { type: 'button', onclick: () => {
    app.cancel();
    store.progress = null;
    state.textContent = 'Cancelled. ';
    store.changed('progress');
  } }, 'Cancel');
  const again = h('button', { type: 'button', onclick: () => {
    for (const side of Object.values(store.sides)) side.ran = undefined;
    void app.run();
  } }, 'Run');
  const state = h('output', { id: 'state' });
  // Not before there are controls above it: it would move.
  const text = h('details', { className: 'group text', hidden: true }, h('summary', {}, 'As text'), editor.element);
  root.append(
    h('div', { className: 'bar' }, h('h2', {}, 'Scenario'), h('div', { role: 'tablist', 'aria-label': 'Which scenario' }, first, other), compare),
    h('div', { className: 'bar run' }, h('label', { htmlFor: 'seed' }, 'seed'), seed, again, cancel, progress),
    h('p', { className: 'note' }, state),
    controls.element,
    text,
  );
  const show = () => {
    const { side } = store;
    if (app.about) controls.schema(app.about.schema);
    if (side.checked) controls.show(side.checked.values);
    controls.refuse(side.refused?.field ?? '', side.refused?.message ?? '');
    text.hidden = !side.checked && !side.refused;
    editor.show(side.toml);
    editor.refuse(side.refused);
    if (side.refused) state.textContent = side.refused.message;
    state.classList.toggle('refused', Boolean(side.refused));
    seed.value = String(store.seed);
    first.setAttribute('aria-selected', String(store.active === 'a'));
    other.setAttribute('aria-selected', String(store.active === 'b'));
    other.hidden = !store.sides.b;
    compare.textContent = store.sides.b ? 'One only' : 'Compare';
    byId('title').textContent = String(side.checked?.values.title ?? '');
  };
  store.on(['scenario'], show);
  store.on(['progress', 'outcome'], () => {
    const { progress: share, side } = store;
    progress.value = share ?? 0;
    progress.classList.toggle('idle', share === null);
    cancel.disabled = share === null;
    if (share === null && side.outcome && side.ran === side.toml && !side.refused) {
      const { summary, took_ms } = side.outcome;
      const took = took_ms ? `simulated in ${(took_ms / 1000).toFixed(2)} s` : 'run by the native core';
      state.textContent = `${summary.simulated_s} s ${took}, digest ${summary.digest}`;
    } else if (share !== null) {
      state.textContent = `Running … ${Math.round(100 * share)} %`;
    }
  });
  controls.element.id = 'controls';
}

function theme(button: HTMLElement): void {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const repaint = () => store.changed('theme');
  button.addEventListener('click', () => {
    const now = root.dataset.theme ?? (dark.matches ? 'dark' : 'light');
    root.dataset.theme = now === 'dark' ? 'light' : 'dark';
    repaint();
  });
  dark.addEventListener('change', repaint);
}

/** After the next frame: what is there is seen before the core, which takes every processor, begins. */
function painted(): Promise<void> {
  // A page in the background paints nothing.
  return new Promise((done) => {
    setTimeout(done, 600);
    requestAnimationFrame(() => setTimeout(done));
  });
}

async function start(): Promise<void> {
  const about = () => app.about;
  new Gallery(byId('gallery'), store, (question) => void app.ask(question), (name) => void app.load(name));
  settings(byId('settings'));
  const globe = new GlobeView(byId('globe'), store);
  new Numbers(byId('numbers'), store, app.second, about, (name) => app.request(name));
  const packets = new Packets(byId('packets'), store, app.second, () => app.request(store.active), about);
  new Timeline(byId('timeline'), store, about, (event) => {
    store.setTime(event.time);
    if (event.number !== null) void packets.find(event.number, event.time);
  }, () => void app.change('record.series', true));
  theme(byId('theme'));
  new Share(byId('share'), store, () => app.link());
  // For the page's own tests: what it shows, and how fast the globe is.
  Object.assign(globalThis, { page: { store, app, globe } });
  performance.mark('usable');
  await painted();
  const told = await native();
  if (told) {
    app.about = await app.core.about();
    if (told.sweep) {
      byId('gallery').append(sweepTable(told.sweep, (row) => void app.native({ ...told, toml: row.toml, seed: row.seed, outcome: undefined })));
    }
    await app.native(told);
  } else {
    await app.begin();
  }
  byId('version').textContent = `Version ${app.about?.version ?? ''}.`;
  await globe.start();
  document.documentElement.dataset.ready = 'true';
  performance.mark('ready');
}

void start().catch((error: unknown) => {
  byId('title').textContent = `The page could not start: ${error instanceof Error ? error.message : String(error)}`;
});
