// Talks to the core in WebAssembly (crates/wasm). Plain JavaScript, so that Node runs it as it is.

/** A request that the core refused: `field` is the dotted path of the key, `line` that of the scenario's text, from 1. */
export class Refused extends Error {
  /** @param {{ message: string, field: string, line: number | null }} told */
  constructor({ message, field, line }) {
    super(message);
    this.name = 'Refused';
    this.field = field;
    this.line = line;
  }
}

/**
 * @typedef {{ words: string[], codes: Uint32Array }} Words  Texts: each row's place among the words.
 * @typedef {{ rows: number, numbers: Record<string, Float64Array>, texts: Record<string, Words> }} Table
 */

export class Host {
  /** @param {BufferSource | WebAssembly.Module} code */
  static async of(code) {
    const made = await WebAssembly.instantiate(/** @type {BufferSource} */ (code), {});
    const instance = /** @type {WebAssembly.Instance} */ ('instance' in made ? made.instance : made);
    return new Host(instance);
  }

  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    /** @type {any} */
    this.core = instance.exports;
    this.host = this.core.host_new();
  }

  /** Bytes of memory that the core has asked for. */
  get memory() {
    return this.core.memory.buffer.byteLength;
  }

  /**
   * The answer to a request, as bytes that stay.
   * @param {object} request
   * @param {string | Uint8Array} [body]
   * @returns {Uint8Array}
   */
  ask(request, body = '') {
    const encoder = new TextEncoder();
    const head = encoder.encode(JSON.stringify(request));
    const rest = typeof body === 'string' ? encoder.encode(body) : body;
    const room = this.core.host_room(this.host, head.length + rest.length);
    const memory = new Uint8Array(this.core.memory.buffer, room, head.length + rest.length);
    memory.set(head);
    memory.set(rest, head.length);
    const refused = this.core.host_call(this.host, head.length);
    const answer = new Uint8Array(this.core.memory.buffer, this.core.host_answer(this.host), this.core.host_answer_len(this.host)).slice();
    if (refused) throw new Refused(JSON.parse(new TextDecoder().decode(answer)));
    return answer;
  }

  /**
   * @param {object} request
   * @param {string | Uint8Array} [body]
   * @returns {any}
   */
  json(request, body) {
    return JSON.parse(new TextDecoder().decode(this.ask(request, body)));
  }

  /**
   * A table of the last record.
   * @param {string} name
   * @returns {Table}
   */
  table(name) {
    const { head, data } = unpacked(this.ask({ ask: 'table', name }));
    /** @type {Table} */
    const table = { rows: head.rows, numbers: {}, texts: {} };
    for (const column of head.columns) {
      if (column.type === 'text') {
        table.texts[column.name] = { words: column.words, codes: new Uint32Array(data, column.offset, head.rows).slice() };
      } else {
        table.numbers[column.name] = new Float64Array(data, column.offset, head.rows).slice();
      }
    }
    return table;
  }

  /**
   * What a picture of a scenario's path shows, and the positions of the satellites; null for a path without satellites.
   * @param {string} toml
   * @param {number} instants
   */
  globe(toml, instants) {
    const { head, data } = unpacked(this.ask({ ask: 'globe', instants }, toml));
    return head && { ...head, positions: new Float32Array(data) };
  }
}

/**
 * The JSON and the data of a packed answer (crates/wasm/src/pack.rs).
 * @param {Uint8Array} answer
 */
function unpacked(answer) {
  const length = new DataView(answer.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(answer.subarray(4, 4 + length)));
  return { head, data: answer.buffer.slice(4 + length) };
}
