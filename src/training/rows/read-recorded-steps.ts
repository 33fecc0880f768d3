import { type RawBuilder, sql } from 'kysely';
import { type ReplyStructure, replyMessage } from '../../domain/prompts/same-message.ts';
import { findArrayFault, findTokenValueFault } from '../../domain/training/planning/record-fault.ts';
import type { BlobRef, Packed } from '../../events/schemas/values.ts';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, type OfTree, pairsOf } from '../../projections/of-tree.ts';
import { readTokenBytes } from '../../projections/step-tree/read-token-bytes.ts';
import { onesOf, type TokenViews } from '../../projections/step-tree/token-bytes.ts';
import type { RecordedReply } from '../../projections/trajectories/recorded-tree.ts';
import { type BatchStep, type BatchTokens, type PolicySpan, RowsError } from './batch-rows.ts';
import { type BlobReader, inPlace, readBlob } from './read-blob.ts';

/** A step of the record: its texts, its tokens, and what the step below it chose among. */
export interface RecordedStep
  extends Pick<
    BatchStep,
    | 'response'
    | 'message'
    | 'action'
    | 'observation'
    | 'wellFormatted'
    | 'executable'
    | 'trimmed'
    | 'termination'
    | 'tokens'
    | 'temperature'
  > {
  readonly stepId: string;
  readonly spans: readonly PolicySpan[];
  readonly stateHash: string | null;
  readonly admissible: readonly string[] | null;
  readonly blobs: Blobs | null;
}

const SLICE = 256; // rows of one answer: some 2 MB with tokens, texts that die young

/** Whether texts are read: what steps said and saw, and what could be done. Without, they are empty, and null. */
export type TextsOfSteps = 'texts' | 'no-texts';

/**
 * Reads steps, roots too, by `keyInTree`. @throws RowsError when token arrays do not fit, or a part lies in the blob store and
 * cannot be read.
 */
export async function readRecordedSteps(
  db: Db,
  blobs: BlobReader,
  wanted: readonly OfTree[],
  texts: TextsOfSteps = 'texts',
): Promise<ReadonlyMap<string, RecordedStep>> {
  const steps = new Map<string, RecordedStep>();
  for (let from = 0; from < wanted.length; from += SLICE) {
    const rows = await readSlice(db, blobs, wanted.slice(from, from + SLICE), texts);
    const asBytes = await readTokenBytes(
      db,
      rows.flatMap(({ treeId, stepId: id, inBytes }) => (inBytes ? [{ treeId, id }] : [])),
    );
    for (const row of rows) {
      const { treeId, stepId, inBytes } = row;
      const key = keyInTree(treeId, stepId);
      const views = asBytes.get(key);
      if (inBytes && !views)
        throw new RowsError('incomplete', `the tokens of step ${stepId} are not in the read models any more`);
      const tokens = views ? checkedTokens(views, stepId) : await tokensFromJson(row, blobs);
      steps.set(key, {
        stepId,
        response: row.response,
        message:
          row.reply &&
          replyMessage({ response: row.response, thought: row.thought, reply: await replyOf(row.reply, blobs, stepId) }),
        action: row.action,
        observation: row.observation,
        wellFormatted: row.wellFormatted,
        executable: row.executable,
        trimmed: row.trimmed,
        termination: row.termination,
        spans: row.spans,
        stateHash: row.stateHash,
        admissible: row.admissible,
        blobs: row.blobs,
        tokens,
        temperature: row.temperature,
      });
    }
  }
  return steps;
}

interface StepRow extends Omit<RecordedStep, 'tokens' | 'message'> {
  readonly treeId: string;
  readonly thought: string;
  readonly reply: RecordedReply | null;
  /** Whether its tokens are kept as bytes, which are read next; else as `packedText` writes them. */
  readonly inBytes: boolean;
  readonly tokenIds: string;
  readonly logProbs: string;
  readonly mask: string;
}

/** Returns what a reply is besides its text, arguments from the blob store in place. @throws RowsError `blob`. */
async function replyOf({ reasoning, toolCalls }: RecordedReply, blobs: BlobReader, stepId: string): Promise<ReplyStructure> {
  const calls: ReplyStructure['toolCalls'][number][] = [];
  for (const { id, name, arguments: given } of toolCalls) {
    const text =
      typeof given === 'string'
        ? given
        : Buffer.from(await readBlob(blobs, given.blob, `arguments of a call of a tool in step ${stepId}`)).toString('utf8');
    calls.push({ id, name, arguments: text });
  }
  return { reasoning, toolCalls: calls };
}

async function tokensFromJson({ stepId, tokenIds, logProbs, mask }: StepRow, blobs: BlobReader): Promise<BatchTokens | null> {
  const ids = packedFrom(tokenIds);
  return ids && recordedTokens({ ids, logProbs: packedFrom(logProbs), mask: packedFrom(mask) }, blobs, stepId);
}

const TEXTS = {
  texts: sql`response, thought, reply, action, observation, admissible, blobs`,
  'no-texts': sql`'' as response, '' as thought, null as reply, '' as action, '' as observation, null as admissible, null as blobs`,
} as const;

async function readSlice(db: Db, blobs: BlobReader, wanted: readonly OfTree[], texts: TextsOfSteps): Promise<readonly StepRow[]> {
  const { rows } = await sql<StepRow>`
    select tree_id, step_id, ${TEXTS[texts]}, well_formatted, executable, termination,
      coalesce(jsonb_typeof(call -> 'trimmed'), 'null') <> 'null' as trimmed,
      policy_spans as spans, state_hash, p.temperature, token_bytes is not null as in_bytes,
      ${packedText('ids')} as token_ids, ${packedText('logProbs')} as log_probs, ${packedText('mask')} as mask
    from (select s.* from ${pairsOf(wanted)} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id) s
      left join (select step_id, tree_id, (sampling ->> 'temperature')::double precision as temperature from prompts) p using (step_id, tree_id)
      left join lateral jsonb_to_record(token_json) as t(ids jsonb, "logProbs" jsonb, mask jsonb) on true`.execute(db);
  return inPlace(rows, blobs, ({ stepId }) => `step ${stepId}`);
}

/**
 * Writes a packed array as text: dtype, length, bytes; empty where there is none. As JSON the driver would look at every
 * character of the base64 twice: 1,024 steps of 1,000 tokens took 26 ms, as text 16 (best of 7). The arrays of a row are taken
 * apart by one function, which fetches it once.
 */
function packedText(array: 'ids' | 'logProbs' | 'mask'): RawBuilder<string> {
  const of = sql.raw(`t."${array}"`); // a name in the JSON, which is camelCase there
  return sql`concat_ws(' ', ${of} ->> 'dtype', ${of} ->> 'length', ${of} ->> 'bytes')`;
}

function packedFrom(text: string): Packed | null {
  if (text === '') return null;
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  const bytes = text.slice(second + 1);
  return {
    dtype: text.slice(0, first) as Packed['dtype'], // as the event's schema let it in
    length: Number(text.slice(first + 1, second)),
    // base64 has no brace; a reference was let in by the schema too
    bytes: bytes.startsWith('{') ? (JSON.parse(bytes) as BlobRef) : bytes,
  };
}

/** The token arrays of a step as the read model keeps them. */
interface PackedTokens {
  readonly ids: Packed;
  readonly logProbs: Packed | null;
  readonly mask: Packed | null;
}

/**
 * Reads packed token arrays into typed ones. The bytes are little-endian, as are all
 * machines that Node runs on but one (s390x), so they are taken as they lie: a copy per array.
 * @throws RowsError `tokens` when arrays do not fit each other or their length, or hold values that no trainer can use; `blob`
 * when one cannot be read.
 */
async function recordedTokens(packed: PackedTokens, blobs: BlobReader, stepId: string): Promise<BatchTokens> {
  const { length } = packed.ids;
  const ids = await bytesOf(packed.ids, 'int32', length, blobs, stepId);
  const logProbs = packed.logProbs && (await bytesOf(packed.logProbs, 'float32', length, blobs, stepId));
  const mask = packed.mask && (await bytesOf(packed.mask, 'uint8', length, blobs, stepId));
  const tokens = {
    ids: new Int32Array(ids),
    logProbs: logProbs && new Float32Array(logProbs),
    mask: mask ? new Uint8Array(mask) : null,
  };
  return checkedTokens(tokens, stepId);
}

/** Without a mask all are the policy's own. @throws RowsError `tokens` when they hold values that no trainer can use. */
function checkedTokens({ ids, logProbs, mask }: TokenViews, stepId: string): BatchTokens {
  const tokens = { ids, logProbs, mask: mask ?? onesOf(ids.length) };
  const fault = findTokenValueFault(`step ${stepId}`, tokens);
  if (fault !== null) throw new RowsError('tokens', fault);
  return tokens;
}

async function bytesOf(
  { dtype, length, bytes }: Packed,
  wanted: Packed['dtype'],
  wantedLength: number,
  blobs: BlobReader,
  stepId: string,
): Promise<ArrayBuffer> {
  const size = wantedLength * (wanted === 'uint8' ? 1 : 4);
  const given = typeof bytes === 'string' ? bytes : await readBlob(blobs, bytes.blob, `tokens of step ${stepId}`);
  const found = typeof given === 'string' ? Buffer.byteLength(given, 'base64') : given.byteLength;
  const fault = findArrayFault(stepId, { dtype, length, bytes: found }, wanted, wantedLength);
  if (fault !== null) throw new RowsError('tokens', fault);
  // A buffer of its own: small ones share a pool, in which 4-byte numbers need not be aligned.
  const own = Buffer.from(new ArrayBuffer(size));
  if (typeof given !== 'string') own.set(given);
  else own.write(given, 'base64');
  return own.buffer as ArrayBuffer; // the one made above
}
