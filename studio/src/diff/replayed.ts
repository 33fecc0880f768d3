import type { DiffReplaysQuery } from '../../../graphql/studio/generated/operations.ts';
import type { Pair } from './align.ts';
import type { Step } from './sides.ts';

type Tree = NonNullable<DiffReplaysQuery['tree']>;
export type Divergence = Tree['divergences'][number];
export type Replay = NonNullable<Tree['run']>['replays'][number];
type Shown = Pick<Divergence, 'stepId' | 'field' | 'recorded' | 'replayed' | 'largeTexts'>;

/** In the place of a second rollout: what replays of the first showed. */
export const REPLAY = 'replay';

const KEPT = 2_000; // characters that a finished replay keeps of a value
const COMPARED = new Set(['observation', 'reward', 'pictures', 'stateHash', 'serverFingerprint']); // what ends no replay early

/** A step as a replay showed it. */
export interface Replayed extends Step {
  /** What came out otherwise and is no observation: `reward 1 → 0`. */
  readonly notes: readonly string[];
}

/**
 * Lays the steps of a trajectory next to what the last replay showed of each: what no replay showed otherwise is as it was.
 * @param replay the last that executed the actions of the whole run again.
 */
export function replayedPairs(
  path: readonly Step[],
  divergences: readonly Divergence[],
  replay: Replay | undefined,
): readonly Pair<Replayed>[] {
  const ofStep = new Map<string, Map<string, Shown>>();
  for (const each of lastOf(divergences, replay, path[0]?.id)) {
    const fields = ofStep.get(each.stepId) ?? new Map<string, Shown>();
    ofStep.set(each.stepId, fields.set(each.field, each)); // in the order of time
  }
  return path.map((step): Pair<Replayed> => {
    const last = ofStep.get(step.id) ?? new Map<string, Shown>();
    const notes = [...last.values()]
      .filter(({ field }) => field !== 'observation')
      .map(({ field, recorded, replayed }) => `${field} ${recorded} → ${replayed}`);
    const seen = last.get('observation');
    if (seen && seen.largeTexts.length === 0 && seen.replayed.length >= KEPT && replay?.differences.some(isOf(seen)))
      notes.push(`of the observation the first ${KEPT} characters are on record`);
    const reward = last.get('reward'); // a replay sums up what a step earned
    const rewards = reward
      ? [{ id: `${step.id} as replayed`, component: 'as replayed', value: Number(reward.replayed) }]
      : step.rewards;
    const observed = seen ? { observation: seen.replayed, largeTexts: largeTextsOf(step, seen) } : {};
    return { a: { ...step, notes: [] }, b: { ...step, ...observed, rewards, notes }, equal: last.size === 0 };
  });
}

/** The differences that hold still, in the order of time: the last replay of the run decides on what it compared. */
function lastOf(divergences: readonly Divergence[], replay: Replay | undefined, rootId: string | undefined): readonly Shown[] {
  if (!replay) return divergences;
  const isOlder = ({ occurredAt }: Divergence) => Date.parse(occurredAt) <= Date.parse(replay.finishedAt);
  const found = replay.differences.flatMap(({ stepId, ...each }) =>
    stepId === null ? [] : [{ ...each, stepId, largeTexts: [] }],
  );
  // its report names the first differences alone, and what lies behind another end was not executed
  const comparedAll =
    replay.differing <= replay.differences.length &&
    replay.differences.every(({ field, stepId }) => COMPARED.has(field) && !(field === 'observation' && stepId === rootId));
  return [...(comparedAll ? [] : divergences.filter(isOlder)), ...found, ...divergences.filter((each) => !isOlder(each))];
}

function isOf(seen: Shown) {
  return ({ stepId, field, replayed }: Replay['differences'][number]) =>
    stepId === seen.stepId && field === seen.field && replayed === seen.replayed;
}

/** The large texts of a step as it was replayed. */
function largeTextsOf(step: Step, seen: Shown): Step['largeTexts'] {
  const replayed = seen.largeTexts.find(({ field }) => field === 'replayed');
  return [
    ...step.largeTexts.filter(({ field }) => field !== 'observation'),
    ...(replayed ? [{ ...replayed, field: 'observation' }] : []),
  ];
}
