import type { Draft } from '../../../append/appender.ts';
import { type KnownTexts, type RememberedPrompt, shownPrompt } from '../../../append/shown-prompt.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { wellFormed } from '../../../events/well-formed.ts';
import type { Act } from '../../../policies/policy.ts';
import type { GrowingTree } from '../growing-tree.ts';
import type { TreeNode } from '../tree-node.ts';

/** Draws up the record of the prompt that an act at the end of a path was asked with; nothing where it was asked with none. */
export function promptDrafts(
  tree: GrowingTree,
  path: readonly TreeNode[],
  stepId: string,
  { asked, tokens }: Act,
): { readonly drafts: readonly Draft[]; readonly prompt: RememberedPrompt | null } {
  if (!asked) return { drafts: [], prompt: null };
  const at = path.at(-1);
  const { data, prompt } = shownPrompt(asked, tokens?.ids ?? null, {
    treeId: tree.treeId,
    stepId,
    template: tree.prompter?.plan.template ?? null,
    before: at?.prompt ? { id: at.stepId, prompt: at.prompt } : null,
    known: textsOf(tree, path),
  });
  const draft: Draft = {
    type: 'PromptShown',
    id: derivedId('PromptShown', stepId),
    correlationId: tree.runId,
    causationId: derivedId('StepTaken', stepId),
    data,
  };
  return { drafts: [draft], prompt };
}

/** The texts that the record of a path holds already, with the place of each. */
function textsOf(tree: GrowingTree, path: readonly TreeNode[]): KnownTexts {
  const texts = new Map<string, KnownTexts extends ReadonlyMap<string, infer Place> ? Place : never>();
  const add = (text: string, stepId: string, field: 'instruction' | 'observation' | 'response') => {
    if (text !== '' && !texts.has(text)) texts.set(wellFormed(text).value, { stepId, field });
  };
  add(tree.opening.instruction, tree.rootStepId, 'instruction');
  for (const { stepId, parentStepId, response, observation } of path) {
    if (parentStepId !== null) add(response, stepId, 'response');
    add(observation, stepId, 'observation');
  }
  return texts;
}
