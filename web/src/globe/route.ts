// Where satellites, user and route are at an instant: what the globe draws and the packets' list tells.
import type { Globe } from '../core/messages';

export type Vector = [number, number, number];

const LIGHT_MPS = 299_792_458;

/** The places at an instant, between two of the core's instants. */
export function positions(globe: Globe, seconds: number, into: Float32Array): Float32Array {
  const { instants_s: instants, positions: all, satellites } = globe;
  const [place, share] = between(instants, seconds);
  const size = satellites.length * 3;
  const [before, after] = [place * size, Math.min(place + 1, instants.length - 1) * size];
  for (let at = 0; at < size; at += 3) {
    const [x, y, z] = [0, 1, 2].map((axis) => mix(all[before + at + axis], all[after + at + axis], share)) as Vector;
    // The chord cuts below the orbit: back to its height.
    const height = mix(radius(all, before + at), radius(all, after + at), share) / Math.hypot(x, y, z);
    into[at] = x * height;
    into[at + 1] = y * height;
    into[at + 2] = z * height;
  }
  return into;
}

export function userAt(globe: Globe, seconds: number): Vector {
  const [place, share] = between(globe.instants_s, seconds);
  const [before, after] = [globe.user[place], globe.user[Math.min(place + 1, globe.user.length - 1)]];
  return [0, 1, 2].map((axis) => mix(before?.[axis], after?.[axis], share)) as Vector;
}

/** The route that holds at an instant. */
export function routeAt(globe: Globe, seconds: number): Globe['routes'][number] | undefined {
  let [low, high] = [0, globe.routes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((globe.routes[middle]?.from_s ?? Infinity) <= seconds + 1e-9) low = middle + 1;
    else high = middle;
  }
  return globe.routes[low - 1];
}

export interface Stop {
  name: string;
  /** From the stop before, milliseconds of light. */
  delay_ms: number;
  at: Vector;
}

/** From the gateway over the satellites to the user at an instant. */
export function stops(globe: Globe, seconds: number, at: Float32Array): Stop[] {
  const route = routeAt(globe, seconds);
  if (!route || !route.satellites.length) return [];
  const gateway = globe.gateways[route.gateway ?? 0];
  const found: Stop[] = gateway ? [{ name: globe.gateways.length > 1 ? `gateway ${route.gateway}` : 'gateway', delay_ms: 0, at: gateway }] : [];
  const add = (name: string, place: Vector) => {
    const last = found[found.length - 1];
    const metres = last ? Math.hypot(place[0] - last.at[0], place[1] - last.at[1], place[2] - last.at[2]) : 0;
    found.push({ name, delay_ms: (metres / LIGHT_MPS) * 1000, at: place });
  };
  for (const satellite of route.satellites) {
    const place = 3 * satellite;
    add(`satellite ${globe.satellites[satellite]}`, [at[place] ?? 0, at[place + 1] ?? 0, at[place + 2] ?? 0]);
  }
  add('user', userAt(globe, seconds));
  return found;
}

function between(instants: number[], seconds: number): [number, number] {
  const step = (instants[1] ?? 1) - (instants[0] ?? 0);
  const place = Math.min(Math.max(Math.floor(seconds / step), 0), Math.max(instants.length - 2, 0));
  const from = instants[place] ?? 0;
  const length = (instants[place + 1] ?? from + 1) - from;
  return [place, Math.min(Math.max((seconds - from) / length, 0), 1)];
}

function mix(before: number | undefined, after: number | undefined, share: number): number {
  return (before ?? 0) + ((after ?? 0) - (before ?? 0)) * share;
}

function radius(all: Float32Array, place: number): number {
  return Math.hypot(all[place] ?? 0, all[place + 1] ?? 0, all[place + 2] ?? 0);
}
