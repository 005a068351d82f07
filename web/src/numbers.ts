// Numbers as people read them.

const PREFIXES: [number, string][] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ']];
/** Units that take a prefix. */
const SCALED = new Set(['bit/s', 's', 'B', 'Hz']);

/** With three digits, or `count`, and its unit: 3.21 Mbit/s. */
export function shown(value: number | null | undefined, unit = '', count = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (!SCALED.has(unit) || value === 0) return `${digits(value, count)}${unit && ' '}${unit}`;
  const size = Math.abs(value);
  const [factor, prefix] = PREFIXES.find(([factor]) => size >= factor * 0.9995) ?? [1e-6, 'µ'];
  if (unit === 's' && factor > 1) return `${digits(value, count)} s`;
  return `${digits(value / factor, count)} ${prefix}${unit}`;
}

/** For an axis, whose unit stands in the title: with a prefix, without the unit but for times. */
export function tick(value: number, unit: string): string {
  if (unit === 's') return shown(Number(value.toPrecision(3)), unit).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');
  const [factor, prefix] = SCALED.has(unit) ? (PREFIXES.find(([factor]) => factor >= 1 && Math.abs(value) >= factor) ?? [1, '']) : [1, ''];
  return `${Number((value / factor).toPrecision(6))}${prefix && ' '}${prefix}`;
}

export function digits(value: number, count = 3): string {
  if (value === 0) return '0';
  if (value < 0) return `−${digits(-value, count)}`;
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= count - 1) return Math.round(value).toLocaleString('en');
  return value.toFixed(Math.min(8, count - 1 - size));
}
