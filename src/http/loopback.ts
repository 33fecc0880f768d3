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
 * neither reach it through a name that resolves here (DNS rebinding: the Host header then shows the foreign name) nor post to it
 * (the browser then names the page in Origin or Sec-Fetch-Site). Programs send neither header. Returns the refusal, or undefined.
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
  const reading = method === 'GET' || method === 'HEAD'; // a link from another page to this one is fine
  if (!reading && origin === undefined && (site === 'cross-site' || site === 'same-site')) return crossOrigin('another site');
  return undefined;
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
