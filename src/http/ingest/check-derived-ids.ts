import { derivedId, isDerived } from '../../events/derived-id.ts';
import { DEFAULT_STAMP, type Envelope, type Stamp } from '../../events/envelope.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';

/** An id by which an event declares something, and the derivations that it may come from. */
interface Given {
  readonly field: string;
  readonly id: string;
  /** What the id is derived from, for the remedy; null for what only the platform derives. */
  readonly from: string | null;
  readonly forms: readonly (() => string)[]; // the likeliest first: each takes a hash
  /** A form by an ordinal that the event does not say. */
  readonly numbered?: Numbered;
}
interface Numbered {
  /** What has the ordinals: those of one are looked for from behind the last that was found. */
  readonly of: string;
  readonly count: number;
  readonly form: (ordinal: number) => string;
}

/** Ordinals that are tried where the event does not say which: tasks of a run, candidates of a node. */
const TASKS = 4_096;
const CANDIDATES = 256;
/**
 * Ordinals that are tried for one request, some 2 µs each. Who sends trees and candidates in their order needs one for each; a
 * request of 10,000 events that all name the last ordinal would hold the server for minutes.
 */
const TRIES = 20_000;

/**
 * Finds ids of version 8, the form of derived ids, that do not follow from the data of the event that declares them. Whoever
 * knows a run can compute what its trees, rollouts and steps will be called; a key may not take those for something else. Ids of
 * other versions are free: nobody can guess a random one before it is on record.
 */
export function underivableIds(events: readonly Sent[], { principal }: Pick<Stamp, 'principal'>): readonly Problem[] {
  // The platform's own programs derive ids by rules of which an event holds no trace.
  if (principal === DEFAULT_STAMP.principal) return [];
  const search = new Search();
  for (const { index, event } of events) {
    const wrong = givenBy(event).find((given) => isDerived(given.id) && !search.follows(given));
    if (!wrong) continue;
    const problem = search.left > 0 ? problemOf(wrong) : { ...TOO_MANY, path: `data.${wrong.field}` };
    return [{ index, id: event.id, ...problem }]; // a search for the ordinal takes milliseconds: one answer is enough
  }
  return [];
}

const TOO_MANY = {
  message: `could not be looked for: over ${TRIES} ordinals were tried for this request`,
  remedy: 'send trees in the order of their tasks and candidates in the order of their ordinals, fewer in a request',
};

/** Looks for the derivations that ids come from, within a number of tries. */
class Search {
  left = TRIES;
  readonly #next = new Map<string, number>();

  follows({ id, forms, numbered }: Given): boolean {
    if (forms.some((form) => form() === id)) return true;
    if (!numbered) return false;
    const { of, count, form } = numbered;
    const first = this.#next.get(of) ?? 0;
    for (let i = 0; i < count && this.left > 0; i++, this.left--) {
      const ordinal = (first + i) % count;
      if (form(ordinal) !== id) continue;
      this.#next.set(of, (ordinal + 1) % count);
      return true;
    }
    return false;
  }
}

function problemOf({ field, from }: Given): Pick<Problem, 'path' | 'message' | 'remedy'> {
  const own = from === null ? '' : `, or derive it from ${from} as docs/concepts/identity.md says`;
  return {
    path: `data.${field}`,
    message: 'is a UUID of version 8, the form of derived ids, and does not follow from the data of the event',
    remedy: `draw a random UUID (version 4 or 7) and keep it for repetitions${own}`,
  };
}

function givenBy(event: Envelope): readonly Given[] {
  switch (event.type) {
    case 'ExperimentDeclared':
      return [unknown('experimentId', event.data.experimentId)];
    case 'RunStarted':
      return [unknown('runId', event.data.runId)];
    case 'TreeOpened': {
      const { treeId, runId, task, rootStepId } = event.data;
      const forms = [() => derivedId('tree', runId, task.alias)];
      const numbered = { of: runId, count: TASKS, form: (i: number) => derivedId('tree', runId, i, task.alias) };
      return [
        { field: 'treeId', id: treeId, from: 'run, index of the task and alias', forms, numbered },
        { field: 'rootStepId', id: rootStepId, from: 'tree', forms: [() => derivedId('root', treeId)] },
      ];
    }
    case 'RolloutStarted': {
      const { rolloutId, treeId, ordinal, fromStepId } = event.data;
      const forms = [() => derivedId('rollout', treeId, ordinal), () => derivedId('rollout', treeId, fromStepId)];
      return [{ field: 'rolloutId', id: rolloutId, from: 'tree and ordinal', forms }];
    }
    case 'StepTaken': {
      const { stepId, treeId, parentStepId, rolloutId, depth } = event.data;
      const forms = [
        ...(rolloutId === null ? [] : [() => derivedId('step', rolloutId, depth)]),
        () => derivedId('step', treeId, 'prefix', depth),
      ];
      const candidate = (i: number) => derivedId('candidate', parentStepId, i);
      return [
        {
          field: 'stepId',
          id: stepId,
          from: 'rollout and depth',
          forms,
          numbered: { of: parentStepId, count: CANDIDATES, form: candidate },
        },
      ];
    }
    case 'RewardAssigned': {
      const { rewardId, stepId, rolloutId, component } = event.data;
      const subjects = [stepId, rolloutId].filter((id) => id !== null);
      const forms = subjects.map((id) => () => derivedId('reward', id, component));
      return [{ field: 'rewardId', id: rewardId, from: 'step or rollout, and component', forms }];
    }
    case 'CallCaptured': {
      const { stepId, parentStepId, rolloutId, ordinal } = event.data;
      const forms = [() => derivedId('candidate', parentStepId, `${rolloutId} ${ordinal}`)];
      return stepId === null ? [] : [{ field: 'stepId', id: stepId, from: 'parent, rollout and ordinal of the call', forms }];
    }
    case 'ToolCalled': {
      const { toolCallId, stepId, ordinal } = event.data;
      return [
        { field: 'toolCallId', id: toolCallId, from: 'step and ordinal', forms: [() => derivedId('tool-call', stepId, ordinal)] },
      ];
    }
    case 'DatasetReleased': {
      const { datasetId, name, version } = event.data;
      return [
        { field: 'datasetId', id: datasetId, from: 'name and version', forms: [() => derivedId('dataset', name, version)] },
      ];
    }
    case 'RevisionComposed':
      return [unknown('revisionId', event.data.revisionId)];
    case 'PromptShown':
      return event.data.judgementId === undefined ? [] : [unknown('judgementId', event.data.judgementId)];
    case 'ReplayFinished':
      return [unknown('replayId', event.data.replayId)];
    default:
      return []; // declares no id, or one that is a digest and is compared with what it names
  }
}

/** An id that the platform's programs derive from more than the event holds. */
function unknown(field: string, id: string): Given {
  return { field, id, from: null, forms: [] };
}
