import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { printError } from './terminal.ts';

/** Reads the file name of `--plot`. @throws Error before anything is run when it is neither an SVG nor a PNG. */
export function plotFile(file: string): string {
  if (['.svg', '.png'].includes(extname(file).toLowerCase())) return file;
  throw new Error(`--plot takes a file that ends in .svg or .png, not ${JSON.stringify(file)}`);
}

/** Writes a drawing: as it is, or as an image where the file is a PNG. */
export async function writePlot(file: string, svg: string): Promise<void> {
  if (extname(file).toLowerCase() !== '.png') return writeFile(file, svg);
  const { svgToPng } = await import('../images/svg-to-png.ts'); // its library takes a while to load, and is rarely wanted
  const { png, words } = await svgToPng(svg);
  await writeFile(file, png);
  if (words === 'missing')
    printError(`${file} has no words: this machine has no fonts; install some (fonts-dejavu-core), or write an .svg`);
}
