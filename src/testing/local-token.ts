import { writeFile } from 'node:fs/promises';
import { tokenFile } from '../runtime/installation-token.ts';

/** The token of every test installation, so that raw requests can be written down before there is one. */
export const LOCAL_TOKEN = `espalier_local_${'test'.repeat(11).slice(1)}`;
/** The header that shows it. */
export const LOCAL = { authorization: `Bearer ${LOCAL_TOKEN}` } as const;

/** Makes it the token of an installation. */
export async function writeLocalToken(home: string): Promise<void> {
  await writeFile(tokenFile(home), `${LOCAL_TOKEN}\n`, { mode: 0o600 });
}
