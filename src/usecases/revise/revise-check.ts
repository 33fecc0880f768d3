import type { RevisedTurn } from '../../domain/revision/splice.ts';
import { isGood, type Thresholds } from '../../domain/revision/thresholds.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Environment, EnvironmentKind, ParsedResponse } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { sameObservation, shownText } from '../../environments/same-observation.ts';
import { sameText } from '../../environments/same-text.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { type SharedEpisodes, type Slots, shareEpisodes, type Walk } from './shared-episodes.ts';

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
  /** Who has an episode takes a turn. */
  readonly slots: Slots;
  readonly signal: AbortSignal;
}

/** Executes the revisions of one tree, several at a time. */
export interface Checks {
  /**
   * Executes a revision from the start: reset, the bad steps, then the good ones (Agent-R's specification, §6 item 12). It holds
   * when every observation is the recorded one and the episode is worth at least alpha at its end. An observation that differs
   * makes the row a lie even where the goal is reached, so it is rejected. A reply that holds the reflection is read, and what it
   * says is executed: it must be as well formed as it was without. The pseudo turn of the signal, which nobody took, is not
   * executed. @throws EnvironmentError: a fault of the environment is no word on the revision; the reason of the signal.
   */
  check(turns: readonly RevisedTurn[], thresholds: Thresholds): Promise<Checked>;
  /** To be called when no check is under way. */
  close(): Promise<void>;
}

/** A task that was opened: how replies are read there, and who walks in it. */
type Opened =
  | { readonly kind: 'shared'; readonly parse: ReadReply; readonly episodes: SharedEpisodes }
  /** Walked once. */
  | { readonly kind: 'alone'; readonly parse: ReadReply; readonly walk: (way: readonly string[]) => Walk }
  | { readonly kind: 'differs'; readonly observation: string };

/**
 * Prepares the execution of revisions. Where episodes can be copied, or equal actions are always answered alike, what several of
 * them begin with is executed once and an action that was taken there before is answered from what was seen; elsewhere each
 * starts from the opening.
 */
export function openChecks(
  { kind, read, signal, slots }: Checking,
  tree: SearchedTree,
  planned: readonly (readonly RevisedTurn[])[],
): Checks {
  const picturesAt = (stepId: string) => tree.pictures.get(stepId) ?? [];
  const firstPictures = picturesAt(tree.tree.root.step.stepId);
  const begin = { task: { alias: tree.alias, seed: tree.seed }, firstObservation: tree.firstObservation, firstPictures };
  /** The first opening, until it is seen that it is of no use to others. */
  let first: Promise<Opened> | null = null;
  let isAlone = false;

  async function open(): Promise<Opened> {
    const endTurn = await slots.take();
    let environment: Environment | null = null;
    try {
      signal.throwIfAborted();
      const begun = await kind.create();
      environment = begun;
      const { opening, ...started } = await resetAsRecorded(begun, begin.task, begin.firstObservation, firstPictures);
      if (started.kind === 'same') {
        const parse = read ?? ((response) => begun.parse(response));
        if (begun.clone === undefined && kind.deterministic !== true)
          return { kind: 'alone', parse, walk: (way) => walkAlone(begun, way, endTurn) };
        const ways = planned.map((turns) => wayOf(parse, tree, turns));
        const episodes = shareEpisodes({ kind, begun: { environment: begun, endTurn }, begin, ways, slots });
        return { kind: 'shared', parse, episodes };
      }
      await begun.close();
      endTurn();
      return { kind: 'differs', observation: shownText(opening) };
    } catch (error) {
      await environment?.close();
      endTurn();
      throw error;
    }
  }

  /** Returns the task as it was opened for all revisions, or for this one where they share nothing. */
  async function openedFor(): Promise<Opened> {
    if (isAlone) return open();
    first ??= open();
    const mine = first;
    const opened = await mine;
    if (opened.kind === 'shared') return opened;
    if (opened.kind === 'alone') isAlone = true;
    if (first !== mine) return openedFor(); // another check has taken it
    first = null;
    return opened;
  }

  async function execute(opened: Opened, turns: readonly RevisedTurn[], thresholds: Thresholds): Promise<Checked> {
    if (opened.kind === 'differs') return rejected('diverged', null, tree.tree.root.step.stepId, seen(opened.observation));
    const way = wayOf(opened.parse, tree, turns);
    const walk = opened.kind === 'shared' ? opened.episodes.walk(way) : opened.walk(way);
    let reached = 0;
    let over = false;
    let taken = 0;
    try {
      for (const { part, stepId, response, observation } of turns) {
        if (stepId === null) continue;
        if (over) return rejected('impossible', reached, stepId, 'the episode was over before this step');
        if (taken++ === way.length)
          return rejected('malformed', null, stepId, `the reply is not well formed: ${quoted(response)}`);
        const result = await walk.step(signal);
        if (!sameObservation(result, { observation, pictures: picturesAt(stepId) }))
          return rejected(part === 'bad' ? 'diverged' : 'impossible', null, stepId, seen(shownText(result)));
        reached = result.reward.kind === 'delta' ? reached + result.reward.value : result.reward.value;
        over = result.terminated || result.truncated;
      }
    } finally {
      await walk.close();
    }
    if (isGood(reached, thresholds)) return { kind: 'verified', reached };
    return rejected('below', reached, turns.at(-1)?.stepId ?? null, `it reached ${reached}, not ${thresholds.alpha}`);
  }

  return {
    async check(turns, thresholds) {
      return execute(await openedFor(), turns, thresholds);
    },
    async close() {
      const opened = await first?.catch(() => null); // the check that opened it throws why it is not there
      if (opened?.kind === 'shared') await opened.episodes.close();
    },
  };
}

/** Takes the actions of a way in an environment that nobody else uses. */
function walkAlone(environment: Environment, way: readonly string[], endTurn: () => void): Walk {
  let taken = 0;
  return {
    step: (signal) => environment.step(way[taken++] ?? '', signal),
    close: async () => {
      await environment.close();
      endTurn();
    },
  };
}

/** Returns the actions of a revision as far as its replies are well formed. */
function wayOf(parse: ReadReply, tree: SearchedTree, turns: readonly RevisedTurn[]): readonly string[] {
  const actions: string[] = [];
  for (const { stepId, response } of turns) {
    const action = stepId === null ? undefined : actionOf(parse, tree, { stepId, response });
    if (action === null) break;
    if (action !== undefined) actions.push(action);
  }
  return actions;
}

function actionOf(
  parse: ReadReply,
  { tree, treeId }: SearchedTree,
  { stepId, response }: { readonly stepId: string; readonly response: string },
): string | null {
  const step = tree.nodes.get(stepId)?.step;
  if (step === undefined) throw new RangeError(`tree ${treeId} has no step ${stepId}`);
  return actionIn(parse, { now: response, before: step.response, taken: step.action });
}

/**
 * Returns the action that a turn says: the recorded one where the reply says what it said (an environment may have put another
 * one in its place), else what is read out of it. Null where it is not well formed any more.
 */
function actionIn(
  read: ReadReply,
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
