// The globe's section: the picture, what plays, and the route in words.
import { seriesOf } from '../chart/panels';
import { colour } from '../chart/palette';
import { h } from '../dom';
import { shown } from '../numbers';
import type { Store } from '../store';
import type { Colours, Picture } from './scene';
import type { Stop } from './route';

/** Simulated seconds for each second of playing. */
const SPEEDS = [1, 10, 60];

export class GlobeView {
  private picture: Picture | undefined;
  private readonly area = h('div', {
    className: 'picture', tabIndex: 0, role: 'img', 'aria-label': 'Globe with the satellites and the route. Arrow keys turn it, plus and minus zoom.',
  });
  private readonly words = h('p', { className: 'route', 'aria-live': 'off' });
  private readonly note = h('p', { className: 'note' });
  private readonly play = h('button', { type: 'button', 'aria-pressed': 'false' }, 'Play');
  private readonly speed = h('select', { 'aria-label': 'Speed' }, ...SPEEDS.map((speed) => h('option', { value: String(speed), selected: speed === 10 }, `${speed} ×`)));
  private playing = 0;
  private due = false;

  constructor(root: HTMLElement, private readonly store: Store) {
    root.append(h('div', { className: 'bar' }, h('h2', {}, 'Path'), this.play, this.speed), this.area, this.note, this.words);
    this.play.addEventListener('click', () => this.toggle());
    store.on(['outcome', 'scenario'], () => this.show());
    store.on(['time'], () => this.draw());
    store.on(['theme'], () => {
      this.picture?.paint(colours());
      this.draw();
    });
  }

  /** Loads what draws; without WebGL the route stays in words. */
  async start(): Promise<void> {
    try {
      const { Picture } = await import('./scene');
      this.picture = new Picture(colours());
    } catch (error) {
      this.note.textContent = `This browser draws no globe (${error instanceof Error ? error.message : String(error)}); the route is told below.`;
      this.area.hidden = true;
      return this.show();
    }
    const { domElement } = this.picture.renderer;
    domElement.setAttribute('aria-hidden', 'true');
    this.area.append(domElement);
    this.listen(domElement);
    new ResizeObserver(() => {
      this.picture?.size(this.area.clientWidth, this.area.clientHeight);
      this.draw();
    }).observe(this.area);
    this.show();
  }

  /** Frames in a second, measured over some; a pixel is read from each, so that it has been drawn. */
  measure(frames: number): number {
    const context = this.picture?.renderer.getContext();
    const pixel = new Uint8Array(4);
    const begun = performance.now();
    for (let frame = 0; frame < frames; frame++) {
      this.picture?.move(this.store.time + frame);
      this.picture?.render();
      context?.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixel);
    }
    return (1000 * frames) / (performance.now() - begun);
  }

  private show(): void {
    const { globe } = this.store.side;
    this.picture?.show(globe ?? null);
    if (this.picture) this.note.textContent = globe === null ? 'The path of this scenario has no satellites: its delay is a number or a table.' : '';
    this.draw();
  }

  private draw(): void {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      const route = this.picture?.move(this.store.time) ?? [];
      this.picture?.render();
      this.tell(route);
    });
  }

  private tell(route: Stop[]): void {
    const { globe } = this.store.side;
    if (!globe) {
      const delay = this.given();
      this.words.textContent = delay === null ? '' : `${shown(delay, 's')} one way`;
    } else if (!route.length) {
      this.words.textContent = 'No route now.';
    } else {
      const total = route.reduce((sum, { delay_ms }) => sum + delay_ms, 0);
      const over = route.slice(1, -1).map(({ name }) => name.replace('satellite ', '')).join(' → ');
      this.words.textContent = `${route.length - 1} links, ${shown(total / 1000, 's')} one way, over ${route.length > 3 ? 'satellites' : 'satellite'} ${over}`;
    }
  }

  /** The delay of a path without satellites, at this instant. */
  private given(): number | null {
    const { outcome } = this.store.side;
    if (!outcome?.tables.series) return null;
    const { time, of } = seriesOf(outcome);
    const place = time.findLastIndex((instant) => instant <= this.store.time);
    const delay = of('path_delay_s', 0)?.[Math.max(place, 0)];
    return delay === undefined || Number.isNaN(delay) ? null : delay;
  }

  private toggle(): void {
    this.playing = this.playing ? 0 : performance.now();
    this.play.setAttribute('aria-pressed', String(Boolean(this.playing)));
    this.play.textContent = this.playing ? 'Pause' : 'Play';
    if (this.playing) requestAnimationFrame((now) => this.step(now));
  }

  private step(now: number): void {
    if (!this.playing) return;
    const { store } = this;
    const next = store.time + ((now - this.playing) / 1000) * Number(this.speed.value);
    this.playing = Math.max(now, 1);
    store.setTime(next >= store.duration ? 0 : Math.max(next, 0));
    requestAnimationFrame((later) => this.step(later));
  }

  private listen(canvas: HTMLCanvasElement): void {
    const by = (longitude: number, latitude: number, factor?: number) => {
      this.picture?.turn(longitude, latitude, factor);
      this.draw();
    };
    canvas.addEventListener('pointerdown', (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) by(-event.movementX / 180, event.movementY / 180);
    });
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && document.activeElement !== this.area) return;
      event.preventDefault();
      by(0, 0, Math.exp(event.deltaY / 500));
    }, { passive: false });
    this.area.addEventListener('keydown', (event) => {
      const turns: Record<string, [number, number, number?]> = {
        ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.15], ArrowDown: [0, -0.15], '+': [0, 0, 0.85], '-': [0, 0, 1.18],
      };
      const turn = turns[event.key];
      if (!turn) return;
      event.preventDefault();
      by(...turn);
    });
  }
}

function colours(): Colours {
  const of = (name: string) => colour(`globe-${name}`);
  return {
    sea: of('sea'), land: of('land'), coast: of('coast'), grid: of('grid'), satellite: of('satellite'), link: of('link'),
    route: of('route'), station: of('station'), back: of('back'),
  };
}
