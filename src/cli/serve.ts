import type { Command } from 'commander';
import { ROLE_NAMES, ROLES, type RoleName, SCOPED_ROLES, type ScopedRoleName } from '../app/roles.ts';
import { type Served, serveRoles } from '../app/serve-roles.ts';

const SCOPED = Object.entries(SCOPED_ROLES).map(([name, { words }]) => [name, ...words].join(' '));

/** `espalier serve`: processes of an installation, one role each or several, until they are stopped. */
export function addServe(program: Command): void {
  const command = program
    .command('serve')
    .argument('<role...>', `${ROLE_NAMES.join(', ')}; or one alone of ${SCOPED.join(', ')}`)
    .addHelpText(
      'after',
      () => `\nRoles that may share a process:\n${rows(ROLES)}\n\nRoles with a process of their own:\n${rows(SCOPED_ROLES)}`,
    );
  command.action((words: readonly string[]) => serveRoles(servedBy(words, command)));
}

function servedBy([first = '', ...words]: readonly string[], command: Command): Served {
  if (!isScoped(first)) return { kind: 'roles', names: [...new Set([first, ...words].map((name) => roleNamed(name, command)))] };
  const taken: readonly string[] = SCOPED_ROLES[first].words;
  const least = taken.filter((word) => !word.startsWith('[')).length;
  if (words.length >= least && words.length <= taken.length) return { kind: 'scoped', name: first, words };
  return refuse(`the role ${first} takes ${taken.join(' ')}, and no other role is in its process`, command);
}

function roleNamed(name: string, command: Command): RoleName {
  const role = ROLE_NAMES.find((each) => each === name);
  if (role !== undefined) return role;
  if (isScoped(name)) return refuse(`the role ${name} has a process of its own`, command);
  return refuse(`no role ${JSON.stringify(name)}; there are ${Object.keys({ ...ROLES, ...SCOPED_ROLES }).join(', ')}`, command);
}

function isScoped(name: string): name is ScopedRoleName {
  return Object.hasOwn(SCOPED_ROLES, name);
}

function refuse(message: string, command: Command): never {
  return command.error(`error: ${message}`, { exitCode: 2 });
}

function rows(roles: Readonly<Record<string, { readonly about: string; readonly words?: readonly string[] }>>): string {
  const lines = Object.entries(roles).map(
    ([name, { about, words = [] }]) => `  ${[name, ...words].join(' ').padEnd(22)}${about}`,
  );
  return lines.join('\n');
}
