// The colours of all charts, from the style sheet: one palette, dark and light.
import './palette.css';

export interface Palette {
  text: string;
  muted: string;
  grid: string;
  surface: string;
  now: string;
  series: string[];
  fate: Record<'delivered' | 'again' | 'lost' | 'acknowledgment', string>;
}

/** As many colours as there are for curves. */
const SERIES = 8;

let probe: HTMLElement | undefined;
let known: Palette | undefined;

/** A colour of the style sheet as it is in this theme. */
export function colour(name: string): string {
  probe ??= document.body.appendChild(document.createElement('i'));
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** The same colour, as transparent as that. */
export function pale(text: string, share: number): string {
  return text.replace(/^rgba?\((\d+), (\d+), (\d+).*\)$/, `rgba($1, $2, $3, ${share})`);
}

export function palette(): Palette {
  const text = colour('text');
  // Another theme has another text.
  if (known?.text === text) return known;
  const series = Array.from({ length: SERIES }, (_, place) => colour(`series-${place + 1}`));
  known = {
    text,
    muted: colour('muted'),
    grid: colour('grid'),
    surface: colour('surface'),
    now: colour('now'),
    series,
    fate: { delivered: series[0] ?? '', again: series[1] ?? '', lost: colour('lost'), acknowledgment: colour('muted') },
  };
  return known;
}

/** That of a curve; null is that of text. */
export function ofCurve(place: number | null): string {
  const { series, text } = palette();
  return place === null ? text : (series[place % series.length] ?? text);
}
