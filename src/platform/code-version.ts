import { readFileSync } from 'node:fs';

/** The version of this program, as events, manifests and `--version` name it. */
export const CODE_VERSION: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version; // our own file
