/** Bytes as bulk writes take them: COPY and JSON hold them in hex. */
export class WrittenBytes {
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  toJSON(): string {
    return `\\x${this.bytes.toString('hex')}`;
  }
}
