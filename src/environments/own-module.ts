import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../digest/sha256.ts';
import { completeModule, ofModule } from './complete-module.ts';
import { COMPARED, EnvironmentError, type EnvironmentKind } from './environment.ts';
import { defineEnvironment, type EnvironmentEntry, type RawOptions } from './environment-entry.ts';
import { text } from './option-kinds.ts';
import { overlay } from './overlay.ts';
import { readPairs, refusedAddress } from './read-address.ts';
import { readRenderer } from './read-renderer.ts';
import { loadExport } from './tools/load-export.ts';
import { ToolError } from './tools/tool.ts';

const method = z.custom((value) => typeof value === 'function', 'must be a function');
const named = z.string('must be a text').regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, _ . or -');
const entryShape = z.looseObject({
  name: named,
  options: z
    .custom<z.ZodObject>((value) => value instanceof Object && 'shape' in value && 'safeParse' in value, 'must be a zod object')
    .optional(),
  open: method,
  renderer: z.string('must be the path of a file, relative to the module').min(1).optional(),
});
const TIMEOUT_S = 300; // as of servers

const kindShape = z.looseObject({
  name: named.optional(),
  fingerprint: z.string('must be a text').min(1, 'must not be empty').optional(),
  taskAliases: z.array(z.string(), 'must be a list of texts').min(1, 'must name a task'),
  create: method,
  close: method.optional(),
  compare: z.number('must be a share').min(0, 'must be a share, from 0 to 1').max(1, 'must be a share, from 0 to 1').optional(),
  timeout: z.number('must be a number of seconds').positive('must be a number of seconds').max(999_999).optional(),
});

/** An environment that the user brings: a module exports the same `{ name, options, open }` that ours are made of. */
export const ownModule = defineEnvironment({
  name: 'module',
  summary: 'your own, from a module that exports { name, options, open }; the export environment when no other is named',
  options: z.looseObject({
    file: text('FILE[#EXPORT]', 'the module, relative to the working folder, or npm:PACKAGE; its own options follow'),
  }),
  syntax: {
    form: 'module:FILE[#EXPORT][;KEY=VALUE;…]',
    read: (rest) => {
      const [file = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), file };
    },
  },
  open: async ({ file, environment: _name, ...own }) => openModule(file, own as RawOptions),
});

/**
 * What open returns, as its author may write it. `timeout`: the seconds that one call of an episode may take. `compare`: the share
 * of answers of a search, and of rollouts where it is deterministic, that are compared with episodes from the opening.
 */
type GivenKind = Omit<EnvironmentKind, 'name' | 'fingerprint' | 'close'> &
  Partial<EnvironmentKind> & { readonly timeout?: number; readonly compare?: number };

/**
 * Loads and opens it. The hash of its files is part of its fingerprint. @throws EnvironmentError that names the module and the
 * field.
 */
async function openModule(file: string, raw: RawOptions): Promise<EnvironmentKind> {
  const { value, place, sha256 } = await loadExport(file, 'environment', 'environment').catch((cause: unknown) => {
    throw cause instanceof ToolError ? new EnvironmentError('unknown-task', cause.message, { cause }) : cause;
  });
  check(entryShape, value, `environment ${place}: the export`);
  // as checked
  const entry = { summary: '', options: z.strictObject({}), ...(value as Partial<EnvironmentEntry>) } as EnvironmentEntry;
  const parsed = entry.options.safeParse(raw);
  if (!parsed.success) throw refusedAddress({ ...entry, name: `module:${file}` }, raw, parsed.error);
  const { renderer } = value as { readonly renderer?: string }; // as checked
  const kind: GivenKind = await (value as EnvironmentEntry).open(parsed.data); // called as a method of what the module made
  check(kindShape, kind, `environment ${place}: what open returns`);
  const from = { place: `environment ${place}`, timeout: kind.timeout ?? TIMEOUT_S };
  return overlay(kind as EnvironmentKind, {
    name: kind.name ?? entry.name,
    fingerprint: sha256Hex(`${sha256} ${kind.fingerprint ?? ''}`),
    unproven: { rate: kind.compare ?? COMPARED },
    create: async () => completeModule(await ofModule(from, 'create', () => kind.create()), from),
    ...(renderer === undefined ? {} : { renderer: await readRenderer(renderer, dirname(resolve(file.split('#')[0] ?? ''))) }),
    ...(kind.close ? {} : { close: async () => undefined }),
  });
}

function check(shape: z.ZodType, value: unknown, what: string): void {
  const issue = shape.safeParse(value).error?.issues[0];
  if (issue) throw new EnvironmentError('unknown-task', `${[what, ...issue.path].join('.')}: ${issue.message}`);
}
