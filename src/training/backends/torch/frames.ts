// Frames as python/espalier_rl/trainer/frames.py has them: ESPF, two little-endian uint32 lengths, a JSON object, raw bytes.

const MAGIC = 'ESPF';
const HEAD = 12;
const LONGEST_JSON = 64 * 2 ** 20;

export interface Frame {
  readonly message: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

/** Returns the parts of one frame, in order; the body's parts are not copied. */
export function writeFrame(message: Readonly<Record<string, unknown>>, body: readonly Uint8Array[] = []): readonly Uint8Array[] {
  const json = Buffer.from(JSON.stringify(message), 'utf8');
  const bytes = body.reduce((sum, part) => sum + part.byteLength, 0);
  if (json.length > LONGEST_JSON || bytes >= 2 ** 32)
    throw new RangeError(`a frame of ${json.length} + ${bytes} bytes is too long`);
  const head = Buffer.alloc(HEAD);
  head.write(MAGIC, 'latin1');
  head.writeUInt32LE(json.length, 4);
  head.writeUInt32LE(bytes, 8);
  return [head, json, ...body];
}

/**
 * Takes a stream's chunks as they come and returns the frames that are whole. @throws RangeError where the stream holds no frame.
 */
export function frameReader(): (chunk: Uint8Array) => readonly Frame[] {
  let chunks: Uint8Array[] = [];
  let held = 0;
  let wanted = HEAD;
  return (chunk) => {
    chunks.push(chunk);
    held += chunk.byteLength;
    const frames: Frame[] = [];
    while (held >= wanted) {
      const bytes = Buffer.concat(chunks);
      const length = frameLength(bytes);
      wanted = length;
      if (held < length) {
        chunks = [bytes];
        break;
      }
      frames.push(readFrame(bytes.subarray(0, length)));
      const rest = bytes.subarray(length);
      [chunks, held, wanted] = [[rest], rest.length, HEAD];
    }
    return frames;
  };
}

function frameLength(bytes: Buffer): number {
  const magic = bytes.toString('latin1', 0, 4);
  if (magic !== MAGIC) throw new RangeError(`a frame begins with ${MAGIC}, not ${JSON.stringify(magic)}`);
  const json = bytes.readUInt32LE(4);
  if (json > LONGEST_JSON) throw new RangeError(`a message of ${json} bytes is longer than ${LONGEST_JSON}`);
  return HEAD + json + bytes.readUInt32LE(8);
}

function readFrame(bytes: Buffer): Frame {
  const end = HEAD + bytes.readUInt32LE(4);
  const message: unknown = JSON.parse(bytes.toString('utf8', HEAD, end));
  if (typeof message !== 'object' || message === null) throw new RangeError('the message of a frame is not an object');
  return { message: { ...message }, body: Uint8Array.from(bytes.subarray(end)) }; // aligned, and free of the stream's buffer
}
