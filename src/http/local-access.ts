import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Reply, refuse, text } from './reply.ts';

/** How programs and browsers of this machine show a server on loopback that they may use it. */
export interface LocalAccess {
  /** Whether a credential is the token itself. */
  isToken(presented: string): boolean;
  /** Whether a request carries the cookie of a browser that was let in. */
  hasCookie(headers: IncomingHttpHeaders): boolean;
  /**
   * Lets a browser in that follows a link with the token: the answer keeps it in a cookie, and shows the page without it.
   * Undefined for a request without a token in its address.
   */
  enter(method: string, target: string, headers: IncomingHttpHeaders): Reply | undefined;
}

/** Where a link carries the token. */
const PARAMETER = 'token';

/** Returns a link to a page of a server on loopback that lets a browser in. */
export function linkTo(url: string, path: string, token: string): string {
  return `${url}${path}?${PARAMETER}=${token}`;
}

/** Makes the access by a token. */
export function localAccess(token: string): LocalAccess {
  const ticket = ticketOf(token);
  const isToken = (presented: string) => isSame(presented, token);
  return {
    isToken,
    hasCookie: (headers) => isSame(cookieIn(headers) ?? '', ticket),
    enter(method, target, headers) {
      const page = new URL(target.replace(/^https?:\/\/[^/?]*/i, '').replace(/^[/\\]+/, '/'), 'http://localhost');
      const presented = page.searchParams.get(PARAMETER);
      if (presented === null || method !== 'GET') return undefined;
      if (!isToken(presented))
        return refuse(
          401,
          'the token of this link is not that of this installation',
          'open the link that `espalier token --link` prints',
        );
      page.searchParams.delete(PARAMETER);
      return enter(`${page.pathname}${page.search}`, `${cookieName(headers)}=${ticket}; Path=/; HttpOnly; SameSite=Strict`);
    },
  };
}

/**
 * A page and not a redirection: a cookie of SameSite=Strict is not sent behind a redirection that another site began, as a
 * terminal in a browser does, but it is where our own page goes on. The address with the token is replaced in the history.
 */
function enter(target: string, cookie: string): Reply {
  const address = target.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const page = text(
    200,
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Espalier</title><meta http-equiv="refresh" content="0; url=${address}"><p><a href="${address}">Go on</a></p></html>\n`,
    'text/html; charset=utf-8',
  );
  return { ...page, headers: { ...page.headers, 'set-cookie': cookie } };
}

/** What the cookie holds: cookies go to every port of a host, so it is not the token and opens nothing to other programs. */
function ticketOf(token: string): string {
  return createHmac('sha256', token).update('cookie').digest('base64url');
}

/** Several installations of one machine differ by their ports, which cookies do not. */
function cookieName({ host = '' }: IncomingHttpHeaders): string {
  return `espalier-${/:(\d{1,5})$/.exec(host)?.[1] ?? '80'}`;
}

function cookieIn(headers: IncomingHttpHeaders): string | undefined {
  const name = `${cookieName(headers)}=`;
  const found = headers.cookie?.split(';').find((each) => each.trimStart().startsWith(name));
  return found?.trim().slice(name.length);
}

const key = randomBytes(32);

/** Compares in a time that says nothing of how much is right. */
function isSame(presented: string, right: string): boolean {
  const [a, b] = [presented, right].map((text) => createHmac('sha256', key).update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
