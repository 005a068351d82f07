// A chart's curves as uPlot takes them.
import uPlot from 'uplot';
import { tick } from '../numbers';
import { bounds, type Curves, type Line } from './curves';
import { ofCurve, pale, palette } from './palette';

export const LEFT = 62;
export const RIGHT = 20;
const FONT = '11px system-ui, sans-serif';

export function scales(curves: Curves): uPlot.Options['scales'] {
  const { lines, floor, inverted, axis } = curves;
  const ends = lines.flatMap((line) => line.intervals?.flatMap((ends) => ends ?? []) ?? []);
  return {
    x: { time: false, auto: false, distr: axis?.log ? 3 : 1 },
    y: {
      dir: inverted ? -1 : 1,
      range: (plot, low, high) => {
        if (!ends.length || low === null || high === null) return bounds(low, high, floor);
        const seen = lines.flatMap((line, place) => (plot.series[place + 1]?.show ? (line.intervals?.flatMap((ends) => ends ?? []) ?? []) : []));
        return bounds(Math.min(low, ...seen), Math.max(high, ...seen), floor);
      },
    },
  };
}

export function axes({ axis, unit }: Curves): uPlot.Axis[] {
  const colours = palette();
  const both: uPlot.Axis = { stroke: colours.muted, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { stroke: colours.grid, size: 4 } };
  const labelled: uPlot.Axis = axis ? { label: axis.label, labelFont: FONT, labelSize: 18 } : {};
  const fixed: uPlot.Axis = axis?.ticks ? { splits: () => axis.ticks ?? [], filter: (_, at) => at } : {};
  const name = (value: number) => (axis ? Number(value.toPrecision(6)).toLocaleString('en') : `${Number(value.toFixed(6))} s`);
  return [
    { ...both, size: 24, values: (_, at) => at.map((value) => (value === null ? '' : name(value))), ...labelled, ...fixed },
    { ...both, size: LEFT, values: (_, at) => at.map((value) => tick(value, unit)) },
  ];
}

export function series(lines: Line[]): uPlot.Series[] {
  return lines.map((line): uPlot.Series => {
    const stroke = ofCurve(line.colour);
    const area = line.fill || line.below;
    return {
      label: line.label,
      show: !line.hidden,
      stroke: line.faint || line.band ? pale(stroke, 0.4) : stroke,
      width: area || line.band ? 0.5 : line.faint ? 0.8 : 1.4,
      dash: line.dashed ? [5, 3] : undefined,
      fill: line.fill ? pale(stroke, 0.35) : undefined,
      paths: line.step ? uPlot.paths.stepped?.({ align: -1 }) : undefined,
      points: line.intervals ? { show: true, size: 6, fill: stroke } : { show: false },
      spanGaps: Boolean(line.intervals),
    };
  });
}

/** What lies between a line and the one before it. */
export function bands(lines: Line[]): uPlot.Band[] {
  return lines.flatMap((line, place): uPlot.Band[] => {
    if (!line.band && !line.below) return [];
    return [{ series: [place + 1, place], fill: pale(ofCurve(line.colour), line.below ? 0.5 : 0.2) }];
  });
}

/** The vertical line at the instant that everything points at. */
export function mark(plot: uPlot, instant: number): void {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(instant, 'x', true);
  if (!(x >= bbox.left && x <= bbox.left + bbox.width)) return;
  ctx.save();
  ctx.strokeStyle = palette().now;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** The intervals of the values. */
export function whiskers(plot: uPlot, { x, lines }: Curves): void {
  const { ctx, bbox } = plot;
  const cap = 4 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.2 * devicePixelRatio;
  ctx.setLineDash([]);
  lines.forEach((line, place) => {
    if (!line.intervals || !plot.series[place + 1]?.show) return;
    ctx.strokeStyle = ofCurve(line.colour);
    ctx.beginPath();
    line.intervals.forEach((ends, at) => {
      const left = plot.valToPos(x[at] as number, 'x', true);
      if (!ends || ends[1] <= ends[0] || left < bbox.left - 1 || left > bbox.left + bbox.width + 1) return;
      const [low, high] = ends.map((end) => plot.valToPos(end, 'y', true)) as [number, number];
      for (const [x0, y0, x1, y1] of [[left, low, left, high], [left - cap, low, left + cap, low], [left - cap, high, left + cap, high]] as const) {
        ctx.moveTo(x0, y0);
        ctx.lineTo(x1, y1);
      }
    });
    ctx.stroke();
  });
  ctx.restore();
}
