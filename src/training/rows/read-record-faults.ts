import { sql } from 'kysely';
import { type Sampling, serverSampling, wholeSampling } from '../../domain/prompts/policy-prompt.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import {
  findCaptureFault,
  findSamplingFault,
  findTokensFault,
  findTokenValueFault,
  findWalkFault,
  type RecordedArray,
  type RecordedArrays,
  type RecordFault,
  type TokenValues,
} from '../../domain/training/planning/record-fault.ts';
import type { Db } from '../../postgres/database.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { keyInTree, type OfTree, pairsOf } from '../../projections/of-tree.ts';
import { readPaths } from '../../projections/step-tree/read-paths.ts';
import { readTokenBytes } from '../../projections/step-tree/read-token-bytes.ts';
import type { TokenViews } from '../../projections/step-tree/token-bytes.ts';
import { chosenOf } from '../backends/linear/decisions.ts';
import { sampledTokens } from '../backends/step-row.ts';
import { RowsError } from './batch-rows.ts';
import type { BlobReader } from './read-blob.ts';
import { readWalks, type WalkRow } from './read-record.ts';
import { type RecordedStep, readRecordedSteps } from './read-recorded-steps.ts';

/**
 * What will learn from the rows: our policy over candidates, our models of tokens (those that read texts alone, and those that
 * may read pictures), or the trainer of another program, of which only its rows are known.
 */
export type Learner = 'candidates' | 'texts' | 'pictures' | 'other';

/** By `keyInTree`. */
export interface RecordFindings {
  /** Of each rollout that cannot be trained on: what is wrong. */
  readonly faults: ReadonlyMap<string, RecordFault>;
  /** Of each other one: the temperature that all its steps were sampled at. */
  readonly temperatures: ReadonlyMap<string, number>;
}

/**
 * Finds why the rows of finished rollouts could not be read, or not be trained on by their learner, and what sound ones were
 * sampled at. With the layout `verl` a row per trajectory must come of them. It asks what the reader of rows and the
 * backends ask, of the same read models, so that whatever is planned can be read. What lies in the blob store is not opened: a
 * blob that is missing is restored, and its batch trained.
 */
export async function readRecordFaults(
  { db, blobs }: { readonly db: Db; readonly blobs: BlobReader },
  rollouts: readonly OfTree[],
  learner: Learner,
  rules: Pick<PlanRules, 'layout' | 'unclear' | 'unknownSampling'>,
): Promise<RecordFindings> {
  const walks = new Map((await readWalks(db, rollouts)).map((walk) => [keyInTree(walk.treeId, walk.rolloutId), walk]));
  const paths = await readPaths(
    db,
    [...walks.values()].map(({ treeId, leafStepId: id }) => ({ treeId, id })),
  );
  const faults = new Map<string, RecordFault>();
  const forgotten = await forgottenAmong(
    db,
    [...walks.values()].map(({ treeId }) => treeId),
  );
  const whole: Walked[] = [];
  for (const { treeId, id: rolloutId } of rollouts) {
    const key = keyInTree(treeId, rolloutId);
    const walk = walks.get(key);
    const path = walk ? (paths.get(keyInTree(treeId, walk.leafStepId)) ?? []) : [];
    const fault = walk ? findWalkFault(walk, path) : `the end of rollout ${rolloutId} is not in its tree: it was refused there`;
    if (fault !== null) faults.set(key, incomplete(fault));
    else if (walk && forgotten.has(treeId)) faults.set(key, incomplete(`the payload of tree ${treeId} is forgotten`));
    else if (walk) whole.push({ walk, path, own: path.slice(path.indexOf(walk.fromStepId) + 1) });
  }
  const temperatures = new Map<string, number>();
  const steps = await findStepFaults(db, stepsOn(whole), learner);
  const sound = whole.filter(({ walk, path, own }) => {
    const keyOf = (id: string) => keyInTree(walk.treeId, id);
    const broken =
      path.map((id) => steps.unreadable.get(keyOf(id))).find(Boolean) ??
      own.map((id) => steps.untrained.get(keyOf(id))).find(Boolean) ??
      (readsChats(learner) ? findLostPrompt(walk, path, own, steps.ids) : null) ??
      (rules.layout === 'verl' ? findHole(walk, own, steps.ids) : null);
    const sampling = learner === 'candidates' ? ({ unknownSampling: 'keep' } as const) : rules; // there is nothing to cut by
    const drawn = broken ? incomplete(broken) : temperatureOf(walk, own, steps.ids, sampling);
    const found = typeof drawn === 'number' ? (findCaptureFault(walk, rules) ?? drawn) : drawn;
    if (typeof found === 'number') temperatures.set(keyOf(walk.rolloutId), found);
    else faults.set(keyOf(walk.rolloutId), found);
    return typeof found === 'number';
  });
  if (learner === 'candidates')
    for (const [id, fault] of await findChoiceFaults(db, blobs, sound)) faults.set(id, incomplete(fault));
  return { faults, temperatures };
}

function readsChats(learner: Learner): boolean {
  return learner === 'texts' || learner === 'pictures';
}

function incomplete(rule: string): RecordFault {
  return { reason: 'incomplete-record', rule: rule.slice(0, 2_000), measured: null };
}

interface Walked {
  readonly walk: WalkRow;
  /** From the root to the leaf, and of them the steps that the rollout took itself. */
  readonly path: readonly string[];
  readonly own: readonly string[];
}

/** Returns the steps of paths, each once. */
function stepsOn(walked: readonly Walked[]): readonly OfTree[] {
  const steps = new Map<string, OfTree>();
  for (const { walk, path } of walked) for (const id of path) steps.set(keyInTree(walk.treeId, id), { treeId: walk.treeId, id });
  return [...steps.values()];
}

const SLICE = 256; // steps of one statement: some 3 MB with their tokens

/** Finds the steps whose token arrays do not fit, which nobody can read, and those of which no token is trained, by `keyInTree`. */
async function findStepFaults(db: Db, wanted: readonly OfTree[], learner: Learner) {
  const ofTokens = readsChats(learner);
  const unreadable = new Map<string, string>();
  const untrained = new Map<string, string>();
  const held = new Map<string, HeldIds>();
  for (let from = 0; from < wanted.length; from += SLICE)
    for (const row of await readArrays(db, wanted.slice(from, from + SLICE))) {
      const key = keyInTree(row.treeId, row.stepId);
      held.set(key, row);
      const { stepId, arrays, values, sampled, prompt, promptIds } = row;
      const fault = arrays && (findTokensFault(stepId, arrays) ?? findTokenValueFault(`step ${stepId}`, values()));
      if (fault) unreadable.set(key, fault);
      else if (arrays === null && ofTokens) untrained.set(key, `step ${stepId} has no sampled token ids`);
      else if (prompt === 'image' && learner === 'texts')
        untrained.set(key, `step ${stepId} was asked with an image, which a model of texts does not read`);
      else if (prompt === 'image' && !promptIds && ofTokens)
        untrained.set(
          key,
          `step ${stepId} was asked with an image by a server that returned no token ids of its prompt; collect by one that does`,
        );
      else if (arrays !== null && !sampled && learner !== 'candidates')
        untrained.set(key, `none of the recorded tokens of step ${stepId} was sampled by the policy`);
    }
  return { unreadable, untrained, ids: held };
}

/**
 * Returns the temperature that the steps of a rollout were sampled at, or what was drawn from another distribution than losses
 * assume. Where a request is not on record or says none, it is that of the run; where the run says none either, 1 if that is kept.
 */
function temperatureOf(
  { treeId, temperature: ofRun }: WalkRow,
  own: readonly string[],
  ids: ReadonlyMap<string, HeldIds>,
  rules: Pick<PlanRules, 'unknownSampling'>,
): number | RecordFault {
  const temperatures = new Set<number>();
  for (const stepId of own) {
    const own = ids.get(keyInTree(treeId, stepId));
    const sampling = own?.inside ? wholeSampling(ofRun) : (own?.sampling ?? serverSampling(null));
    const temperature = sampling.temperature ?? ofRun;
    temperatures.add(temperature ?? 1);
    const fault = findSamplingFault(stepId, sampling, temperature, rules);
    if (fault) return fault;
  }
  const [one = ofRun ?? 1] = temperatures;
  if (temperatures.size < 2) return one;
  const rule = `its steps were sampled at the temperatures ${[...temperatures].join(', ')}, and an update has one`;
  return { reason: 'other-distribution', rule: rule.slice(0, 2_000), measured: null };
}

/**
 * What of a step is on record: token ids of what it sampled, of its prompt and of what was shown behind it, and how it was
 * sampled.
 */
interface HeldIds {
  readonly arrays: RecordedArrays | null;
  readonly promptIds: boolean;
  readonly shownBehind: boolean;
  /** Null where no prompt is on record. */
  readonly sampling: Sampling | null;
  /** Drawn by a policy inside our collector, which asks no server and draws from the whole of its distribution. */
  readonly inside: boolean;
  /** Whether its prompt lost turns, so that it would fit. */
  readonly trimmed: boolean;
  /** Whether its prompt is on record, and shows an image. */
  readonly prompt: 'none' | 'text' | 'image';
  /** What its reply is besides its text. */
  readonly reply: 'text' | 'reasoning' | 'calls';
}

/**
 * Finds the step whose prompt is not on record and does not follow from the texts of its path, as `stepRowsOf` composes it: its run
 * words prompts, turns were left out, or what the prompt offered or showed is more than texts. Null where there is none.
 */
function findLostPrompt(
  { treeId, prompting }: WalkRow,
  path: readonly string[],
  own: readonly string[],
  ids: ReadonlyMap<string, HeldIds>,
): string | null {
  const held = (stepId: string) => ids.get(keyInTree(treeId, stepId));
  for (const stepId of own) {
    const step = held(stepId);
    if (step?.prompt !== 'none') continue;
    const lost = (what: string) =>
      `step ${stepId} was asked with ${what}, and its prompt is not on record; record it as PromptShown`;
    if (prompting !== 'plain-chat') return lost('a prompt that its run words');
    if (step.trimmed) return lost('a chat that had lost turns');
    if (step.reply === 'calls') return lost('tools');
    if (path.slice(0, path.indexOf(stepId)).some((before) => (held(before)?.reply ?? 'text') !== 'text'))
      return lost('replies that hold reasoning or calls of tools');
  }
  return null;
}

/** Finds the step behind which a row of the whole trajectory has a hole, as `trajectoryRows` does; null where there is none. */
function findHole({ treeId }: WalkRow, own: readonly string[], ids: ReadonlyMap<string, HeldIds>): string | null {
  for (const [i, stepId] of own.entries()) {
    const [step, next] = [ids.get(keyInTree(treeId, stepId)), own[i + 1]];
    if (step && step.arrays === null) return `step ${stepId} has no sampled token ids, which a row per trajectory needs`;
    if (step && next !== undefined && !step.shownBehind && !ids.get(keyInTree(treeId, next))?.promptIds)
      return `step ${stepId} has no token ids of its observation: the server that was asked next returned no prompt_token_ids, which a row per trajectory needs`;
  }
  return null;
}

/** Reads arrays whose lengths fit; of those in the blob store nothing is known. */
function valuesOf({ ids, logProbs, mask }: ArrayBytes): TokenValues {
  const bytes = (text: string | null) =>
    text === null || text.startsWith('{') ? null : Uint8Array.from(Buffer.from(text, 'base64')).buffer;
  const [own, probs, shown] = [bytes(ids), bytes(logProbs), bytes(mask)];
  if (own === null) return { ids: [], mask: null, logProbs: null };
  const known = mask === null || shown !== null; // without its mask nobody knows which log-probabilities count
  return {
    ids: new Int32Array(own),
    mask: shown && new Uint8Array(shown),
    logProbs: known && probs ? new Float32Array(probs) : null,
  };
}

/** Base64, or a reference to the blob store as JSON. */
interface ArrayBytes {
  readonly ids: string | null;
  readonly logProbs: string | null;
  readonly mask: string | null;
}

interface ArraysRow extends HeldIds {
  readonly treeId: string;
  readonly stepId: string;
  /** Made where the lengths fit. */
  readonly values: () => TokenValues;
  /** Whether the mask leaves a token; true where it lies in the blob store. */
  readonly sampled: boolean;
}

/** Reads the token arrays of steps, how long they are, and whether a token of them was sampled. */
async function readArrays(db: Db, wanted: readonly OfTree[]): Promise<readonly ArraysRow[]> {
  const sizeOf = (array: 'ids' | 'logProbs' | 'mask') => {
    const of = sql.raw(`t."${array}"`); // a name in the JSON, which is camelCase there
    return sql`case when jsonb_typeof(${of}) = 'object' then jsonb_build_object('dtype', ${of} -> 'dtype', 'length', ${of} -> 'length', 'bytes',
      case when jsonb_typeof(${of} -> 'bytes') = 'string' then to_jsonb(octet_length(decode(${of} ->> 'bytes', 'base64')))
           else ${of} -> 'bytes' -> 'size' end) end`;
  };
  const { rows } = await sql<{
    treeId: string;
    stepId: string;
    ids: RecordedArray | null;
    logProbs: RecordedArray | null;
    mask: RecordedArray | null;
    idBytes: string | null;
    logProbBytes: string | null;
    maskBytes: string | null;
    promptIds: boolean;
    inBytes: boolean;
    shownBehind: boolean;
    sampled: boolean;
    trimmed: boolean;
    prompt: HeldIds['prompt'];
    reply: HeldIds['reply'];
    sampling: Sampling | null;
    inside: boolean;
  }>`
    select tree_id, step_id, ${sizeOf('ids')} as ids, ${sizeOf('logProbs')} as log_probs, ${sizeOf('mask')} as mask,
      t.ids ->> 'bytes' as id_bytes, t."logProbs" ->> 'bytes' as log_prob_bytes, t.mask ->> 'bytes' as mask_bytes,
      p.token_count is not null as prompt_ids, token_bytes is not null as in_bytes,
      case when jsonb_typeof(t.mask -> 'bytes') = 'string' then right(encode(decode(t.mask ->> 'bytes', 'base64'), 'hex'), 2) = '00'
        else t.mask is not null and jsonb_typeof(t.mask) = 'object' end as shown_behind,
      coalesce((t.ids ->> 'length')::int > 0, false) and case when jsonb_typeof(t.mask -> 'bytes') = 'string'
        then position('\\x01'::bytea in decode(t.mask ->> 'bytes', 'base64')) > 0 else true end as sampled,
      coalesce(jsonb_typeof(call -> 'trimmed'), 'null') <> 'null' as trimmed,
      case when p.with_images then 'image' when not p.with_images then 'text' else 'none' end as prompt, p.sampling,
      call is null and p.server is null and coalesce(r.kind in ('collect', 'search', 'evaluate', 'fork'), false) as inside,
      case when reply is null then 'text' when jsonb_array_length(reply -> 'toolCalls') > 0 then 'calls' else 'reasoning' end as reply
    from (select s.* from ${pairsOf(wanted)} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id) s
    left join (select step_id, tree_id, with_images, token_count, sampling, server from prompts) p using (step_id, tree_id)
    left join lateral (select runs.kind from trees join runs using (run_id) where trees.tree_id = s.tree_id) r on true
    left join lateral jsonb_to_record(token_json) as t(ids jsonb, "logProbs" jsonb, mask jsonb) on true
    where depth > 0`.execute(db);
  const views = await readTokenBytes(
    db,
    rows.flatMap(({ treeId, stepId: id, inBytes }) => (inBytes ? [{ treeId, id }] : [])),
  );
  return rows.map(({ ids: own, logProbs, mask, idBytes, logProbBytes, maskBytes, inBytes, ...row }) => {
    const values = inBytes ? views.get(keyInTree(row.treeId, row.stepId)) : undefined;
    if (values) return { ...row, ...heldIn(values), values: () => values };
    const bytes = { ids: idBytes, logProbs: logProbBytes, mask: maskBytes };
    return { ...row, arrays: own && { ids: own, logProbs, mask }, values: () => valuesOf(bytes) };
  });
}

/** What the statement says of arrays kept as JSON. */
function heldIn({ ids, logProbs, mask }: TokenViews): Pick<ArraysRow, 'arrays' | 'sampled' | 'shownBehind'> {
  const arrayOf = (dtype: string, array: TokenViews[keyof TokenViews]): RecordedArray | null =>
    array && { dtype, length: array.length, bytes: array.byteLength };
  const own = { dtype: 'int32', length: ids.length, bytes: ids.byteLength };
  return {
    arrays: { ids: own, logProbs: arrayOf('float32', logProbs), mask: arrayOf('uint8', mask) },
    sampled: ids.length > 0 && (mask === null || mask.includes(1)),
    shownBehind: mask?.at(-1) === 0,
  };
}

/** Finds the rollouts with a step that was no choice among its candidates, by `keyInTree`. */
async function findChoiceFaults(db: Db, blobs: BlobReader, walked: readonly Walked[]): Promise<ReadonlyMap<string, string>> {
  const steps = await readSteps(db, blobs, stepsOn(walked));
  const faults = new Map<string, string>();
  for (const { walk, path, own } of walked) {
    const first = path.length - own.length;
    const strange = own.find((stepId, i) => {
      const [step, before] = [stepId, path[first + i - 1] ?? ''].map((id) => steps.get(keyInTree(walk.treeId, id)));
      if (!step || !before) return false; // it lies in the blob store and cannot be read now
      return chosenOf({ candidates: before.admissible, tokens: sampledTokens(step.tokens), action: step.action }) === null;
    });
    if (strange !== undefined)
      faults.set(keyInTree(walk.treeId, walk.rolloutId), `step ${strange} was no choice among the candidates before it`);
  }
  return faults;
}

async function readSteps(db: Db, blobs: BlobReader, wanted: readonly OfTree[]): Promise<ReadonlyMap<string, RecordedStep>> {
  try {
    return await readRecordedSteps(db, blobs, wanted);
  } catch (error) {
    if (error instanceof RowsError && error.code === 'blob') return new Map();
    throw error;
  }
}
