// Land as a picture for the sphere, drawn from the coastlines that the plots have (Natural Earth, public domain).
import coast from '../../../python/transorbit/plots/coastlines.json';

const WIDTH = 2048;
const HEIGHT = 1024;

type Point = [number, number];

/** An equirectangular map: sea, land, a grid of 30 degrees. */
export function land(colours: { sea: string; land: string; coast: string; grid: string }): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [WIDTH, HEIGHT];
  const context = canvas.getContext('2d');
  if (!context) return canvas;
  context.fillStyle = colours.sea;
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = colours.land;
  context.strokeStyle = colours.coast;
  context.lineWidth = 1.5;
  const x = (longitude: number) => ((longitude + 180) / 360) * WIDTH;
  const y = (latitude: number) => ((90 - latitude) / 180) * HEIGHT;
  for (const line of joined(coast.lines_longitude_latitude_deg as Point[][])) {
    context.beginPath();
    line.forEach(([longitude, latitude], place) => (place ? context.lineTo(x(longitude), y(latitude)) : context.moveTo(x(longitude), y(latitude))));
    const [first, last] = [line[0], line[line.length - 1]];
    if (first && last && Math.abs(first[0] - last[0]) > 180) {
      // Antarctica goes around the pole.
      context.lineTo(x(last[0]), HEIGHT);
      context.lineTo(x(first[0]), HEIGHT);
    }
    context.fill();
    context.stroke();
  }
  context.strokeStyle = colours.grid;
  context.lineWidth = 1;
  for (let longitude = -180; longitude < 180; longitude += 30) stroke(context, x(longitude), 0, x(longitude), HEIGHT);
  for (let latitude = -60; latitude <= 60; latitude += 30) stroke(context, 0, y(latitude), WIDTH, y(latitude));
  return canvas;
}

/** Lines whose ends meet as one, so that the land within can be filled. */
function joined(lines: Point[][]): Point[][] {
  const same = (a?: Point, b?: Point) => Boolean(a && b) && a?.[0] === b?.[0] && a?.[1] === b?.[1];
  const left = lines.map((line) => [...line]);
  const found: Point[][] = [];
  for (let line = left.shift(); line; line = left.shift()) {
    for (let place = 0; place < left.length && !same(line[0], line.at(-1)); place++) {
      const other = left[place] as Point[];
      if (same(line.at(-1), other.at(-1)) || same(line[0], other[0])) other.reverse();
      if (same(line.at(-1), other[0])) line = [...line, ...other];
      else if (same(other.at(-1), line[0])) line = [...other, ...line];
      else continue;
      left.splice(place, 1);
      place = -1;
    }
    found.push(line);
  }
  return found;
}

function stroke(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
