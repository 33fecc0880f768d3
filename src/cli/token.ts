import type { Command } from 'commander';
import { linkTo } from '../http/local-access.ts';
import { readConfig } from '../runtime/config.ts';
import { installationToken, renewInstallationToken, tokenFile } from '../runtime/installation-token.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier token`: what programs and browsers of this machine show a server on loopback. */
export function addToken(program: Command): void {
  const command = program
    .command('token')
    .option('--link [url]', 'print a link for a browser, to this server or that of ESPALIER_PORT')
    .option('--renew', 'create a new token first; servers use it after a restart');
  command.action(async ({ link, renew }: { readonly link?: string | true; readonly renew?: true }) => {
    const { home, host, port } = readConfig();
    const token = renew ? await renewInstallationToken(home) : await installationToken(home);
    const url = link === undefined ? null : linkTo(link === true ? `http://${host}:${port}` : originOf(link), '/', token);
    if (wantsJson(command))
      return print(JSON.stringify({ token, file: tokenFile(home), ...(url === null ? {} : { link: url }) }));
    print(url ?? token);
  });
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin;
  throw new Error(`--link takes the address of a server, such as http://127.0.0.1:4000, not ${JSON.stringify(text)}`);
}
