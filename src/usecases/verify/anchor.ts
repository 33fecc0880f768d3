import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Platform } from '../../platform/open-platform.ts';
import { type ChainHead, readDigestAt, readHeads } from '../../projections/journal-chain/read-heads.ts';
import type { Fault } from './verification.ts';

/** Where the heads of the chains are anchored: outside of the database, so that who rewrites the database leaves them behind. */
export interface AnchorFiles {
  readonly anchor: string;
  /** The private key that signs it, PKCS #8 in PEM; made with mode 0600 when neither file is there. */
  readonly key: string;
}

const SCHEMA = 'espalier-anchor/1';
const anchorSchema = z.strictObject({
  schema: z.literal(SCHEMA),
  log: z.string(),
  at: z.string(),
  heads: z.array(
    z.strictObject({
      topic: z.string(),
      partition: z.int().nonnegative(),
      offset: z.int().nonnegative(),
      digest: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
  signature: z.string(),
});
type Anchor = z.infer<typeof anchorSchema>;
type Signed = Pick<Anchor, 'schema' | 'log' | 'at'> & { readonly heads: readonly ChainHead[] };

/** The files of an anchor cannot be used; nothing was compared. */
export class AnchorUnusable extends Error {
  override readonly name = 'AnchorUnusable';
}

/**
 * Compares the chains of the journal with the heads that an anchor holds: a chain that is shorter, or whose record at an
 * anchored head has another digest, was rewritten since, however consistently. Returns whether there was an anchor. @throws
 * AnchorUnusable.
 */
export async function compareWithAnchor(
  { database: { db }, log }: Pick<Platform, 'database' | 'log'>,
  files: AnchorFiles,
  fault: (found: Fault) => void,
): Promise<boolean> {
  const text = await readIfThere(files.anchor);
  if (text === null) return false;
  const anchor = parseAnchor(text, files.anchor);
  const pem = await readIfThere(files.key);
  if (pem === null)
    throw new AnchorUnusable(`the key ${files.key} that signed ${files.anchor} is missing; name it with --anchor-key`);
  const bytes = bytesOf(anchor);
  if (!verify(null, bytes, createPublicKey(keyOf(pem, files.key)), Buffer.from(anchor.signature, 'base64'))) {
    fault({ what: 'anchor', kind: 'changed', place: `${files.anchor}: its signature is not by ${files.key}` });
    return true;
  }
  const identity = await log.identity();
  if (anchor.log !== identity)
    fault({ what: 'anchor', kind: 'foreign', place: `${files.anchor} is of the log ${anchor.log}, this one is ${identity}` });
  for (const head of anchor.heads) {
    const digest = await readDigestAt(db, head);
    const place = `${head.topic}.${head.partition}@${head.offset}, anchored ${anchor.at}`;
    if (digest === null) fault({ what: 'anchor', kind: 'missing', place: `${place}: the chain does not hold it` });
    else if (digest !== head.digest)
      fault({ what: 'anchor', kind: 'changed', place: `${place}: it or a record before it was rewritten` });
  }
  return true;
}

/** Writes the heads of the chains as they are, signed; the file before is replaced in one step. Returns how many there are. */
export async function writeAnchor(
  { database: { db }, log }: Pick<Platform, 'database' | 'log'>,
  files: AnchorFiles,
  at: string,
): Promise<number> {
  const key = await keyFor(files);
  const heads = await readHeads(db);
  const unsigned = { schema: SCHEMA, log: await log.identity(), at, heads: [...heads], signature: '' } as const;
  const signature = sign(null, bytesOf(unsigned), key).toString('base64');
  const part = `${files.anchor}.part`;
  await writeFile(part, `${JSON.stringify({ ...unsigned, signature }, null, 2)}\n`);
  await rename(part, files.anchor);
  return heads.length;
}

/** What is signed: every field but the signature, in a fixed order. */
function bytesOf({ schema, log, at, heads }: Signed): Uint8Array {
  const ordered = (head: ChainHead) => [head.topic, head.partition, head.offset, head.digest];
  return Buffer.from(JSON.stringify([schema, log, at, heads.map(ordered)]));
}

async function keyFor({ key }: AnchorFiles): Promise<KeyObject> {
  const pem = await readIfThere(key);
  if (pem !== null) return keyOf(pem, key);
  const { privateKey } = generateKeyPairSync('ed25519');
  const file = await open(key, 'wx', 0o600);
  try {
    await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  } finally {
    await file.close();
  }
  return privateKey;
}

function keyOf(pem: string, file: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // said below
  }
  throw new AnchorUnusable(`${file} holds no private ed25519 key in PEM; name the key of the anchor with --anchor-key`);
}

function parseAnchor(text: string, file: string): Anchor {
  try {
    return anchorSchema.parse(JSON.parse(text));
  } catch {
    throw new AnchorUnusable(`${file} is no anchor of espalier; name another file, or remove it and keep a new one`);
  }
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
