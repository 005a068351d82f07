// What the schema of scenarios says of a key: its kind of input, its range, its meaning.
import type { Schema } from '../core/messages';

/** A schema with its reference followed and `null` left out. */
export function resolved(schema: Schema, root: Schema): Schema {
  let found = schema;
  const { description, default: standard } = schema;
  for (let depth = 0; depth < 8; depth++) {
    if (found.$ref) {
      found = root.$defs?.[found.$ref.replace('#/$defs/', '')] ?? {};
    } else if (found.anyOf && found.anyOf.filter(({ type }) => type !== 'null').length === 1) {
      found = found.anyOf.find(({ type }) => type !== 'null') ?? {};
    } else break;
  }
  return { ...found, description: description ?? found.description, default: standard ?? found.default };
}

/** The kinds of a table whose `kind` chooses: name and schema. */
export function kinds(schema: Schema): Map<string, Schema> {
  const found = new Map<string, Schema>();
  for (const one of schema.oneOf ?? []) {
    const kind = one.properties?.kind?.const;
    if (typeof kind === 'string') found.set(kind, one);
  }
  return found;
}

/** The words that may be chosen: `enum`s, and constants with a sentence each. */
export function words(schema: Schema): { word: string; meaning: string }[] {
  if (schema.enum) return schema.enum.filter((word) => typeof word === 'string').map((word) => ({ word: String(word), meaning: '' }));
  const each = schema.oneOf ?? schema.anyOf ?? [];
  const found = each.flatMap((one) => {
    if (typeof one.const === 'string') return [{ word: one.const, meaning: one.description ?? '' }];
    if (one.enum) return one.enum.map((word) => ({ word: String(word), meaning: one.description ?? '' }));
    return [];
  });
  return found.length === each.length || schema.anyOf ? found : [];
}

/** The unit that a text of this schema carries. */
export function isQuantity(schema: Schema): boolean {
  return schema.type === 'string' && /; units?:/.test(schema.description ?? '') || (schema.type === 'string' && Boolean(schema.examples?.length));
}

export function typeOf(schema: Schema): string | undefined {
  return Array.isArray(schema.type) ? schema.type.find((type) => type !== 'null') : schema.type;
}

/** A number and its unit: "12.5 dB". */
export function split(text: string): { number: string; unit: string } | null {
  const found = /^\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(\D[^]*)$/i.exec(text);
  return found ? { number: found[1] ?? '', unit: (found[2] ?? '').trim() } : null;
}

/** The first sentence of a description. */
export function sentence(text: string | undefined): string {
  const flat = (text ?? '').replace(/\s+/g, ' ').trim();
  const end = /[.;:](\s|$)/.exec(flat);
  const first = end ? flat.slice(0, end.index) : flat;
  return first && `${first[0]?.toUpperCase()}${first.slice(1)}.`;
}
