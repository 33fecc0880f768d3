import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../runtime/is-loopback.ts';
import { type Reply, refuse } from './reply.ts';

/** Which names a server answers to: those of loopback and those given, or off loopback any where none is given. */
export interface Hosts {
  readonly local: boolean;
  readonly hosts: readonly string[];
}

/**
 * Refuses a request that names another server, in its Host or in its target: a page of another site reaches a server on loopback
 * through a name that resolves here (DNS rebinding), and the Host header then shows that name. Returns the refusal, or undefined.
 */
export function refuseOtherHost(target: string, { host }: IncomingHttpHeaders, { local, hosts }: Hosts): Reply | undefined {
  if (!local && hosts.length === 0) return undefined;
  const named = [host ?? '', ...(/^https?:\/\/([^/?]*)/i.exec(target)?.slice(1) ?? [])];
  const other = named.find((each) => {
    const name = nameOf(each).toLowerCase();
    return !hosts.includes(name) && !(local && isLoopback(name));
  });
  if (other === undefined) return undefined;
  const own = [...(local ? ['loopback names'] : []), ...hosts].join(', ');
  return refuse(
    421,
    `this server answers to ${own}, not to ${JSON.stringify(other.slice(0, 100))}`,
    `use ${local ? 'http://127.0.0.1 or http://localhost' : 'one of them'}; ESPALIER_ALLOWED_HOSTS takes more names`,
  );
}

/**
 * Guards a server on loopback from web pages that the same person has open: a page of another site must not ask it anything (the
 * browser then names the page in Origin or Sec-Fetch-Site), but may link to its pages. Programs send neither header. Returns the
 * refusal, or undefined.
 */
export function refuseForeignPage(method: string, headers: IncomingHttpHeaders): Reply | undefined {
  const { host, origin } = headers;
  // Any origin but our own is refused, readings included: the GraphQL endpoint answers CORS requests, so a foreign page could
  // read it.
  // A name that is allowed besides may be that of a proxy with TLS in front.
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return crossOrigin(origin);
  const site = headers['sec-fetch-site'];
  if (origin === undefined && (site === 'cross-site' || site === 'same-site') && !isLink(method, headers))
    return crossOrigin('another site');
  return undefined;
}

/**
 * Recognises a person who follows a link to a page: a whole window is filled, not a frame, an image or a script. Such a request
 * asks for a page, so that GraphiQL shows the query of a link and runs nothing.
 */
function isLink(method: string, headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination, accept = '' } = headers;
  return method === 'GET' && mode === 'navigate' && destination === 'document' && accept.includes('text/html');
}

function crossOrigin(origin: string): Reply {
  return refuse(
    403,
    `a page of ${JSON.stringify(origin.slice(0, 100))} may not call this server`,
    'call it from a program or from its own pages',
  );
}

/** Returns the name in a Host header, without the port. */
function nameOf(host: string): string {
  return host.startsWith('[') ? host.slice(0, host.indexOf(']') + 1) : host.replace(/:\d*$/, '');
}
