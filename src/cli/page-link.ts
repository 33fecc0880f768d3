import { linkTo } from '../http/local-access.ts';
import type { Config } from '../runtime/config.ts';
import { installationToken } from '../runtime/installation-token.ts';
import { isLoopback } from '../runtime/is-loopback.ts';

/** Returns the address of a page of a server, on loopback with the token that lets a browser in. */
export async function pageLink({ home, host }: Pick<Config, 'home' | 'host'>, url: string, path: string): Promise<string> {
  return isLoopback(host) ? linkTo(url, path, await installationToken(home)) : `${url}${path}`;
}
