import { composePrompt, pastSteps } from '../../domain/prompts/compose-prompt.ts';
import type { TemplateName } from '../../domain/prompts/prompt-template.ts';
import { visibleHistory } from '../../images/choose-shown.ts';
import { type HistoryKind, historySizes } from '../../images/history-sizes.ts';
import { splitSegments } from '../../images/prepare-text.ts';
import { parseRenderSpec, type RenderSpec } from '../../images/render-spec.ts';
import { SegmentCache } from '../../images/segment-cache.ts';
import { textTokens } from '../../images/text-tokens.ts';
import { VISION_PRESETS, type VisionPreset, visionPreset, visionTokens } from '../../images/vision-tokens.ts';
import type { Db } from '../../postgres/database.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { readHistoryImagesOfRun } from '../../projections/images/read-history-images.ts';
import { readRenderSpecsOfRuns } from '../../projections/images/read-render-specs.ts';
import { readRecordedTrees } from '../../projections/trajectories/read-recorded-trees.ts';
import type { RecordedStep, RecordedTree } from '../../projections/trajectories/recorded-tree.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';

/** The history of one step as far as it determines what its image costs at any factor. */
export interface HistoryToShow {
  readonly spec: RenderSpec;
  readonly vision: VisionPreset;
  readonly kind: HistoryKind;
  /** Of the stacked segments, px. */
  readonly height: number;
  /** What the same history costs as text. */
  readonly textTokens: number;
}

export interface SweepRow {
  readonly factor: number;
  /** Of all images together. */
  readonly tokens: number;
  readonly mean: number;
  /** Shares that are saved: of what the histories cost as text, and of what their images cost at factor 1. */
  readonly savedOfText: number;
  readonly savedOfWhole: number;
}

/**
 * Counts what all histories would cost at each factor. No pixel is drawn: tokens follow from sizes. @throws RenderRefused for a
 * factor below 1.
 */
export function sweepFactors(histories: readonly HistoryToShow[], factors: readonly number[]): readonly SweepRow[] {
  const text = histories.reduce((sum, history) => sum + history.textTokens, 0);
  const whole = totalAt(histories, 1);
  return factors.map((factor) => {
    const tokens = totalAt(histories, factor);
    const mean = histories.length > 0 ? tokens / histories.length : 0;
    return { factor, tokens, mean, savedOfText: saved(tokens, text), savedOfWhole: saved(tokens, whole) };
  });
}

/** Reads the histories that a run showed as images. Vision presets that this program does not have count as the default. */
export async function shownHistories(db: Db, runId: string): Promise<readonly HistoryToShow[]> {
  const specs = new Map((await readRenderSpecsOfRuns(db, [runId])).map(({ id, spec }) => [id, parseRenderSpec(spec)]));
  return (await readHistoryImagesOfRun(db, runId)).map((image) => {
    const spec = specs.get(image.renderSpecId);
    if (!spec) throw new Error(`run ${runId} shows an image by render spec ${image.renderSpecId}, which it did not register`);
    const { history: kind, raw, textTokens } = image;
    return { spec, vision: presetOf(image.visionPreset), kind, height: raw.height, textTokens };
  });
}

/**
 * Works out the histories that a run in text would have shown as images: every step behind the first of its path, by a template
 * and a spec. @throws ReplayRefused where the payload of a tree is forgotten.
 */
export async function wouldBeHistories(
  db: Db,
  treeIds: readonly string[],
  options: {
    readonly template: TemplateName;
    readonly historyLength: number;
    /** Whether a first step, which has no history, shows a blank image or none. */
    readonly emptyHistory: 'no-image' | 'blank-image';
    readonly spec: RenderSpec;
    readonly vision: VisionPreset;
  },
): Promise<readonly HistoryToShow[]> {
  const forgotten = await forgottenAmong(db, treeIds);
  if (forgotten.size > 0)
    throw new ReplayRefused(
      `the payload of ${forgotten.size} of the ${treeIds.length} trees is forgotten: their histories have no length`,
    );
  const cache = new SegmentCache();
  const histories: HistoryToShow[] = [];
  for (const treeId of treeIds) {
    const tree = (await db.transaction().execute((trx) => readRecordedTrees(trx, [treeId]))).get(treeId);
    if (!tree) continue;
    for (const { step } of tree.tree.nodes.values()) {
      if (step.depth === 1 && options.emptyHistory === 'blank-image')
        histories.push({ ...options, kind: 'absent', height: options.spec.empty.height, textTokens: 0 });
      if (step.depth < 2) continue;
      const text = historyBefore(tree, step, options);
      const segments = splitSegments(text, options.spec).map((segment) => cache.get(options.spec, segment).entry.segment);
      const kind = segments.length > 0 ? 'segments' : 'blank';
      const { sizes } = visibleHistory(options.spec, segments, 1, kind);
      histories.push({ ...options, kind, height: sizes.raw.height, textTokens: (await textTokens(text)).count });
    }
  }
  return histories;
}

/** Finds a vision preset by its name; the default where there is none of it. */
export function presetOf(name: string): VisionPreset {
  return visionPreset(name) ?? VISION_PRESETS['qwen2.5-vl'];
}

function historyBefore(
  { head, tree }: RecordedTree,
  step: RecordedStep,
  { template, historyLength }: { readonly template: TemplateName; readonly historyLength: number },
): string {
  const turns: RecordedStep[] = [];
  const stepAt = (id: string | null) => (id === null ? undefined : tree.nodes.get(id)?.step);
  let at = stepAt(step.parentStepId);
  for (; at && at.parentStepId !== null; at = stepAt(at.parentStepId)) turns.push(at);
  const past = pastSteps(at?.observation ?? '', turns.reverse());
  const input = { mode: 'image', compression: false, task: head.goal, ...past, admissibleActions: null, historyLength } as const;
  return composePrompt(template, input).historyText;
}

function totalAt(histories: readonly HistoryToShow[], factor: number): number {
  return histories.reduce((sum, { spec, vision, kind, height }) => {
    const { width, height: tall } = historySizes(spec, kind, height, factor).bordered;
    return sum + visionTokens(width, tall, vision).tokens;
  }, 0);
}

function saved(tokens: number, of: number): number {
  return of > 0 ? 1 - tokens / of : 0;
}
