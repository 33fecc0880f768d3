import type { BlobStore } from '../../../blobs/blob-store.ts';
import { blobReferences } from '../../../events/blob-references.ts';
import { contentHash } from '../../../events/codec.ts';
import { factOf } from '../../../events/entity-of.ts';
import { type Envelope, identityOf } from '../../../events/envelope.ts';
import { type CarriedBlob, HEADER, parseEventLine } from '../event-line.ts';
import { isTreeEvent, TreeShape } from '../tree-shape.ts';
import type { LinedDraft } from './check-against-record.ts';
import { badRow, readRows } from './read-rows.ts';

/** Returns whether a row is the header of our own JSONL. */
export function isEventFile(row: unknown): boolean {
  return typeof row === 'object' && row !== null && 'format' in row && row.format === HEADER.format;
}

/**
 * Reads our own JSONL as events with their own ids, times and causes, and checks that they hang together: each tree's events
 * stand together and each after what it refers to, a run's events after its start, payloads before the event that names them, the
 * last line holds the number of events. In memory: one tree's ids, and the ids of runs and trees passed. @throws DatasetError
 * `bad-row` with the line.
 */
export async function* eventFileDrafts(path: string, blobs: Pick<BlobStore, 'has'>): AsyncGenerator<LinedDraft> {
  const rules = new FileRules();
  const carried = new Set<string>();
  let before: CarriedBlob[] = []; // the payloads since the event before
  let state: 'header' | 'events' | 'ended' = 'header';
  let events = 0;
  let last = 1;
  for await (const { line, value } of readRows(path)) {
    last = line;
    if (state === 'ended') throw badRow(path, line, 'something follows the line that ends the file');
    if (state === 'header') {
      refuseOtherVersion(path, value);
      state = 'events';
      continue;
    }
    const parsed = parseEventLine(value);
    if (parsed.kind === 'refused')
      throw badRow(path, line, `${parsed.refusal.path === '' ? 'the row' : parsed.refusal.path} ${parsed.refusal.message}`);
    if (parsed.kind === 'end') {
      if (parsed.events !== events)
        throw badRow(path, line, `the file ends with ${events} events where it should hold ${parsed.events}; lines are missing`);
      state = 'ended';
      continue;
    }
    if (parsed.kind === 'blob') {
      carried.add(parsed.blob.sha256);
      before.push(parsed.blob);
      continue;
    }
    const dangling = rules.passTo(parsed.event);
    if (dangling) throw badRow(path, dangling.line, dangling.reason);
    const refused = rules.refuse(parsed.event, line) ?? (await missingPayload(parsed.event, carried, blobs));
    if (refused) throw badRow(path, line, `${parsed.event.type} ${parsed.event.id}: ${refused}`);
    events += 1;
    yield { line, draft: draftOf(parsed.event), ...(before.length > 0 ? { blobs: before } : {}) };
    before = [];
  }
  if (state !== 'ended') throw badRow(path, last, `the file is cut off after ${events} events: its last line is missing`);
  const dangling = rules.passTo(null);
  if (dangling) throw badRow(path, dangling.line, dangling.reason);
}

function refuseOtherVersion(path: string, header: unknown): void {
  const version = typeof header === 'object' && header !== null && 'version' in header ? header.version : undefined;
  if (version !== HEADER.version)
    throw badRow(
      path,
      1,
      `the file has version ${String(version)} of ${HEADER.format}; this program reads version ${HEADER.version}`,
    );
}

/** An event must not point at nothing. What looks like a reference in free-form JSON may be the producer's own. */
async function missingPayload(
  event: Envelope,
  carried: ReadonlySet<string>,
  blobs: Pick<BlobStore, 'has'>,
): Promise<string | null> {
  for (const { path, reference, part } of blobReferences(event)) {
    if (part === 'free-form' || carried.has(reference.blob) || (await blobs.has(reference.blob))) continue;
    return `${path} names the payload ${reference.blob}, which neither the file before this line nor the blob store holds`;
  }
  return null;
}

function draftOf({ id, type, correlationId, causationId, occurredAt, repaired, data }: Envelope): LinedDraft['draft'] {
  const draft = { id, type, correlationId, causationId, occurredAt, data };
  return (repaired ? { ...draft, repaired } : draft) as LinedDraft['draft']; // type and data come from one event
}

class FileRules {
  readonly #runs = new Set<string>();
  readonly #passed = new Set<string>();
  #tree: { readonly id: string; readonly shape: TreeShape; readonly lines: Map<string, number> } | undefined;
  /** Identities of the events since the last change of tree. */
  #ids = new Set<string>();
  /** What was said first of each fact since then, as its hash. */
  #facts = new Map<string, string>();

  /**
   * Ends the tree that the next event, or the end of the file, no longer belongs to: says which of its events refer to what it
   * does not have.
   */
  passTo(next: Envelope | null): { readonly line: number; readonly reason: string } | null {
    if (!this.#tree || (next && (!isTreeEvent(next) || next.data.treeId === this.#tree.id))) return null;
    for (const [event, reason] of this.#tree.shape.dangling())
      return { line: this.#tree.lines.get(event.id) ?? 0, reason: `${event.type} ${event.id}: ${reason}` };
    return null;
  }

  refuse(event: Envelope, line: number): string | null {
    const refused = isTreeEvent(event) ? this.#enterTree(event.data.treeId) : this.#refuseRunEvent(event);
    if (refused) return refused;
    if (this.#ids.has(identityOf(event))) return 'occurs twice in the file';
    this.#ids.add(identityOf(event));
    const fact = factOf(event);
    const hash = contentHash(event);
    if (fact !== null && (this.#facts.get(fact) ?? hash) !== hash)
      return 'an event before it says something else of the same entity';
    if (fact !== null) this.#facts.set(fact, hash);
    if (!isTreeEvent(event) || !this.#tree) return null;
    this.#tree.lines.set(event.id, line);
    return this.#tree.shape.refuse(event);
  }

  #enterTree(treeId: string): string | null {
    if (this.#tree?.id === treeId) return null;
    if (this.#passed.has(treeId)) return `the events of tree ${treeId} do not stand together`;
    this.#passed.add(treeId);
    this.#tree = { id: treeId, shape: new TreeShape(), lines: new Map() };
    this.#ids = new Set();
    this.#facts = new Map();
    return null;
  }

  #refuseRunEvent(event: Exclude<Envelope, { data: { treeId: string } }>): string | null {
    if (event.type === 'ExperimentDeclared') return null;
    if (event.type === 'StageFinished') return 'a file of runs and trees holds no stages of experiments';
    if (event.type === 'DatasetReleased' || event.type === 'DatasetSourced' || event.type === 'DatasetWithdrawn')
      return 'a file of runs and trees holds no datasets';
    if ('lineageId' in event.data) return 'a file of runs and trees holds no batches and versions';
    if (event.type === 'SegmentRendered') return null; // drawn once, whatever runs show it
    const { runId } = event.data;
    if (event.type === 'RunStarted') this.#runs.add(runId);
    return this.#runs.has(runId) ? null : `run ${runId} is not started before this event`;
  }
}
