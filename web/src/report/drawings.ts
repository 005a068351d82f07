// The drawings of a report, which the reader may keep: as they are, as pixels, or their numbers.
import { saving } from '../chart/menu';
import { download } from '../dom';

/** Paper is white: colours are those of the light theme. */
function light(name: string): string {
  const probe = document.createElement('span');
  probe.hidden = true;
  probe.style.colorScheme = 'light';
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** A drawing as a file of its own. */
export function drawn(drawing: SVGElement): string {
  const copy = drawing.cloneNode(true) as SVGElement;
  copy.setAttribute('fill', light('ink'));
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/var\(--([a-z0-9]+)\)/g, (_, name: string) => (name === 'card' ? '#ffffff' : light(name)));
}

/** In twice the pixels that it has on the page. */
async function pixels(svg: string): Promise<Blob | null> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
  const context = canvas.getContext('2d');
  if (!context) return null;
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}

/** Each drawing of the page gets its menu. */
export function drawings(numbers: string[]): void {
  for (const figure of document.querySelectorAll<HTMLElement>('figure[data-numbers]')) {
    const drawing = figure.querySelector('svg');
    if (!drawing) continue;
    const table = numbers[Number(figure.dataset.numbers)];
    const caption = figure.querySelector('figcaption')?.textContent ?? '';
    const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'figure';
    const save = async (kind: string): Promise<void> => {
      const file = `transorbit-${name}.${kind.toLowerCase()}`;
      if (kind === 'CSV') return download(file, table ?? '', 'text/csv');
      if (kind === 'SVG') return download(file, drawn(drawing), 'image/svg+xml');
      const picture = await pixels(drawn(drawing));
      if (picture) download(file, picture);
    };
    figure.append(saving('Save this drawing', table ? ['PNG', 'SVG', 'CSV'] : ['PNG', 'SVG'], save));
  }
}
