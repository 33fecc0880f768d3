import type { Draft } from '../../../append/appender.ts';
import { type KnownTexts, type RememberedPrompt, shownPrompt } from '../../../append/shown-prompt.ts';
import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { wellFormed } from '../../../events/well-formed.ts';
import type { DrawnSegment } from '../../../images/history-renderer.ts';
import { splitSegments } from '../../../images/prepare-text.ts';
import { renderSpecId } from '../../../images/render-spec.ts';
import { segmentDigest } from '../../../images/segment-digest.ts';
import type { Act } from '../../../policies/policy.ts';
import type { GrowingTree, TreeNode } from '../growing-tree.ts';
import type { DrawnHistory, PromptDrawing, Prompter } from './prompt-plan.ts';
import { historyTextAt } from './prompter.ts';

/** Records by which spec a run draws its histories; nothing in text mode. */
export function registration({ drawing }: Prompter, runId: string): Draft[] {
  if (!drawing) return [];
  const { spec } = drawing.renderer;
  const id = renderSpecId(spec);
  return [
    {
      type: 'RenderSpecRegistered',
      id: derivedId('RenderSpecRegistered', runId, id),
      correlationId: runId,
      causationId: derivedId('RunStarted', runId),
      data: { runId, renderSpecId: id, profile: spec.profile, spec },
    },
  ];
}

const RECORDED_LIMIT = 200_000; // ids, some 20 MB; to record a segment twice does no harm

/**
 * Puts on record the segments of a history that are not there yet, whoever drew them: before the model is asked with them, so
 * that no history on record lacks one.
 */
export async function recordSegments(tree: GrowingTree, { rendered }: DrawnHistory): Promise<void> {
  const drawing = tree.prompter?.drawing;
  if (!drawing) return;
  const { renderer, recorded } = drawing;
  const specId = renderSpecId(renderer.spec);
  const fresh = new Map(rendered.segments.filter(({ id }) => !recorded.has(id)).map((drawn) => [drawn.id, drawn]));
  if (fresh.size === 0) return;
  const elsewhere = await drawing.findRecorded([...fresh.keys()]);
  const unrecorded = [...fresh.values()].filter(({ id }) => !elsewhere.has(id));
  if (unrecorded.length > 0) await tree.appender.append(unrecorded.map((drawn) => segmentDraft(tree.runId, specId, drawn)));
  if (recorded.size > RECORDED_LIMIT) recorded.clear();
  for (const id of fresh.keys()) recorded.add(id);
}

function segmentDraft(runId: string, specId: string, { id, text, segment }: DrawnSegment): Draft {
  return {
    type: 'SegmentRendered',
    id: derivedId('SegmentRendered', id),
    correlationId: runId,
    data: {
      segmentId: id,
      renderSpecId: specId,
      text,
      lines: segment.lines,
      width: segment.width,
      height: segment.height,
      rgb: segmentDigest(segment),
      cutLines: segment.cutLines,
      outside: segment.outside,
      unshaped: segment.unshaped,
    },
  };
}

/** Writes down the image that a step was asked with; nothing where it was asked with none. */
export function historyDrafts(
  tree: GrowingTree,
  path: readonly TreeNode[],
  stepId: string,
  history: DrawnHistory | null,
): Draft[] {
  const drawing = tree.prompter?.drawing;
  if (!tree.prompter || !drawing || !history) return [];
  return [historyDraft(tree, tree.prompter, drawing, path, stepId, history)];
}

function historyDraft(
  tree: GrowingTree,
  prompter: Prompter,
  { renderer }: PromptDrawing,
  path: readonly TreeNode[],
  stepId: string,
  history: DrawnHistory,
): Draft {
  const { image, segments } = history.rendered;
  const prefix = prefixOf(tree, prompter, renderer.spec, path, history.texts);
  const data: DataOf<'HistoryRendered'> = {
    treeId: tree.treeId,
    stepId,
    renderSpecId: renderSpecId(renderer.spec),
    prefix,
    segments: segments.slice(prefix ? prefix.to - prefix.from : 0).map(({ id }) => id),
    history: history.kind,
    factor: history.factor,
    factorChosenBy: history.factorChosenBy,
    sizes: { raw: image.raw, resized: image.resized, bordered: image.bordered, model: history.vision.model },
    visionTokens: { count: history.vision.tokens, preset: history.vision.preset },
    textTokens: history.text,
    imageId: image.imageId,
    cut: image.cut,
    outside: image.outside,
    unshaped: image.unshaped,
    cache: { missed: segments.flatMap(({ hit }, i) => (hit ? [] : [i])) },
    timings: { renderMs: history.renderMs },
  };
  return {
    type: 'HistoryRendered',
    id: derivedId('HistoryRendered', stepId),
    correlationId: tree.runId,
    causationId: derivedId('StepTaken', stepId),
    data,
  };
}

/**
 * Finds what of a history the step before was shown already. It depends on the path and the plan alone, never on what this
 * process remembers: a resumed run writes the same event. Steps that a plan goes on behind were asked with no prompt of this run.
 */
function prefixOf(
  tree: GrowingTree,
  prompter: Prompter,
  spec: PromptDrawing['renderer']['spec'],
  path: readonly TreeNode[],
  texts: readonly string[],
): DataOf<'HistoryRendered'>['prefix'] {
  const last = path.at(-1);
  if (!last || last.depth <= (tree.task.behind?.steps ?? 0)) return null;
  const before = historyTextAt(prompter, tree.opening, path.slice(0, -1));
  if (before === null) return null;
  const shown = splitSegments(before, spec);
  for (let from = 0; from < shown.length; from++) {
    const kept = shown.length - from;
    if (kept <= texts.length && shown.slice(from).every((text, i) => text === texts[i]))
      return { stepId: last.stepId, from, to: shown.length };
  }
  return null;
}

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
