// What a report's file holds beside its text: columns of numbers, and the charts that show them.

export interface SeriesSpec {
  label: string;
  /** The number of its column. */
  y: number;
  color?: number | null;
  shown?: boolean;
  step?: boolean;
  dash?: boolean;
  fill?: boolean;
  faint?: boolean;
  below?: boolean;
  band?: boolean;
}

export interface ChartSpec {
  title: string;
  unit: string;
  note: string;
  href?: string;
  x: number;
  x_label: string;
  floor: number | null;
  inverted: boolean;
  series: SeriesSpec[];
  /** Columns of one more curve, by the names that the reader chooses from. */
  choices: Record<string, number>;
}

export interface ExplorerSpec {
  axes: { label: string; values: (number | string)[]; numeric: boolean }[];
  measures: { label: string }[];
  /** For each point its place on each axis, and of each measure mean and interval. */
  points: [number[], ([number, number, number] | null)[]][];
}

export interface Data {
  columns: (number | null)[][];
  charts: (ChartSpec | { explorer: ExplorerSpec })[];
  /** What drawings show, as CSV; empty for nothing. */
  numbers: string[];
}
