export interface DrawnSvg {
  readonly png: Uint8Array;
  /** Whether this machine has a font for words; without one a drawing comes out, but its words do not. */
  readonly words: 'drawn' | 'missing';
}

const DENSITY = 144; // pixels an inch, twice what SVG counts in: sharp on dense screens and in print
const PROBE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text x="2" y="16" font-family="sans-serif">Hm</text></svg>';

/** Draws SVG text as a PNG image of twice its size in pixels, on white. @throws Error when the text is no SVG. */
export async function svgToPng(svg: string): Promise<DrawnSvg> {
  const { default: sharp } = await import('sharp');
  const image = sharp(Buffer.from(svg), { density: DENSITY }).flatten({ background: 'white' });
  const [png, words] = await Promise.all([image.png({ compressionLevel: 9 }).toBuffer(), canDrawWords()]);
  return { png, words: words ? 'drawn' : 'missing' };
}

async function canDrawWords(): Promise<boolean> {
  const { default: sharp } = await import('sharp');
  const pixels = await sharp(Buffer.from(PROBE)).ensureAlpha().raw().toBuffer();
  return pixels.some((value) => value > 0);
}
