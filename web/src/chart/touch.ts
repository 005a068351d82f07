// Fingers on a chart: two zoom, one moves what is zoomed, a double tap shows all.
import type uPlot from 'uplot';

interface Acts {
  onWindow: (from: number, to: number) => void;
  onAll: () => void;
}

/** Two taps within this time are a double tap, milliseconds. */
const DOUBLE = 300;
/** Fingers that are closer do not tell a scale, pixels. */
const CLOSEST = 8;

export function touch(plot: uPlot, { onWindow, onAll }: Acts): void {
  const { over } = plot;
  const logarithmic = plot.scales.x?.distr === 3;
  const [to, back] = logarithmic ? [Math.log, Math.exp] : [(value: number) => value, (value: number) => value];
  let held: number[] = [];
  let tapped = -Infinity;
  let moved = false;
  const window = (): [number, number] => [to(plot.scales.x?.min ?? 0), to(plot.scales.x?.max ?? 1)];
  const whole = (): [number, number] => [to(plot.data[0][0] ?? 0), to(plot.data[0].at(-1) ?? 1)];
  const places = ({ touches }: TouchEvent) => [...touches].map(({ clientX }) => clientX - over.getBoundingClientRect().left);
  const values = (event: TouchEvent) => {
    const [min, max] = window();
    return places(event).map((place) => min + (place / over.clientWidth) * (max - min));
  };
  over.style.touchAction = 'pan-y';
  over.addEventListener('touchstart', (event) => {
    if (event.touches.length > 2) return;
    held = values(event);
    moved = false;
    if (event.touches.length === 2) event.preventDefault();
  }, { passive: false });
  over.addEventListener('touchmove', (event) => {
    moved = true;
    const fingers = places(event);
    const [[min, max], [first, last]] = [window(), whole()];
    const isZoomed = min > first || max < last;
    if (!held.length || held.length !== fingers.length || (fingers.length === 1 && !isZoomed)) return;
    let per = (max - min) / over.clientWidth;
    const [left = 0, right = left] = fingers;
    if (fingers.length === 2) {
      if (Math.abs(right - left) < CLOSEST) return;
      per = ((held[1] ?? 0) - (held[0] ?? 0)) / (right - left);
    }
    if (!(per > 0)) return;
    if (event.cancelable) event.preventDefault();
    const span = Math.min(per * over.clientWidth, last - first);
    const from = Math.min(Math.max((held[0] ?? 0) - per * left, first), last - span);
    if (span > 1e-6 * (last - first)) onWindow(back(from), back(from + span));
  }, { passive: false });
  over.addEventListener('touchend', (event) => {
    if (event.touches.length) {
      held = values(event);
      return;
    }
    const isTap = held.length === 1 && !moved;
    const again = isTap && event.timeStamp - tapped < DOUBLE;
    tapped = isTap ? event.timeStamp : -Infinity;
    held = [];
    if (again) onAll();
  });
}
