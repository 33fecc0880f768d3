import type { KnownTools } from '../../domain/tools/plan-turn.ts';
import { type CheckArguments, checkArguments } from './check-arguments.ts';
import { type Tool, ToolError } from './tool.ts';

/** The tools of an environment, ready to be called. */
export interface Toolbox extends KnownTools {
  readonly tools: ReadonlyMap<string, Tool>;
  close(): Promise<void>;
}

/** Puts tools together. The toolbox closes them. @throws ToolError when two have one name or a schema is none. */
export function openToolbox(tools: readonly Tool[], mode: 'seed' | 'full'): Toolbox {
  const byName = new Map<string, Tool>();
  const checks = new Map<string, CheckArguments>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new ToolError(`two tools are called ${JSON.stringify(tool.name)}: name each once`);
    byName.set(tool.name, tool);
    checks.set(tool.name, checkArguments(tool, mode));
  }
  return {
    tools: byName,
    names: [...byName.keys()],
    problemOf: (call) => checks.get(call.name)?.(call) ?? null,
    close: async () => {
      for (const tool of tools) await tool.close?.();
    },
  };
}
