// A window's packets: their sequence numbers over time, and what one of them went through.
import { LEFT, RIGHT } from './chart/options';
import { palette } from './chart/palette';
import type { Core } from './core/client';
import { Cancelled } from './core/client';
import type { Table } from './core/host.js';
import type { About, Run } from './core/messages';
import { h } from './dom';
import { positions, stops } from './globe/route';
import { shown } from './numbers';
import type { Store } from './store';

const HEIGHT = 260;
/** A window that is wider is cut: seconds, packets. */
const MOST_S = 30;

interface Packet {
  number: number;
  flow: number;
  forward: boolean;
  sequence: number;
  bytes: number;
  transmission: number;
  sent: number;
  satellite: number;
  ended: number;
  fate: string;
}

export class Packets {
  private readonly ask = h('button', { type: 'button' }, 'Show the packets of this window');
  private readonly note = h('p', { className: 'note' }, 'Drag over a chart to choose a window, then look at each packet in it.');
  private readonly canvas = h('canvas', { className: 'sequence', tabIndex: 0, role: 'img', 'aria-label': 'Sequence numbers over time' });
  private readonly details = h('div', { className: 'walk', 'aria-live': 'polite' });
  private packets: Packet[] = [];
  private span: [number, number] = [0, 1];
  private top = 1;
  private bottom = 0;
  private chosen: Packet | undefined;

  constructor(
    root: HTMLElement,
    private readonly store: Store,
    private readonly core: Core,
    private readonly scenario: () => Pick<Run, 'toml' | 'files' | 'seed'>,
    private readonly about: () => About | undefined,
  ) {
    root.append(
      h('div', { className: 'bar' }, h('h2', {}, 'Packets'), this.ask),
      this.note,
      h('div', { className: 'area' }, this.canvas),
      this.details,
    );
    this.canvas.hidden = true;
    this.ask.addEventListener('click', () => void this.load());
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    store.on(['outcome'], () => this.clear());
    store.on(['theme'], () => this.paint());
    new ResizeObserver(() => this.paint()).observe(root);
  }

  /** Looks at the packet of a number that was sent about an instant. */
  async find(number: number, seconds: number): Promise<void> {
    await this.load([Math.max(0, seconds - 2), seconds + 0.5]);
    this.choose(this.packets.find((packet) => packet.number === number));
  }

  private clear(): void {
    this.packets = [];
    this.chosen = undefined;
    this.canvas.hidden = true;
    this.details.replaceChildren();
  }

  /** Runs again up to the window's end and keeps its packets: the same run, for the same seed. */
  async load(window: [number, number] = this.store.span): Promise<void> {
    const until = Math.min(window[1], window[0] + MOST_S);
    this.ask.disabled = true;
    this.note.textContent = 'Running again to look at the packets …';
    try {
      const run = this.scenario();
      const { tables } = await this.core.run({ ...run, watch: [window[0], until], tables: ['packets'] });
      this.packets = read(tables.packets as Table);
      this.span = [window[0], until];
      const cut = until < window[1] ? ` of the first ${MOST_S} s of the window` : '';
      this.note.textContent = `${this.packets.length.toLocaleString('en')} packets${cut}: choose one. Crosses are lost ones, rings are retransmitted.`;
      this.canvas.hidden = false;
      this.choose(undefined);
    } catch (error) {
      this.note.textContent = error instanceof Cancelled ? 'Cancelled.' : String(error instanceof Error ? error.message : error);
    } finally {
      this.ask.disabled = false;
    }
  }

  private shownOnes(): Packet[] {
    const flow = Math.min(this.store.flow, (this.store.side.outcome?.summary.flows.length ?? 1) - 1);
    return this.packets.filter((packet) => packet.flow === flow);
  }

  private paint(): void {
    const { canvas } = this;
    const parent = canvas.parentElement;
    if (!parent || canvas.hidden) return;
    const width = parent.clientWidth;
    const ratio = devicePixelRatio;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
    const context = canvas.getContext('2d');
    if (!context) return;
    const colours = palette();
    const packets = this.shownOnes();
    const data = packets.filter(({ forward }) => forward);
    [this.bottom, this.top] = [Math.min(...spread(data)), Math.max(...spread(data), 1)];
    if (this.top <= this.bottom) this.top = this.bottom + 1;
    context.scale(ratio, ratio);
    axes(context, width, this.span, [this.bottom, this.top], colours);
    for (const packet of packets) {
      const [x, y] = this.place(packet, width);
      if (x < LEFT - 1 || x > width - RIGHT + 1) continue;
      if (!packet.forward) dot(context, x, y, 1, colours.fate.acknowledgment);
      else if (isLost(packet)) cross(context, x, y, colours.fate.lost);
      else if (packet.transmission > 1) ring(context, x, y, 3, colours.fate.again);
      else dot(context, x, y, 1.6, colours.fate.delivered);
    }
    if (this.chosen) {
      const [x, y] = this.place(this.chosen, width);
      ring(context, x, y, 7, colours.now);
    }
  }

  /** A packet at its sending; an acknowledgment at its arrival, by what it acknowledges. */
  private place(packet: Packet, width: number): [number, number] {
    const [from, to] = this.span;
    const at = packet.forward || Number.isNaN(packet.ended) ? packet.sent : packet.ended;
    const x = LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT);
    const y = HEIGHT - 24 - ((packet.sequence - this.bottom) / (this.top - this.bottom)) * (HEIGHT - 36);
    return [x, y];
  }

  private click({ offsetX, offsetY }: MouseEvent): void {
    const width = this.canvas.clientWidth;
    let [best, found]: [number, Packet | undefined] = [15, undefined];
    for (const packet of this.shownOnes()) {
      const [x, y] = this.place(packet, width);
      const away = Math.hypot(x - offsetX, y - offsetY) + (packet.forward ? 0 : 3);
      if (away < best) [best, found] = [away, packet];
    }
    if (found) this.choose(found);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const packets = this.shownOnes().filter(({ forward }) => forward);
    const place = this.chosen ? packets.indexOf(this.chosen) + step : 0;
    this.choose(packets[Math.min(Math.max(place, 0), packets.length - 1)]);
  }

  private choose(packet: Packet | undefined): void {
    this.chosen = packet;
    this.details.replaceChildren();
    if (packet) {
      this.details.append(h('h3', {}, `${packet.forward ? 'Packet' : 'Packet back to the sender,'} ${packet.number.toLocaleString('en')}`), this.walk(packet));
      this.store.setTime(packet.sent);
    }
    this.paint();
  }

  /** Whether a packet goes to the user, over the last hop. */
  private isDown(packet: Packet): boolean {
    return packet.forward !== (this.store.side.outcome?.summary.flows[packet.flow]?.direction === 'up');
  }

  /** Each place and instant of a packet's way. */
  private walk(packet: Packet): HTMLElement {
    const rows: [string, number, string][] = [];
    const down = this.isDown(packet);
    const { sent, satellite, ended } = packet;
    const size = `${packet.bytes} B, sequence ${packet.sequence.toLocaleString('en')}${packet.transmission > 1 ? `, transmission ${packet.transmission}` : ''}`;
    rows.push([down ? 'sent on the ground' : 'sent by the user', sent, size]);
    const hops = this.hops(packet);
    let at = down ? sent : satellite;
    for (const { name, delay } of hops) {
      at += delay;
      if (at > (Number.isNaN(ended) ? Infinity : ended) + 1e-6) break;
      rows.push([name, at, `after ${shown(delay, 's')} of light`]);
    }
    if (!Number.isNaN(satellite)) rows.push([down ? 'queued at the last hop' : 'reaches the satellite', satellite, `after ${shown(satellite - sent, 's')}`]);
    rows.sort((a, b) => a[1] - b[1]);
    const before = Number.isNaN(satellite) ? sent : satellite;
    if (packet.fate === 'in flight') rows.push(['still in flight at the end', NaN, '']);
    else if (isLost(packet)) rows.push([`lost: ${this.about()?.columns.reasons.find(({ name }) => name === packet.fate)?.words ?? packet.fate}`, ended, `after ${shown(ended - before, 's')}`]);
    else rows.push([down ? 'delivered to the user' : 'delivered on the ground', ended, down ? `after ${shown(ended - before, 's')} of queue, transmissions and reordering` : `after ${shown(ended - before, 's')}`]);
    const body = rows.map(([what, seconds, more]) => h('tr', {}, h('th', { scope: 'row' }, what), h('td', {}, Number.isNaN(seconds) ? '' : `${seconds.toFixed(6)} s`), h('td', {}, more)));
    return h('table', {}, h('tbody', {}, ...body));
  }

  /** The satellites on the way, where the path knows them. */
  private hops(packet: Packet): { name: string; delay: number }[] {
    const { globe } = this.store.side;
    if (!globe) return [];
    const down = this.isDown(packet);
    const at = down ? packet.sent : packet.satellite;
    if (Number.isNaN(at)) return [];
    const all = stops(globe, at, positions(globe, at, new Float32Array(globe.satellites.length * 3)));
    const way = down ? all.slice(1, -1) : all.slice(0, -1).reverse();
    const delays = down ? all.slice(1, -1) : all.slice(1, -1).reverse();
    return way.slice(0, delays.length).map((stop, place) => ({ name: stop.name, delay: (delays[place]?.delay_ms ?? 0) / 1000 }));
  }
}

function read(table: Table): Packet[] {
  const { number, flow, sequence, bytes, transmission, sent_s, satellite_s, ended_s } = table.numbers;
  const { way, fate } = table.texts;
  const at = (column: Float64Array | undefined, row: number) => column?.[row] ?? NaN;
  return Array.from({ length: table.rows }, (_, row) => ({
    number: at(number, row),
    flow: at(flow, row),
    forward: way?.words[way.codes[row] ?? -1] === 'forward',
    sequence: at(sequence, row),
    bytes: at(bytes, row),
    transmission: at(transmission, row),
    sent: at(sent_s, row),
    satellite: at(satellite_s, row),
    ended: at(ended_s, row),
    fate: fate?.words[fate.codes[row] ?? -1] ?? '',
  }));
}

function isLost({ fate }: Packet): boolean {
  return fate !== 'delivered' && fate !== 'in flight';
}

/** The least and the largest sequence number, without a call of a hundred thousand arguments. */
function spread(packets: Packet[]): [number, number] {
  let [low, high] = [Infinity, 0];
  for (const { sequence } of packets) [low, high] = [Math.min(low, sequence), Math.max(high, sequence)];
  return [low === Infinity ? 0 : low, high];
}

function axes(context: CanvasRenderingContext2D, width: number, [from, to]: [number, number], [bottom, top]: [number, number], colours: ReturnType<typeof palette>): void {
  context.font = '11px system-ui';
  context.strokeStyle = colours.grid;
  context.fillStyle = colours.muted;
  context.textAlign = 'center';
  for (let tick = 0; tick <= 5; tick++) {
    const x = LEFT + (tick / 5) * (width - LEFT - RIGHT);
    context.beginPath();
    context.moveTo(x, 8);
    context.lineTo(x, HEIGHT - 22);
    context.stroke();
    context.fillText(`${(from + (tick / 5) * (to - from)).toFixed(to - from < 5 ? 2 : 1)} s`, Math.min(x, width - 24), HEIGHT - 8);
  }
  context.textAlign = 'right';
  for (let tick = 0; tick <= 4; tick++) {
    const y = HEIGHT - 24 - (tick / 4) * (HEIGHT - 36);
    context.fillText(shown(bottom + (tick / 4) * (top - bottom), 'B'), LEFT - 6, tick ? y + 4 : y - 2);
  }
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, size: number, colour: string): void {
  context.fillStyle = colour;
  context.fillRect(x - size, y - size, 2 * size, 2 * size);
}

function ring(context: CanvasRenderingContext2D, x: number, y: number, size: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, y, size, 0, 2 * Math.PI);
  context.stroke();
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.75;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y + 4);
  context.moveTo(x - 4, y + 4);
  context.lineTo(x + 4, y - 4);
  context.stroke();
}
