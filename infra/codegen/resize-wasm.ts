import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openWabt from 'wabt';

const SOURCE = new URL('../../src/images/resize/resize.wat', import.meta.url);
const TARGET = new URL('../../src/images/resize/resize-wasm.ts', import.meta.url);

/** Compiles the inner loops of the resize. The same source makes the same text. */
export async function generateResizeWasm(): Promise<string> {
  const wabt = await openWabt();
  const parsed = wabt.parseWat('resize.wat', await readFile(SOURCE, 'utf8'), { simd: true });
  try {
    parsed.validate();
    const lines =
      Buffer.from(parsed.toBinary({}).buffer)
        .toString('base64')
        .match(/.{1,120}/g) ?? [];
    const text = lines.map((line) => `  '${line}'`).join(' +\n');
    return `/** \`resize.wat\` in base64; made by \`npm run codegen:resize\`. */\nexport const RESIZE_WASM =\n${text};\n`;
  } finally {
    parsed.destroy();
  }
}

/** Reads what is committed. */
export function readResizeWasm(): Promise<string> {
  return readFile(TARGET, 'utf8');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(TARGET, await generateResizeWasm());
