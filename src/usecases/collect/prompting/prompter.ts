import { type KeyedStore, openKeyedStore } from '../../../blobs/keyed-store.ts';
import { composePrompt, pastSteps, TEMPLATE_VERSIONS } from '../../../domain/prompts/compose-prompt.ts';
import { writeResponse } from '../../../domain/prompts/parse-thought-action.ts';
import { projectResponse } from '../../../domain/prompts/project-response.ts';
import type { ComposedPrompt } from '../../../domain/prompts/prompt-template.ts';
import type { ParsedResponse } from '../../../environments/environment.ts';
import { wellFormed } from '../../../events/well-formed.ts';
import { HistoryRenderer } from '../../../images/history-renderer.ts';
import { historySizes } from '../../../images/history-sizes.ts';
import { encodePng } from '../../../images/png.ts';
import { splitSegments } from '../../../images/prepare-text.ts';
import { renderSpec } from '../../../images/render-profiles.ts';
import { SegmentCache } from '../../../images/segment-cache.ts';
import { textTokens } from '../../../images/text-tokens.ts';
import { VISION_PRESETS, visionPreset, visionTokens } from '../../../images/vision-tokens.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { PromptMessagePart } from '../../../policies/shown-prompt.ts';
import { findKnownSegments } from '../../../projections/images/read-segments.ts';
import type { TreeNode } from '../growing-tree.ts';
import type { DrawnHistory, PromptDrawing, Prompter, PromptPlan, StepPrompt } from './prompt-plan.ts';

/** The plan's wording is not the one that this program has. */
class TemplateUnknown extends Error {
  override readonly name = 'TemplateUnknown';
}

/** Checks that this program words prompts as the plan says. @throws TemplateUnknown. */
function checkTemplate({ template: { name, version } }: PromptPlan): void {
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
          ...parts.map((part): PromptMessagePart => (part.kind === 'text' ? part : pictureOf(history))),
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

/** Does work that draws histories for one episode, and drops what was kept of them at its end. */
export async function drawingFor<Tree extends { readonly prompter?: Prompter }, T>(
  tree: Tree,
  episode: string,
  work: (tree: Tree) => Promise<T>,
): Promise<T> {
  const { prompter } = tree;
  if (!prompter?.drawing) return work(tree);
  try {
    return await work({ ...tree, prompter: { ...prompter, episode } });
  } finally {
    prompter.drawing.renderer.release(episode);
  }
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
  { plan, drawing, episode }: Prompter,
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
  const rendered = await renderer.renderShared({
    segments: texts,
    factor,
    episode,
    ...(kind === 'segments' ? {} : { empty: kind }),
  });
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
function seenNow(path: readonly TreeNode[]): PromptMessagePart[] {
  return (path.at(-1)?.pictures ?? []).map(({ imageId, width, height, png }) => {
    return { kind: 'image', imageId, width, height, png: async () => png };
  });
}

function pictureOf(history: DrawnHistory | null): PromptMessagePart {
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

const drawings = new WeakMap<Platform, Map<string, PromptDrawing>>();
const caches = new WeakMap<Platform, SegmentCache>();

/** The plan names something of images that this program does not have. */
class PromptRefused extends Error {
  override readonly name = 'PromptRefused';
}

/**
 * Opens what composes the prompts of a plan. All runs of a process draw with one cache per platform, and share drawn segments
 * with other processes through the store of objects. @throws PromptRefused, TemplateUnknown.
 */
export function openPrompter(platform: Platform, plan: PromptPlan): Prompter {
  checkTemplate(plan);
  if ((plan.mode === 'image') !== (plan.image !== null))
    throw new PromptRefused('prompt.image must be there in image mode, and null in text mode');
  return { plan, drawing: plan.image ? openDrawing(platform, plan.image) : null };
}

/** Opens the drawn segments, by segment id, that all processes share. */
export function drawnSegments({ objects }: Pick<Platform, 'objects'>): KeyedStore {
  return openKeyedStore(objects, 'segments');
}

/** Returns the cache of drawn segments that all runs of a process share. */
export function segmentCacheOf(platform: Platform): SegmentCache {
  let cache = caches.get(platform);
  if (!cache) {
    cache = new SegmentCache({ store: drawnSegments(platform) });
    caches.set(platform, cache);
  }
  return cache;
}

/** Drops what this process keeps of drawn segments, and which of them it knows as recorded: some may be forgotten. */
export function dropDrawn(platform: Platform): void {
  caches.get(platform)?.clear();
  for (const { recorded, renderer } of drawings.get(platform)?.values() ?? []) {
    recorded.clear();
    renderer.clear();
  }
}

function openDrawing(platform: Platform, { profile, vision }: NonNullable<PromptPlan['image']>): PromptDrawing {
  const known = drawings.get(platform) ?? new Map<string, PromptDrawing>();
  drawings.set(platform, known);
  const key = `${profile} ${vision}`;
  const drawing = known.get(key) ?? {
    renderer: new HistoryRenderer(renderSpec(profile), { cache: segmentCacheOf(platform) }),
    vision: presetOf(vision),
    recorded: new Set<string>(),
    findRecorded: (ids) => findKnownSegments(platform.database.db, ids),
  };
  known.set(key, drawing);
  return drawing;
}

function presetOf(name: string): PromptDrawing['vision'] {
  const preset = visionPreset(name);
  if (!preset)
    throw new PromptRefused(`there is no vision preset ${JSON.stringify(name)}; name ${Object.keys(VISION_PRESETS).join(', ')}`);
  return preset;
}
