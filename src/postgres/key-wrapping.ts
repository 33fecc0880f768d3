import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sha256Hex } from '../digest/sha256.ts';

/** What encrypts the keys of streams at rest: a master key in a file here, a KMS elsewhere. */
export interface KeyWrapping {
  /** Names the master key, so that another one is noticed. */
  readonly name: string;
  wrap(secret: Uint8Array): Promise<Buffer>;
  unwrap(wrapped: Uint8Array): Promise<Buffer>;
}

let inUse: KeyWrapping | null = null;

/** Sets what wraps keys in this process: whoever opens the platform does, before the first key is read. Null: nothing does. */
export function useKeyWrapping(wrapping: KeyWrapping | null): void {
  inUse = wrapping;
}

export function keyWrapping(): KeyWrapping | null {
  return inUse;
}

/** The master key cannot be used: the file is missing, or is not a key, or another key wrapped what is to be read. */
export class MasterKeyUnusable extends Error {
  override readonly name = 'MasterKeyUnusable';
}

/**
 * Reads a master key: 32 bytes as 64 hexadecimal digits, as `openssl rand -hex 32` writes them. It wraps by AES-256-GCM.
 * @throws MasterKeyUnusable.
 */
export async function readMasterKey(path: string): Promise<KeyWrapping> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new MasterKeyUnusable(`ESPALIER_MASTER_KEY_FILE: cannot read ${path} (${why}); restore the file, or unset it`, {
      cause,
    });
  });
  if (!/^[0-9a-f]{64}$/i.test(text.trim()))
    throw new MasterKeyUnusable(
      `ESPALIER_MASTER_KEY_FILE: ${path} holds no key of 64 hexadecimal digits; make one by \`openssl rand -hex 32\``,
    );
  return masterKey(Buffer.from(text.trim(), 'hex'));
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

function masterKey(key: Buffer): KeyWrapping {
  return {
    name: sha256Hex(Buffer.concat([Buffer.from('espalier master key '), key])).slice(0, 16),
    async wrap(secret) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      return Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
    },
    async unwrap(wrapped) {
      const decipher = createDecipheriv('aes-256-gcm', key, wrapped.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(wrapped.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(wrapped.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    },
  };
}
