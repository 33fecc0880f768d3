import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { secretSources } from './config.ts';

const REFERENCE = /^secret:([A-Z][A-Z0-9_]{0,63})$/;

/** Returns the name in `secret:NAME`; null for any other text. */
export function secretNameOf(text: string): string | null {
  return REFERENCE.exec(text)?.[1] ?? null;
}

/** A secret that is given by name cannot be read: why, and what to do. */
export class SecretUnusable extends Error {
  override readonly name = 'SecretUnusable';
  constructor(name: string, problem: string, remedy: string) {
    super(`the secret ${name} ${problem}; ${remedy}`);
  }
}

/**
 * Reads a secret by its name: the variable `ESPALIER_SECRET_NAME`, or else the file that `ESPALIER_SECRET_NAME_FILE` names, or the file
 * `secrets/NAME` of ESPALIER_HOME. Only its owner may read the file, or, of root, its group. It is read at every use, so that a replaced one counts from the next request on. @throws SecretUnusable.
 */
export function readSecret(name: string): string {
  const { variable, value, file } = secretSources(name);
  const secret = value ?? readFile(name, file, variable);
  if (!/^[\x20-\x7e]+$/.test(secret))
    throw new SecretUnusable(name, 'is empty, or holds line ends or characters outside ASCII', 'copy it again');
  return secret;
}

function readFile(name: string, path: string, variable: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { mode, uid } = fstatSync(file);
    // As Postgres has it for its keys: a file of root may be read by its group, which is how Kubernetes mounts secrets. Windows has no modes.
    if (process.getuid && (mode & (uid === 0 ? 0o037 : 0o077)) !== 0)
      throw new SecretUnusable(
        name,
        'is in a file that other accounts may read',
        `run \`chmod 600\` on secrets/${name} in ESPALIER_HOME, or on the file that ${variable}_FILE names, and replace the secret`,
      );
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof SecretUnusable) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new SecretUnusable(
      name,
      code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`,
      `set ${variable}, or write it to the file secrets/${name} in ESPALIER_HOME with mode 600`,
    );
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
