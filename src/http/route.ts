import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Needs } from './authorize.ts';
import { type Reply, refuse } from './reply.ts';

/** A node listener that writes its own answer, as graphql-yoga's. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse) => unknown;

/**
 * One endpoint of the server. An `endpoint` answers one path and method with a reply (undefined when the client went away
 * meanwhile); a `mount` hands a path and all its methods to a node listener; what lies below it is not there, so that no listener
 * has to read `..` in a path.
 */
export type Route =
  | {
      readonly kind: 'endpoint';
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly needs: Needs;
      readonly handle: (req: IncomingMessage) => Promise<Reply | undefined>;
    }
  /**
   * One path for each of many things: `path` names them in words, as `/images/{id}.png`, and `pattern` captures the part that
   * tells which.
   */
  | {
      readonly kind: 'each';
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly pattern: RegExp;
      readonly needs: Needs;
      readonly handle: (req: IncomingMessage, part: string) => Promise<Reply | undefined>;
    }
  | { readonly kind: 'mount'; readonly path: string; readonly needs: Needs; readonly listener: NodeListener };

export type Match = { readonly kind: 'route'; readonly route: Route } | { readonly kind: 'refused'; readonly reply: Reply };

/** Finds the route of a request: 404 for an unknown path, 405 for a method that the path does not take. GET answers HEAD too. */
export function matchRoute(routes: readonly Route[], method: string, path: string): Match {
  const there = routes.filter((route) => isAt(route, path));
  const asked = method === 'HEAD' ? 'GET' : method;
  const route = there.find((candidate) => candidate.kind === 'mount' || candidate.method === asked);
  if (route) return { kind: 'route', route };
  if (there.length === 0)
    return {
      kind: 'refused',
      reply: refuse(404, `nothing is at ${JSON.stringify(path.slice(0, 200))}`, 'GET / lists what there is'),
    };
  const allowed = there.map((candidate) => (candidate.kind === 'mount' ? '' : candidate.method)).join(', ');
  return { kind: 'refused', reply: refuse(405, `${path} takes ${allowed}`, `use ${allowed}`, { headers: { allow: allowed } }) };
}

function isAt(route: Route, path: string): boolean {
  switch (route.kind) {
    case 'endpoint':
      return path === route.path;
    case 'each':
      return route.pattern.test(path);
    case 'mount':
      return path === route.path || path === `${route.path}/`;
    default:
      return route satisfies never;
  }
}
