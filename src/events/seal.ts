import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { sha256Bytes } from '../digest/sha256.ts';
import type { Envelope, Sealed } from './envelope.ts';
import { type Payload, splitPayload } from './payload.ts';

/** The key of a stream: a half that encrypts, and a half that makes initialization vectors. */
export interface StreamKey {
  readonly keyId: string;
  readonly encrypts: KeyObject;
  readonly vectors: Buffer;
}

export const KEY_BYTES = 64;

export function streamKey(keyId: string, secret: Buffer): StreamKey {
  return { keyId, encrypts: createSecretKey(secret.subarray(0, 32)), vectors: secret.subarray(32) };
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
const AUTHENTICATED = { authTagLength: TAG_BYTES } as const;

/**
 * Encrypts the payload of an event by the key of its stream (AES-256-GCM) and leaves placeholders in its place. The
 * initialization vector is a keyed hash of the payload and the event's id, cut to 96 bits: the same event under the same key
 * becomes the same bytes, so that a repetition is recognised without the key, and no vector serves two payloads. The id is
 * authenticated with the text, which cannot be moved into another event. Returns the event itself where it holds no payload.
 */
export function sealEvent(event: Envelope, { keyId, encrypts, vectors }: StreamKey): Envelope {
  const split = splitPayload(event.type, event.data);
  if (!split) return event;
  const text = JSON.stringify(split.payload);
  const iv = Buffer.from(sha256Bytes(vectors, event.id, text).subarray(0, IV_BYTES));
  const cipher = createCipheriv('aes-256-gcm', encrypts, iv);
  cipher.setAAD(Buffer.from(event.id, 'latin1'));
  const sealed: Sealed = {
    key: keyId,
    iv: iv.toString('base64'),
    text: Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64'),
    ...(split.blobs.length > 0 ? { blobs: [...split.blobs] } : {}),
  };
  return { ...event, sealed, data: split.data } as Envelope; // placeholders fit the schema of the type
}

/** Reads sealed payload. @throws SealBroken when the text is not what was sealed for this event under this key. */
export function openSealed({ key, iv, text }: Sealed, eventId: string, { encrypts }: StreamKey): Payload {
  const bytes = Buffer.from(text, 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', encrypts, Buffer.from(iv, 'base64'), AUTHENTICATED);
    decipher.setAAD(Buffer.from(eventId, 'latin1'));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const opened = decipher.update(bytes.subarray(0, -TAG_BYTES)); // of this mode, all of it
    decipher.final();
    return JSON.parse(opened.toString('utf8')) as Payload; // authenticated: what `sealEvent` wrote
  } catch (cause) {
    throw new SealBroken(`the sealed payload of event ${eventId} was changed, or key ${key} is not the one that sealed it`, {
      cause,
    });
  }
}

export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}
