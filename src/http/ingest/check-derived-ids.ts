import { derivedId, isDerived } from '../../events/derived-id.ts';
import { DEFAULT_STAMP, type Envelope, type Stamp } from '../../events/envelope.ts';
import type { Problem } from '../reply.ts';
import type { SentEvent } from './check-events.ts';

/** Ordinals of tasks that are tried for a tree, whose event does not say which it is. */
const TASKS = 4_096;
/** Ordinals that are tried for one request, some 2 µs each. Who sends trees in the order of their tasks needs one for each. */
const TRIES = 20_000;

/**
 * Finds ids of version 8, the form of derived ids, under which an event opens a stream or a judge adds to a tree of others, and
 * which do not follow from its data. Whoever knows a run can compute what its trees and their steps will be called; a key may not
 * take those for something else. Ids of other versions are free: nobody can guess a random one before it is on record. What else a
 * tree holds is identified in the tree, which belongs to its owner.
 */
export function underivableIds(events: readonly SentEvent[], { principal }: Pick<Stamp, 'principal'>): readonly Problem[] {
  // The platform's own programs derive ids by rules of which an event holds no trace.
  if (principal === DEFAULT_STAMP.principal) return [];
  const trees = new TreeSearch();
  for (const { index, event } of events) {
    const opened = openedBy(event);
    if (!opened || !isDerived(opened.id) || opened.follows(trees)) continue;
    const problem = trees.left > 0 ? problemOf(opened) : { ...TOO_MANY, path: `data.${opened.field}` };
    return [{ index, id: event.id, ...problem }]; // a search for the ordinal takes milliseconds: one answer is enough
  }
  return [];
}

const TOO_MANY = {
  message: `could not be looked for: over ${TRIES} ordinals were tried for this request`,
  remedy: 'send trees in the order of their tasks, fewer in a request',
};

interface Opened {
  readonly field: string;
  readonly id: string;
  /** What the id is derived from, for the remedy; null for what only the platform derives. */
  readonly from: string | null;
  readonly follows: (trees: TreeSearch) => boolean;
}

function openedBy(event: Envelope): Opened | undefined {
  const ofPlatform = (field: string, id: string) => ({ field, id, from: null, follows: () => false });
  switch (event.type) {
    case 'ExperimentDeclared':
      return ofPlatform('experimentId', event.data.experimentId);
    case 'RunStarted':
      return ofPlatform('runId', event.data.runId);
    case 'ReplayFinished': // in the stream of its run: a fork derives it
      return ofPlatform('replayId', event.data.replayId);
    case 'TreeOpened': {
      const { treeId: id, runId, task } = event.data;
      const from = 'run, index of the task and alias';
      return { field: 'treeId', id, from, follows: (trees) => trees.follows(id, runId, task.alias) };
    }
    case 'DatasetReleased': {
      const { datasetId: id, name, version } = event.data;
      return { field: 'datasetId', id, from: 'name and version', follows: () => derivedId('dataset', name, version) === id };
    }
    case 'RevisionComposed':
      return ofPlatform('revisionId', event.data.revisionId);
    case 'PromptShown': {
      // with prompts of steps: that of a step which is not taken yet would be taken
      const { judgementId } = event.data;
      return judgementId === undefined ? undefined : ofPlatform('judgementId', judgementId);
    }
    default:
      return undefined;
  }
}

/**
 * Looks for the ordinals that ids of trees come from, within a number of tries: the Python client counts the trees of each task, so that
 * nearly all are the first; collectors count tasks, so that of a run it is tried from behind the last that was found.
 */
class TreeSearch {
  left = TRIES;
  readonly #next = new Map<string, number>();
  readonly #occurrences = new Map<string, number>();

  follows(treeId: string, runId: string, alias: string): boolean {
    if (derivedId('tree', runId, alias) === treeId) return true;
    const task = `${runId} ${alias}`;
    const occurrence = this.#occurrences.get(task) ?? 0;
    if (derivedId('tree', runId, occurrence, alias) === treeId) {
      this.#occurrences.set(task, occurrence + 1);
      return true;
    }
    const first = this.#next.get(runId) ?? 0;
    for (let i = 0; i < TASKS && this.left > 0; i++, this.left--) {
      const ordinal = (first + i) % TASKS;
      if (derivedId('tree', runId, ordinal, alias) !== treeId) continue;
      this.#next.set(runId, (ordinal + 1) % TASKS);
      this.#occurrences.set(task, ordinal + 1);
      return true;
    }
    return false;
  }
}

function problemOf({ field, from }: Opened): Pick<Problem, 'path' | 'message' | 'remedy'> {
  const own = from === null ? '' : `, or derive it from ${from} as docs/concepts/identity.md says`;
  return {
    path: `data.${field}`,
    message: 'is a UUID of version 8, the form of derived ids, and does not follow from the data of the event',
    remedy: `draw a random UUID (version 4 or 7) and keep it for repetitions${own}`,
  };
}
