import { isLostBlob } from '../../blobs/blob-store.ts';
import { textReader } from '../../blobs/read-text.ts';
import { meanAmount } from '../../domain/reward/amount.ts';
import type { ScoredEpisode } from '../../domain/reward/scored-episode.ts';
import type { ToolProfile } from '../../domain/tools/plan-turn.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment, parseEnvironment } from '../../environments/open-environment.ts';
import { isOwnReward, openReward, type Reward } from '../../environments/tool-env/open-reward.ts';
import { ToolError } from '../../environments/tools/tool.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { readAnnotationsOfTrees } from '../../projections/annotations/read-annotations.ts';
import { nothingLeft, readLeftOfRun } from '../../projections/forgetting/read-forgotten.ts';
import { readScorable, type ScorableStep, type ScorableTree } from '../../projections/rewards/read-scorable.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { RunRefused, takeOverRecorded, whileHeld } from '../collect/hold-run.ts';
import { collectPlan } from '../collect/plan.ts';
import { scoreTree } from '../collect/score-tree.ts';

export interface ScoreOptions {
  readonly runId: string;
  /** `annotation@LABEL`, or what `openReward` opens. */
  readonly scorer: string;
  /** The component that is written; null for the scorer's own name. `environment` revises the outcome. */
  readonly component: string | null;
  /** In place of the environment of the run's plan, for the ground truth. */
  readonly environment: string | null;
  readonly signal: AbortSignal;
}

interface ScoreCounts {
  readonly scorer: string;
  readonly component: string;
  readonly trees: number;
  readonly assigned: number;
  readonly revised: number;
  readonly standing: number;
  /** Trees that are left out: a scorer reads texts, and theirs are forgotten. */
  readonly forgotten: number;
  /** Trees that are left out, since a text of theirs is lost. */
  readonly unreadable: number;
}

const CATCH_UP_MS = 60_000;

/**
 * Scores a recorded run later: every finished rollout gets a reward of the scorer, or its reward of that component is revised.
 * Events say which; earlier rewards stay in the record. The same command again appends only what is missing. Trees whose payload
 * is forgotten keep their rewards. @throws RunRefused that lists the scorers, or says that nothing is left to score.
 */
export async function score(platform: Platform, options: ScoreOptions): Promise<ScoreCounts> {
  const label = labelOf(options.scorer);
  const reward = label === null ? await openScorer(options.scorer) : null;
  const scorer = reward?.scorer ?? { name: 'annotation', revision: label ?? '' };
  const component = options.component ?? scorer.name;
  const { db } = platform.database;
  const { runId } = options;
  try {
    return await whileHeld(platform, runId, options.signal, async (signal, held) => {
      await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
      const run = await readRun(db, runId);
      if (!run) throw new RunRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
      const left = await readLeftOfRun(db, runId);
      const nothing = nothingLeft(runId, left);
      if (nothing !== null) throw new RunRefused(nothing);
      await takeOverRecorded(platform, held, runId, signal);
      const environment = options.environment ?? collectPlan.safeParse(run.config).data?.environment ?? null;
      const kind = reward?.needs === 'ground-truth' ? await openTruth(environment, runId, scorer.name) : null;
      try {
        const appender = openAppender(platform, 'scorer', { epoch: held.epoch });
        const counts = { trees: 0, assigned: 0, revised: 0, standing: 0, forgotten: left.forgotten.size, unreadable: 0 };
        for await (const tree of readScorable(db, runId)) {
          if (signal.aborted) break;
          if (left.forgotten.has(tree.treeId)) continue;
          const annotated = label === null ? null : await valuesOf(db, tree.treeId, label);
          const read = await resolved(platform, tree);
          if (read === 'unreadable') {
            counts.unreadable++;
            continue;
          }
          const scored = await scoreTree(read, {
            runId,
            scorer,
            component,
            mayChange: annotated !== null,
            profile: profileOf(environment),
            truth: kind?.groundTruth?.(tree.alias) ?? null,
            valueOf: async (episode, rolloutId, path) =>
              reward ? valueBy(reward, episode, rolloutId) : (annotated?.(rolloutId, path) ?? null),
          });
          if (scored.drafts.length > 0) await appender.append(scored.drafts);
          counts.trees++;
          counts.assigned += scored.assigned;
          counts.revised += scored.revised;
          counts.standing += scored.standing;
        }
        return { scorer: `${scorer.name}@${scorer.revision}`, component, ...counts };
      } finally {
        await kind?.close();
      }
    });
  } finally {
    await reward?.close();
  }
}

/** Opens what a recorded run is scored by; the caller closes it. @throws RunRefused that lists the scorers. */
export async function openScorer(text: string): Promise<Reward> {
  return openReward(text).catch((error: unknown) => {
    if (!(error instanceof ToolError)) throw error;
    throw new RunRefused(isOwnReward(text) ? error.message : `${error.message}, or annotation@LABEL`);
  });
}

/** Scores a rollout. @throws RunRefused with the reason why the reward cannot tell. */
export async function valueBy(reward: Reward, episode: ScoredEpisode, rolloutId: string): Promise<number> {
  const { value, refusal, scorer } = await reward.score(episode);
  if (refusal !== null) throw new RunRefused(`${scorer.name} cannot score rollout ${rolloutId}: ${refusal}`);
  return value;
}

/** Opens the environment that knows the right answers of a run. @throws RunRefused where there is none. */
export async function openTruth(environment: string | null, runId: string, scorer: string): Promise<EnvironmentKind> {
  if (environment === null)
    throw new RunRefused(`run ${runId} does not say which environment it was collected in; name it with --environment`);
  const kind = await openEnvironment(environment);
  if (kind.groundTruth) return kind;
  await kind.close();
  throw new RunRefused(
    `${kind.name} knows no ground truth, and ${scorer} needs one; environment-outcome, invalid-action and compression do not`,
  );
}

/** Returns the form in which tools are called, where the environment has tools. */
export function profileOf(environment: string | null): ToolProfile | null {
  const address = environment?.startsWith('tool-env') ? parseEnvironment(environment) : null;
  return address?.environment === 'tool-env' ? address.profile : null;
}

/** Puts texts that lie in the blob store in their places; `unreadable` where one is lost. */
export async function resolved(platform: Platform, tree: ScorableTree): Promise<ScorableTree | 'unreadable'> {
  return withTexts(platform, tree).catch((error: unknown) => {
    if (isLostBlob(error)) return 'unreadable';
    throw error;
  });
}

async function withTexts({ blobs }: Platform, tree: ScorableTree): Promise<ScorableTree> {
  const steps = new Map(tree.steps);
  const read = textReader(blobs);
  for (const step of tree.steps.values()) {
    if (step.blobs === null) continue;
    const text = async (field: 'response' | 'action' | 'observation') => {
      const reference = step.blobs?.[field];
      return reference ? read(reference.blob) : step[field];
    };
    const [response, action, observation] = [await text('response'), await text('action'), await text('observation')];
    steps.set(step.stepId, { ...step, response, action, observation });
  }
  return { ...tree, steps };
}

const NAME = 'annotation@';

/** Returns the label that a scorer reads, `annotation@LABEL`; null of any other scorer. */
function labelOf(scorer: string): string | null {
  return scorer.startsWith(NAME) && scorer.length > NAME.length ? scorer.slice(NAME.length) : null;
}

/**
 * Returns what the annotations of a label say of the rollouts of a tree: the mean of their scores on the rollout and on its path,
 * 1 where none has a score, null for a rollout without such an annotation.
 */
export async function valuesOf(
  db: Db,
  treeId: string,
  label: string,
): Promise<(rolloutId: string, path: readonly ScorableStep[]) => number | null> {
  const said = (await readAnnotationsOfTrees(db, [treeId])).filter((annotation) => annotation.label === label);
  return (rolloutId, path) => {
    const onPath = new Set(path.map(({ stepId }) => stepId));
    const its = said.filter((each) => each.rolloutId === rolloutId || (each.stepId !== null && onPath.has(each.stepId)));
    if (its.length === 0) return null;
    const scores = its.flatMap(({ score }) => (score === null ? [] : [score]));
    return meanAmount(scores) ?? 1;
  };
}
