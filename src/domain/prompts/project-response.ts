import { readFactor } from '../compression/read-factor.ts';
import { findEnclosed } from '../text/enclosed.ts';
import { findSearchAction } from './find-search-action.ts';
import { findTaggedAction } from './find-tagged-action.ts';
import { parseThoughtAction } from './parse-thought-action.ts';
import type { Projection, ReadAnswer } from './projection.ts';
import type { TemplateName } from './prompt-template.ts';

/**
 * Reads what an answer means in its world: the action, whether the answer keeps the form that was asked for, and the factor for
 * the next history image. With `compression` off every factor is 1. A missing or bad factor never makes an answer invalid
 * (specification of AgentOCR, §2.2).
 */
export function projectResponse(name: TemplateName, response: string, options: { readonly compression: boolean }): Projection {
  const found = find(name, response, options);
  const reading = options.compression ? readFactor(response) : null;
  const forced = found.forced && reading !== null;
  return {
    action: found.action,
    thought: found.thought,
    valid: found.broken.length === 0,
    factor: found.forced ? 1 : (reading?.factor ?? 1),
    reading,
    flags: [
      ...found.broken,
      ...(found.action === '' && found.broken.length === 0 ? (['empty-action'] as const) : []),
      ...(forced ? (['factor-forced'] as const) : []),
    ],
  };
}

function find(name: TemplateName, response: string, { compression }: { readonly compression: boolean }): ReadAnswer {
  switch (name) {
    case 'alfworld':
      return findTaggedAction(response, { repeats: compression ? 'all' : 'action-and-think' });
    case 'search-qa':
      return findSearchAction(response);
    case 'webshop':
      return findShopAction(response);
    case 'textcraft':
      return findCommand(response);
    default:
      return name satisfies never;
  }
}

/**
 * As in ALFWorld, but no tags are counted, and the last 20 characters stand for an action that is missing (specification of
 * AgentOCR, §4.3).
 */
function findShopAction(response: string): ReadAnswer {
  const found = findTaggedAction(response, { repeats: 'none' });
  return found.broken.includes('no-action') ? { ...found, action: [...response.toLowerCase()].slice(-20).join('') } : found;
}

/**
 * TextCraft's form is lines, not tags; the factor's own line is taken out first, so that it is not read as what follows the
 * command.
 */
function findCommand(response: string): ReadAnswer {
  const { thought, action, wellFormatted } = parseThoughtAction(withoutFactor(response));
  const broken = action === '' ? (['no-action'] as const) : wellFormatted ? [] : (['not-well-formatted'] as const);
  return { action, thought, broken, forced: false };
}

function withoutFactor(response: string): string {
  let [kept, from] = ['', 0];
  for (const { start, end } of findEnclosed(response, 'compression', 'any-case')) {
    kept += response.slice(from, start);
    from = end;
  }
  return kept + response.slice(from);
}
