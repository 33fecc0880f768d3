/** Why the embedded server does not run. Every message names the folder or the package and the remedy. */
export class EmbeddedServerError extends Error {
  override readonly name = 'EmbeddedServerError';
  readonly code:
    | 'missing-binaries'
    | 'no-account'
    | 'unreachable-folder'
    | 'unwritable-folder'
    | 'disk-full'
    | 'other-version'
    | 'failed';
  constructor(code: EmbeddedServerError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export const REMEDY = 'set ESPALIER_HOME to another folder, or DATABASE_URL to a Postgres that already runs';

/** Turns what went wrong while a server was started on `folder` into the error that says what to do. */
export function folderError(folder: string, cause: unknown): EmbeddedServerError {
  if (cause instanceof EmbeddedServerError) return cause;
  // Not by instanceof: errors of node:fs come from another realm when the caller runs in a vm context, as under jest.
  const { message: reason = String(cause), syscall, path } = (cause ?? {}) as Partial<NodeJS.ErrnoException>; // read, not trusted
  const call = syscall !== undefined && path !== undefined; // node:fs says both
  if (call && /^E(NOSPC|DQUOT):/.test(reason)) return diskFull(folder, cause);
  if (call)
    return new EmbeddedServerError(
      'unwritable-folder',
      `cannot keep the embedded Postgres in ${folder}: ${reason}; ${REMEDY}`,
      cause,
    );
  return new EmbeddedServerError('failed', `cannot start the embedded Postgres in ${folder}: ${reason}; ${REMEDY}`, cause);
}

/** Turns what initdb or postgres wrote before it ended into the error that says what to do. */
export function outputError(folder: string, program: string, output: string): EmbeddedServerError {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(folder);
  const lines = output.trim().split('\n');
  const reason = lines
    .slice(-4)
    .map((line) => line.trim())
    .join(' | ');
  return new EmbeddedServerError('failed', `${program} in ${folder} ended: ${reason || 'it wrote nothing'}; ${REMEDY}`);
}

function diskFull(folder: string, cause?: unknown): EmbeddedServerError {
  return new EmbeddedServerError(
    'disk-full',
    `no space is left for the embedded Postgres in ${folder}; free some, or ${REMEDY}`,
    cause,
  );
}
