// What a chart shows.

export interface Line {
  label: string;
  values: ArrayLike<number | null>;
  /** Of the palette, from 0; null is the colour of text. */
  colour: number | null;
  dashed?: boolean;
  /** A value holds since the instant before. */
  step?: boolean;
  /** Filled down to zero. */
  fill?: boolean;
  /** Thin and pale, behind the others. */
  faint?: boolean;
  /** The difference to the line before is what it shows; filled down to that one. */
  below?: boolean;
  /** Filled to the line before, both thin: a range. */
  band?: boolean;
  /** Not drawn until the legend's button is pressed. */
  hidden?: boolean;
  /** A point at each value, and the ends of its interval. */
  intervals?: ([number, number] | null)[];
}

export interface Axis {
  label: string;
  /** Logarithmic. */
  log?: boolean;
  /** Where the ticks stand, where they are few. */
  ticks?: number[];
}

export interface Curves {
  id: string;
  title: string;
  /** Of the values, for labels; what the axis shows is scaled. */
  unit: string;
  x: ArrayLike<number>;
  lines: Line[];
  note?: string;
  /** Where the reader finds what it shows defined. */
  href?: string;
  /** Of what the values stand over; by default seconds. */
  axis?: Axis;
  /** Where the vertical axis begins at least: by default 0; null where the values begin. */
  floor?: number | null;
  /** The vertical axis points down. */
  inverted?: boolean;
}

/** The bounds of the vertical axis, with some room. */
export function bounds(low: number | null, high: number | null, floor: number | null = 0): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const bottom = floor === null ? low : Math.min(floor, low);
  const top = Math.max(high, bottom);
  const room = top - bottom > 1e-9 * Math.abs(top) ? 0.06 * (top - bottom) : 0.1 * Math.abs(top) || 1;
  return [bottom === floor ? bottom : bottom - room, top + room];
}

/** What a line is at a place: of shares on top of each other, its own. */
export function at(curves: Curves, line: number, place: number): number | null {
  const { values, below } = curves.lines[line] as Line;
  const value = values[place];
  if (value === null || value === undefined || Number.isNaN(value)) return null;
  return below ? value - (curves.lines[line - 1]?.values[place] ?? 0) : value;
}

/** The name of a chart with its unit, where the values do not carry it. */
export function headed({ title, unit }: Curves): string {
  return unit && unit !== 's' ? `${title}, ${unit}` : title;
}
