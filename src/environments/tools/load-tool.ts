import { z } from 'zod';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { loadExport } from './load-export.ts';
import { type Tool, ToolError } from './tool.ts';

const asFunction = <T>() => z.custom<T>((value) => typeof value === 'function', 'must be a function');
const parametersShape = z
  .looseObject({
    type: z.literal('object').default('object'),
    properties: z.record(z.string(), z.unknown()).default({}),
    required: z.array(z.string()).default([]),
  })
  .refine(({ properties, required }) => required.every((name) => Object.hasOwn(properties, name)), {
    message: 'required names must be properties',
  });
const toolShape = z.looseObject({
  name: z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, _ . or -'),
  description: z.string().min(1, 'must say what the tool does'),
  parameters: parametersShape.prefault({}),
  execute: asFunction<Tool['execute']>(),
  executeBatch: asFunction<NonNullable<Tool['executeBatch']>>().optional(),
  reward: asFunction<NonNullable<Tool['reward']>>().optional(),
  close: asFunction<NonNullable<Tool['close']>>().optional(),
  fingerprint: z.string().optional(),
});

/**
 * Loads a tool of the user's from a module: the export `tool`, or the one named behind `#`. Its file's hash is part of its
 * fingerprint.
 * @throws ToolError that names the module and the field.
 */
export async function loadTool(text: string): Promise<Tool> {
  const { value, place, sha256 } = await loadExport(text, 'tool', 'tool');
  const parsed = toolShape.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ToolError(`tool ${place}: ${issue?.path.join('.') || 'the export'}: ${issue?.message}`);
  }
  const own = value as Tool; // as the shape has just shown; called as methods of the object that the module made
  return {
    name: parsed.data.name,
    description: parsed.data.description,
    // a schema is JSON; what is not is refused when it is compiled
    parameters: parsed.data.parameters as { readonly [name: string]: Json },
    fingerprint: `${sha256} ${parsed.data.fingerprint ?? ''}`,
    execute: (args, signal) => own.execute(args, signal),
    ...(parsed.data.executeBatch ? { executeBatch: own.executeBatch?.bind(own) as NonNullable<Tool['executeBatch']> } : {}),
    ...(parsed.data.reward ? { reward: own.reward?.bind(own) as NonNullable<Tool['reward']> } : {}),
    ...(parsed.data.close ? { close: own.close?.bind(own) as NonNullable<Tool['close']> } : {}),
  };
}
