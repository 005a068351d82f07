// The core, in a thread of its own. A run goes in slices of some milliseconds, so that it can be cancelled between two.
import { Host, Refused } from './host.js';
import type { Files, Outcome, Request, Run, Told } from './messages';
import address from '../../core.wasm?url';

const SLICE_MS = 12;

let core: Promise<WebAssembly.Module> | undefined;
let host: Host | undefined;
let held: Files = {};
/** The run that is going on. */
let running: { id: number; cancelled: boolean } | undefined;

function tell(told: Told, moved: Transferable[] = []): void {
  self.postMessage(told, { transfer: moved });
}

async function ready(): Promise<Host> {
  core ??= WebAssembly.compileStreaming(fetch(address));
  host ??= await Host.of(await core);
  return host;
}

async function withFiles(files: Files): Promise<Host> {
  const core = await ready();
  for (const [name, bytes] of Object.entries(files)) {
    const before = held[name];
    if (!before || before.length !== bytes.length || !before.every((byte, place) => byte === bytes[place])) {
      core.ask({ ask: 'file', name }, bytes);
      held[name] = bytes;
    }
  }
  return core;
}

async function run(id: number, { toml, files, seed, watch, tables }: Run): Promise<Outcome | undefined> {
  const core = await withFiles(files);
  const begun = performance.now();
  const { duration_s } = core.json({ ask: 'open', seed, watch }, toml);
  const mine = { id, cancelled: false };
  running = mine;
  let now = 0;
  let step = duration_s / 200;
  while (now < duration_s) {
    const start = performance.now();
    const until = Math.min(now + step, duration_s);
    core.json({ ask: 'advance', until_s: until });
    now = until;
    const took = performance.now() - start;
    step = Math.max(duration_s / 5000, Math.min(step * Math.min(4, Math.max(0.25, SLICE_MS / Math.max(took, 0.1))), duration_s / 8));
    tell({ id, share: now / duration_s, now_s: now });
    await turn();
    if (mine.cancelled) {
      core.json({ ask: 'cancel' });
      return undefined;
    }
  }
  const summary = core.json({ ask: 'finish', partial: false });
  const found: Outcome['tables'] = {};
  for (const name of tables) found[name] = core.table(name);
  return { summary, tables: found, took_ms: performance.now() - begun, memory: core.memory };
}

const channel = new MessageChannel();
let woken: (() => void) | undefined;
channel.port1.onmessage = () => woken?.();

/** Lets messages in, without the milliseconds that a timer waits. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    woken = resolve;
    channel.port2.postMessage(0);
  });
}

async function answer(id: number, request: Request): Promise<void> {
  switch (request.do) {
    case 'about':
      return tell({ id, done: (await ready()).json({ ask: 'about' }) });
    case 'check':
      return tell({ id, done: (await withFiles(request.files)).json({ ask: 'check' }, request.toml) });
    case 'edit': {
      const { path, value } = request;
      return tell({ id, done: (await withFiles(request.files)).json({ ask: 'edit', path, value }, request.toml) });
    }
    case 'globe': {
      const globe = (await withFiles(request.files)).globe(request.toml, request.instants);
      return tell({ id, done: globe }, globe ? [globe.positions.buffer] : []);
    }
    case 'run': {
      const outcome = await run(id, request);
      return outcome ? tell({ id, done: outcome }, buffers(outcome)) : tell({ id, cancelled: true });
    }
    case 'cancel':
      if (running) running.cancelled = true;
      return;
  }
}

function buffers(outcome: Outcome): Transferable[] {
  const tables = Object.values(outcome.tables);
  return tables.flatMap((table) => [
    ...Object.values(table.numbers).map((column) => column.buffer as ArrayBuffer),
    ...Object.values(table.texts).map((column) => column.codes.buffer as ArrayBuffer),
  ]);
}

/** Requests in their order; a cancellation overtakes them. */
let last: Promise<void> = Promise.resolve();

self.onmessage = ({ data: { id, request } }: MessageEvent<{ id: number; request: Request }>) => {
  if (request.do === 'cancel') return void answer(id, request);
  last = last.then(() => answer(id, request)).catch((error: unknown) => {
    if (error instanceof Refused) {
      return tell({ id, refused: { message: error.message, field: error.field, line: error.line } });
    }
    // A defect of the core leaves its memory in an unknown state: the next request gets a new one.
    host = undefined;
    held = {};
    tell({ id, refused: { message: `the core stopped: ${String(error)}`, field: '', line: null } });
  });
};
