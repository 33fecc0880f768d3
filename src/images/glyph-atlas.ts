import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { sha256Hex } from '../digest/sha256.ts';

/** The characters of one font at one size: 8-bit coverage masks, all with the same advance. */
export interface GlyphAtlas {
  readonly px: AtlasSize;
  /** SHA-256 of the uncompressed file: a render spec names it. */
  readonly sha256: string;
  /** 26.6 fixed point. */
  readonly advance: number;
  readonly glyphs: ReadonlyMap<number, Glyph>;
  /** What the font draws for a character that it lacks. */
  readonly box: Glyph;
}

/** A mask whose top left corner lies at (x, y) from the pen: row by row, 0 for nothing and 255 for full ink. */
export interface Glyph {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly mask: Uint8Array;
}

export type AtlasSize = 10 | 12;

// measured with FreeType's hinting on, specification §1.2
const ADVANCE: Readonly<Record<AtlasSize, number>> = { 10: 385, 12: 462 };
const BOX = 0xffffff;
const loaded = new Map<AtlasSize, GlyphAtlas>();

/**
 * Returns the atlas of DejaVu Sans Mono 2.37 at a size in pixels. Reads about 70 KB once per process. `atlas/make_atlas.py`
 * describes how it was made.
 */
export function glyphAtlas(px: AtlasSize): GlyphAtlas {
  let atlas = loaded.get(px);
  if (!atlas) {
    const url = new URL(`./atlas/dejavu-sans-mono-${px}.atlas.br`, import.meta.url);
    atlas = parseAtlas(px, brotliDecompressSync(readFileSync(url)));
    loaded.set(px, atlas);
  }
  return atlas;
}

function parseAtlas(px: AtlasSize, bytes: Buffer): GlyphAtlas {
  const glyphs = new Map<number, Glyph>();
  for (let at = 0; at < bytes.length; ) {
    const [width, height] = [bytes.readUInt8(at + 5), bytes.readUInt8(at + 6)];
    const end = at + 7 + width * height;
    const mask = bytes.subarray(at + 7, end);
    glyphs.set(bytes.readUIntBE(at, 3), { x: bytes.readInt8(at + 3), y: bytes.readInt8(at + 4), width, height, mask });
    at = end;
  }
  const box = glyphs.get(BOX);
  if (!box) throw new Error(`the atlas of ${px} px has no box for missing characters`);
  glyphs.delete(BOX);
  return { px, sha256: sha256Hex(bytes), advance: ADVANCE[px], glyphs, box };
}
