import type { z } from 'zod';
import { closestName } from '../../../domain/text/closest-name.ts';
import { checkDeclaration } from './check-declaration.ts';
import { type Declaration, type DeclarationFields, declarationFields } from './declaration-fields.ts';
import { mergePreset } from './merge-preset.ts';

/** What is wrong with a declaration: the first field, why, and what to do. */
export interface DeclarationRefused {
  readonly kind: 'refused';
  /** With dots between names; empty for the whole. */
  readonly field: string;
  /** Begins with the field. */
  readonly message: string;
  readonly remedy: string;
}
export type ParsedDeclaration = { readonly kind: 'parsed'; readonly declaration: Declaration } | DeclarationRefused;

/** Reads a declaration from JSON: its shape, its preset, and whether its parts go together. */
export function parseDeclaration(input: unknown): ParsedDeclaration {
  const parsed = declarationFields.safeParse(input);
  return parsed.success ? completeDeclaration(parsed.data) : refuseShape(parsed.error);
}

/** Fills in the preset of a declaration whose shape was checked, and refuses parts that do not go together. */
export function completeDeclaration(fields: DeclarationFields): ParsedDeclaration {
  const merged = mergePreset(fields);
  const declaration: Declaration = {
    ...merged,
    estimator: merged.estimator ?? { name: 'grpo', options: {} },
    rules: merged.rules ?? {},
    seed: merged.seed ?? 1,
  };
  const wrong = checkDeclaration(declaration, fields);
  if (wrong === null) return { kind: 'parsed', declaration };
  return { kind: 'refused', field: wrong.field, message: `${wrong.field}: ${wrong.reason}`, remedy: wrong.remedy };
}

function refuseShape({ issues: [issue] }: z.ZodError): DeclarationRefused {
  const field = issue?.path.join('.') ?? '';
  const message = `${field || 'the declaration'}: ${issue?.message ?? 'is not valid'}`;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const near = unknown === undefined || field !== '' ? null : closestName(unknown, Object.keys(declarationFields.shape));
  const remedy = near === null ? 'correct it; `espalier schemas declaration` shows every field' : `did you mean ${near}?`;
  return { kind: 'refused', field, message, remedy };
}
