import type { RevisedTurn } from '../../domain/revision/splice.ts';
import { isGood, type Thresholds } from '../../domain/revision/thresholds.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Environment, EnvironmentKind, ParsedResponse } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { sameText } from '../../environments/same-text.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';

export type Checked =
  | { readonly kind: 'verified'; readonly reached: number }
  | ({ readonly kind: 'rejected' } & Pick<DataOf<'RevisionRejected'>, 'reason' | 'reached' | 'stepId' | 'detail'>);

/** Splits a reply into thought and action. */
export type ReadReply = (response: string) => ParsedResponse;

/** Where a revision is executed, and how replies are read there. */
export interface Checking {
  readonly kind: EnvironmentKind;
  /** Null where the environment reads them. */
  readonly read: ReadReply | null;
  readonly signal: AbortSignal;
}

/**
 * Executes a revision from the start: reset, the bad steps, then the good ones (Agent-R's specification, §6 item 12). It holds
 * when every observation is the recorded one and the episode is worth at least alpha at its end. An observation that differs
 * makes the row a lie even where the goal is reached, so it is rejected. A reply that holds the reflection is read, and what it
 * says is executed: it must be as well formed as it was without. The pseudo turn of the signal, which nobody took, is not
 * executed.
 * @throws EnvironmentError: a fault of the environment is no word on the revision.
 */
export async function checkRevision(
  { kind, read, signal }: Checking,
  tree: SearchedTree,
  turns: readonly RevisedTurn[],
  thresholds: Thresholds,
): Promise<Checked> {
  const environment = await kind.create();
  try {
    const { opening, ...started } = await resetAsRecorded(
      environment,
      { alias: tree.alias, seed: tree.seed },
      tree.firstObservation,
    );
    if (started.kind === 'differs') return rejected('diverged', null, tree.tree.root.step.stepId, seen(opening.observation));
    let reached = 0;
    let over = false;
    for (const { part, stepId, response, observation } of turns) {
      if (stepId === null) continue;
      if (over) return rejected('impossible', reached, stepId, 'the episode was over before this step');
      const step = tree.tree.nodes.get(stepId)?.step;
      if (step === undefined) throw new RangeError(`tree ${tree.treeId} has no step ${stepId}`);
      const said = actionIn(read ?? environment.parse, { now: response, before: step.response, taken: step.action });
      if (said === null) return rejected('malformed', null, stepId, `the reply is not well formed: ${quoted(response)}`);
      const { reward, ...result } = await environment.step(said, signal);
      if (!sameText(result.observation, observation))
        return rejected(part === 'bad' ? 'diverged' : 'impossible', null, stepId, seen(result.observation));
      reached = reward.kind === 'delta' ? reached + reward.value : reward.value;
      over = result.terminated || result.truncated;
    }
    if (isGood(reached, thresholds)) return { kind: 'verified', reached };
    return rejected('below', reached, turns.at(-1)?.stepId ?? null, `it reached ${reached}, not ${thresholds.alpha}`);
  } finally {
    await environment.close();
  }
}

/**
 * Returns the action that a turn says: the recorded one where the reply says what it said (an environment may have put another
 * one in its place), else what is read out of it. Null where it is not well formed any more.
 */
function actionIn(
  read: Environment['parse'],
  { now, before, taken }: { readonly now: string; readonly before: string; readonly taken: string },
): string | null {
  if (sameText(now, before)) return taken;
  const [said, was] = [read(now), read(before)];
  if (was.wellFormatted && !said.wellFormatted) return null;
  return said.action === was.action ? taken : said.action;
}

type Rejected = Extract<Checked, { kind: 'rejected' }>;

function rejected(reason: Rejected['reason'], reached: number | null, stepId: string | null, detail: string): Rejected {
  return { kind: 'rejected', reason, reached, stepId, detail };
}

const SHOWN = 2_000; // an observation may be a whole web page

function seen(observation: string): string {
  return `the environment answered ${quoted(observation)}`;
}

function quoted(text: string): string {
  return JSON.stringify(cutText(text, SHOWN));
}
