// The colours of all charts, from the style sheet: one palette, dark and light.

export interface Palette {
  text: string;
  muted: string;
  grid: string;
  surface: string;
  now: string;
  series: string[];
  fate: Record<'delivered' | 'again' | 'lost' | 'acknowledgment', string>;
}

export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: colour('--text'),
    muted: colour('--muted'),
    grid: colour('--grid'),
    surface: colour('--surface'),
    now: colour('--now'),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => colour(`--series-${number}`)),
    fate: {
      delivered: colour('--series-1'),
      again: colour('--series-2'),
      lost: colour('--lost'),
      acknowledgment: colour('--muted'),
    },
  };
}
