import type { ApiKey, Quota, Scope } from './keys.ts';

/** A project in an envelope, a key or a flag: a tenant of the installation. */
export const PROJECT = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** What the records of versions without projects belong to. */
export const DEFAULT_PROJECT = 'default';

/** Who asks, and what that may see and do. */
export interface Principal {
  /** What events that it appends are stamped with. */
  readonly principal: 'local' | `key:${string}`;
  /** The principals of the keys that this one replaces: what they opened is its own. */
  readonly replaces?: readonly string[];
  /** The projects that it sees. */
  readonly projects: readonly string[] | 'all';
  /** The one that it writes. */
  readonly project: string;
  /** Never empty of meaning: `admin` includes every other one. */
  readonly scopes: readonly Scope[];
  /** Null for who is on this machine and shows no key. */
  readonly keyId: string | null;
  readonly name: string;
  /** How much it may ask for in a minute; without a limit where it is left out. */
  readonly quota?: Quota;
}

/** Returns who works on this machine itself: an administrator of every project. */
export function localPrincipal(project: string = DEFAULT_PROJECT): Principal {
  return { principal: 'local', projects: 'all', project, scopes: ['admin'], keyId: null, name: 'local' };
}

/** Returns who shows a key. */
export function principalOf({ keyId, replaces, name, scopes, project, projects, quota }: ApiKey): Principal {
  return {
    principal: `key:${keyId}`,
    replaces: replaces.map((id) => `key:${id}`),
    projects,
    project,
    scopes,
    keyId,
    name,
    quota,
  };
}

/** Returns the same principal writing another of its projects; undefined when that is none of them. */
export function writing(principal: Principal, project: string): Principal | undefined {
  return PROJECT.test(project) && sees(principal, project) ? { ...principal, project } : undefined;
}

/** Whether a principal sees what belongs to a project. */
export function sees({ projects }: Pick<Principal, 'projects'>, project: string): boolean {
  return projects === 'all' || projects.includes(project);
}

/** Whether a stream that `owner` opened belongs to a principal: its own, or that of a key which it replaces. */
export function owns({ principal, replaces = [] }: Pick<Principal, 'principal' | 'replaces'>, owner: string): boolean {
  return owner === principal || replaces.includes(owner);
}

/** Whether a principal has a scope. */
export function may({ scopes }: Pick<Principal, 'scopes'>, scope: Scope): boolean {
  return scopes.includes('admin') || scopes.includes(scope);
}
