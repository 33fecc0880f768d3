import { readFile, writeFile } from 'node:fs/promises';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** The files of a compiled release by their paths, in base64 where they are not text. */
export interface ReleasePack {
  /** The commit it was compiled from. */
  readonly commit: string;
  readonly files: Readonly<Record<string, { readonly text: string } | { readonly base64: string }>>;
}

const WINDOW = 24;

/** Writes a pack, compressed; returns how many bytes that are. */
export async function writePack(file: URL, pack: ReleasePack): Promise<number> {
  const text = Buffer.from(JSON.stringify(pack));
  const params = { [constants.BROTLI_PARAM_LGWIN]: WINDOW, [constants.BROTLI_PARAM_SIZE_HINT]: text.byteLength };
  const bytes = brotliCompressSync(text, { params });
  await writeFile(file, bytes);
  return bytes.byteLength;
}

export async function readPack(file: URL): Promise<ReleasePack> {
  return JSON.parse(brotliDecompressSync(await readFile(file)).toString()) as ReleasePack; // as `writePack` wrote it
}
