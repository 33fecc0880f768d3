import { composePrompt, TEMPLATE_VERSIONS } from '../../../domain/prompts/compose-prompt.ts';
import { pastSteps } from '../../../domain/prompts/past-steps.ts';
import { projectResponse } from '../../../domain/prompts/project-response.ts';
import type { ComposedPrompt } from '../../../domain/prompts/prompt-template.ts';
import { writeResponse } from '../../../domain/prompts/write-response.ts';
import type { ParsedResponse } from '../../../environments/environment.ts';
import { wellFormed } from '../../../events/well-formed.ts';
import { historySizes } from '../../../images/history-sizes.ts';
import { encodePng } from '../../../images/png.ts';
import { splitSegments } from '../../../images/prepare-text.ts';
import { textTokens } from '../../../images/text-tokens.ts';
import { visionTokens } from '../../../images/vision-tokens.ts';
import type { ShownPart } from '../../../policies/shown-prompt.ts';
import type { TreeNode } from '../tree-node.ts';
import type { PromptPlan } from './prompt-plan.ts';
import type { DrawnHistory, Prompter, StepPrompt } from './step-prompt.ts';

/** The plan's wording is not the one that this program has. */
export class TemplateUnknown extends Error {
  override readonly name = 'TemplateUnknown';
}

/** Checks that this program words prompts as the plan says. @throws TemplateUnknown. */
export function checkTemplate({ template: { name, version } }: PromptPlan): void {
  if (TEMPLATE_VERSIONS[name] !== version)
    throw new TemplateUnknown(
      `the run asks by version ${version} of the template ${name}, this program has version ${TEMPLATE_VERSIONS[name]}; continue with the program that began it`,
    );
}

/**
 * Composes the prompt at the end of a path, with the past as the plan says. The factor of its image is the one that the answer
 * before asked for. A function of the path alone: a resumed run asks the same. @throws RenderRefused where the spec draws no
 * image of the history.
 */
export async function promptStep(
  prompter: Prompter,
  opening: { readonly goal: string },
  path: readonly TreeNode[],
): Promise<StepPrompt> {
  const { plan } = prompter;
  const composed = compose(plan, opening, path);
  const history = await drawHistory(prompter, composed, path);
  const factor = plan.compression?.candidateFactor ?? null;
  return {
    shown: {
      messages: composed.messages.map(({ role, parts }, i) => ({
        role,
        parts: [
          ...parts.map((part): ShownPart => (part.kind === 'text' ? part : pictureOf(history))),
          ...(i === composed.messages.length - 1 ? seenNow(path) : []),
        ],
      })),
      write: (thought, action) => writeResponse(plan.template.name, { thought, action, factor }),
    },
    history,
  };
}

/** Reads an answer by the rules of the template: what is given to the environment, and whether the answer keeps the form. */
export function readAnswer({ plan }: Pick<Prompter, 'plan'>, response: string): ParsedResponse {
  const { thought, action, valid } = projectResponse(plan.template.name, stored(response), {
    compression: plan.compression !== null,
  });
  return { thought, action, wellFormatted: valid };
}

/** Returns the factor that an answer asks for; 1 where none is asked for. */
export function factorOf({ plan }: Prompter, response: string): number {
  return projectResponse(plan.template.name, stored(response), { compression: plan.compression !== null }).factor;
}

/** Draws the history at the end of a path alone, to know what it costs; null where no image is shown there. */
export async function historyAt(
  prompter: Prompter,
  opening: { readonly goal: string },
  path: readonly TreeNode[],
): Promise<DrawnHistory | null> {
  return drawHistory(prompter, compose(prompter.plan, opening, path), path);
}

/** Returns the history that a prompt at the end of a path shows as an image; null where it shows none. */
export function historyTextAt({ plan }: Prompter, opening: { readonly goal: string }, path: readonly TreeNode[]): string | null {
  const composed = compose(plan, opening, path);
  return showsImage(composed) ? composed.historyText : null;
}

function showsImage({ messages }: ComposedPrompt): boolean {
  return messages.some(({ parts }) => parts.some((part) => part.kind === 'history-image'));
}

function compose(plan: PromptPlan, opening: { readonly goal: string }, path: readonly TreeNode[]): ComposedPrompt {
  const [root, ...turns] = path;
  if (!root) throw new RangeError('a path begins with the root');
  // As the record will hold it: a resumed run, which reads the path from there, must compose the same.
  const { steps, observation } = pastSteps(
    seenAt(root),
    turns.map((node) => ({ action: stored(node.action), observation: seenAt(node) })),
  );
  return composePrompt(plan.template.name, {
    mode: plan.mode,
    compression: plan.compression !== null,
    task: stored(opening.goal),
    steps,
    observation,
    admissibleActions: path.at(-1)?.admissibleActions ?? null,
    historyLength: plan.historyLength,
    emptyHistory: plan.image?.emptyHistory ?? 'no-image',
  });
}

async function drawHistory(
  { plan, drawing }: Prompter,
  composed: ComposedPrompt,
  path: readonly TreeNode[],
): Promise<DrawnHistory | null> {
  if (!drawing || !showsImage(composed)) return null;
  const { renderer, vision } = drawing;
  const texts = splitSegments(composed.historyText, renderer.spec);
  const kind = texts.length > 0 ? 'segments' : composed.records.length > 0 ? 'blank' : 'absent';
  const last = path.length > 1 ? path.at(-1) : undefined;
  const reading = last && projectResponse(plan.template.name, stored(last.response), { compression: plan.compression !== null });
  const factor = reading?.factor ?? 1;
  const began = performance.now();
  const rendered = await renderer.renderShared({ segments: texts, factor, ...(kind === 'segments' ? {} : { empty: kind }) });
  rendered.image.imageId; // its pixels are made now, so that the time is theirs
  const renderMs = Math.max(0, performance.now() - began);
  const { width, height, raw } = rendered.image;
  const whole = historySizes(renderer.spec, kind, raw.height, 1).bordered;
  return {
    kind,
    rendered,
    texts,
    factor,
    factorChosenBy: reading?.reading ? (last?.stepId ?? null) : null,
    vision: visionTokens(width, height, vision),
    wholeTokens: visionTokens(whole.width, whole.height, vision).tokens,
    text: await textTokens(composed.historyText),
    renderMs,
  };
}

/** The pictures of what is seen now, behind the words of the template, which has no place for those of the past. */
function seenNow(path: readonly TreeNode[]): ShownPart[] {
  return (path.at(-1)?.pictures ?? []).map(({ imageId, width, height, png }) => {
    return { kind: 'image', imageId, width, height, png: async () => png };
  });
}

function pictureOf(history: DrawnHistory | null): ShownPart {
  if (!history) throw new TypeError('a prompt with a place for an image has one');
  const { image } = history.rendered;
  const { imageId, width, height } = image;
  return { kind: 'image', imageId, width, height, png: () => encodePng(image) };
}

/**
 * Returns what was seen at a node without the list of actions that AgentGym's ALFWorld client writes below it: the template has a
 * place of its own for that.
 */
function seenAt({ observation, admissibleActions }: TreeNode): string {
  const text = stored(observation);
  return admissibleActions === null ? text : text.replace(/\nAVAILABLE ACTIONS: [^\n]*$/, '');
}

function stored(text: string): string {
  return wellFormed(text).value;
}
