// What the page asks of its worker, and what it is told.
import type { Table } from './host.js';

export type Files = Record<string, Uint8Array>;

export interface Run {
  toml: string;
  files: Files;
  seed?: number;
  /** Keeps the packets that are sent between these seconds. */
  watch?: [number, number];
  /** The tables to hand over, beside the summary. */
  tables: string[];
}

export interface Globe {
  satellites: string[];
  minimum_elevation_deg: number;
  gateways: [number, number, number][];
  user: [number, number, number][];
  instants_s: number[];
  links: [number, number][];
  routes: { from_s: number; gateway: number | null; satellites: number[]; delay_s: number | null }[];
  positions: Float32Array;
}

export interface Outcome {
  summary: Summary;
  tables: Record<string, Table>;
  /** Milliseconds of work, the plan included. */
  took_ms: number;
  /** Bytes of memory that the core has. */
  memory: number;
}

export interface FlowSummary {
  id: number;
  user: number;
  [key: string]: unknown;
}

export interface Summary {
  title: string;
  seed: number;
  simulated_s: number;
  partial: boolean;
  digest: string;
  events: number;
  warnings: string[];
  flows: FlowSummary[];
  channel: { kind: string; reference_snr_db: number | null; reference_varies: boolean };
  conservation: { dropped_by_reason: Record<string, number> } & Record<string, unknown>;
  [key: string]: unknown;
}

export interface Checked {
  values: Record<string, unknown>;
  warnings: string[];
  resolved: string;
}

export interface Line {
  name: string;
  unit: string | null;
  label: string | null;
  meaning: string;
  below: Line[];
}

export interface About {
  version: string;
  schema: Schema;
  columns: { summary: Line[]; series: Line[]; reasons: { name: string; words: string; column: string }[] };
}

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  const?: unknown;
  enum?: unknown[];
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  format?: string;
}

export type Request =
  | { do: 'about' }
  | { do: 'check'; toml: string; files: Files }
  | { do: 'edit'; toml: string; files: Files; path: string; value: unknown }
  | { do: 'globe'; toml: string; files: Files; instants: number }
  | ({ do: 'run' } & Run)
  | { do: 'cancel' };

export type Told =
  | { id: number; done: unknown }
  | { id: number; refused: { message: string; field: string; line: number | null } }
  | { id: number; cancelled: true }
  | { id: number; share: number; now_s: number };
