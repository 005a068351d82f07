// Runs scenarios with the core in WebAssembly and prints the digest of each as JSON.
// node digests.mjs CORE.wasm < [{ "name": …, "toml": …, "files": { NAME: BASE64 } }, …]
import { readFileSync } from 'node:fs';
import { Host } from '../src/core/host.js';

const [, , core] = process.argv;
const module = await WebAssembly.compile(readFileSync(core));
const found = {};
for (const { name, toml, files } of JSON.parse(readFileSync(0, 'utf8'))) {
  const host = await Host.of(module);
  for (const [file, bytes] of Object.entries(files)) host.ask({ ask: 'file', name: file }, Buffer.from(bytes, 'base64'));
  const begun = performance.now();
  const { duration_s } = host.json({ ask: 'open', watch: [0, 1] }, toml);
  for (let until = 0; until <= duration_s; until += duration_s / 7) host.json({ ask: 'advance', until_s: until });
  host.json({ ask: 'advance', until_s: duration_s });
  const summary = host.json({ ask: 'finish', partial: false });
  found[name] = { digest: summary.digest, events: summary.events, series: host.table('series').rows, took_s: (performance.now() - begun) / 1000 };
}
process.stdout.write(JSON.stringify(found));
