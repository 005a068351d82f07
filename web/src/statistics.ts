// Intervals over seeds: Student's distribution, as python/transorbit/statistics.py has them.

export interface Estimate {
  mean: number;
  /** Half of the interval's width; infinite with one value. */
  half: number;
  count: number;
}

/** The mean of some values and its 95 % interval (Student's t). */
export function estimate(values: number[]): Estimate {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, half: Infinity, count };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  return { mean, half: quantile(count - 1) * Math.sqrt(variance / count), count };
}

/** 97.5 % of Student's distribution lies below it: exact to the digits shown up to 10 degrees, beyond by Cornish and Fisher. */
export function quantile(degrees: number): number {
  const exact = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281];
  const known = exact[degrees - 1];
  if (known !== undefined) return known;
  const z = 1.959964;
  const n = degrees;
  return z + (z ** 3 + z) / (4 * n) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * n ** 2) + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * n ** 3);
}
