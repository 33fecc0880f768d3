import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';
import { type Reply, refuse } from './reply.ts';

/** Returns whether a host name or address means this machine only. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'));
}

/**
 * Guards a server on loopback, where keys are optional, from web pages that the same person has open: a page of another site must
 * neither reach it through a name that resolves here (DNS rebinding: the Host header then shows the foreign name) nor ask it
 * anything (the browser then names the page in Origin or Sec-Fetch-Site), but link to its pages. Programs send neither header.
 * Returns the refusal, or undefined.
 */
export function refuseForeignPage(method: string, headers: IncomingHttpHeaders): Reply | undefined {
  const { host, origin } = headers;
  if (host === undefined || !isLoopback(nameOf(host))) {
    return refuse(
      421,
      `this server answers to loopback names only, not to Host ${JSON.stringify((host ?? '').slice(0, 100))}`,
      'use http://127.0.0.1 or http://localhost; to serve other names set ESPALIER_HOST and make API keys',
    );
  }
  // Any origin but our own is refused, readings included: the GraphQL endpoint answers CORS requests, so a foreign page could
  // read it.
  if (origin !== undefined && origin !== `http://${host}`) return crossOrigin(origin);
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
