import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '../../src/digest/sha256.ts';
import type { PageRecord } from '../studio/page-record.ts';
import { shareValues } from '../studio/shared-values.ts';

const BUILT = fileURLToPath(new URL('../../dist/studio/', import.meta.url));

/** The studio is not built, or was built incompletely. */
export class StudioNotBuilt extends Error {
  override readonly name = 'StudioNotBuilt';
}

/** Reads the built page. @returns what writes a page: one HTML file that opens without a server. @throws StudioNotBuilt. */
export async function openPageWriter(built = BUILT): Promise<(record: PageRecord) => string> {
  const [page, frame] = await Promise.all([readBuilt(built, 'page.html'), readBuilt(built, 'frame.html')]);
  const framed = /<script>([\s\S]*?)<\/script>/.exec(frame)?.[1] ?? '';
  const script = /<script type="module">([\s\S]*?)<\/script>/.exec(page)?.[1];
  if (script === undefined) throw new StudioNotBuilt(`the page in ${built} has no script; run \`npm run studio:build\``);
  return (record) =>
    page
      .replace('%RULES%', () => rulesOf([script, framed]))
      .replace('<title>Espalier</title>', () => `<title>${escapeText(record.title)}</title>`)
      .replace('"%RECORD%"', () => inScript(JSON.stringify(shareValues(record))));
}

async function readBuilt(built: string, name: 'page.html' | 'frame.html'): Promise<string> {
  try {
    const folder = (await readFile(join(built, 'current'), 'utf8')).trim();
    return await readFile(join(built, folder, name), 'utf8');
  } catch (error) {
    throw new StudioNotBuilt('the studio is not built; run `npm run studio:build`', { cause: error });
  }
}

/** Only the page's own script runs, and that of its frame with the workers that it starts; nothing is loaded. */
function rulesOf(scripts: readonly string[]): string {
  const digests = scripts.map((script) => `'sha256-${Buffer.from(sha256Hex(script), 'hex').toString('base64')}'`);
  const own = `script-src ${digests.join(' ')}; worker-src data:; style-src 'unsafe-inline'; img-src data: blob:`;
  return `default-src 'none'; ${own}; base-uri 'none'; form-action 'none'`;
}

/** JSON that ends no script element, begins no comment in one, and is one line in every reader. */
function inScript(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
