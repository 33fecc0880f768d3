import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { readTouched } from '../../projections/lineage/recall-touched.ts';
import type { Touched } from '../../projections/lineage/touched.ts';
import { findDigest, findImage, findRenderSpec, findSegment } from '../../projections/lineage/trace-digests.ts';
import { type EventPlace, findEvent, readMakers } from '../../projections/lineage/trace-events.ts';
import { type Finder, type Links, readLinks } from '../../projections/lineage/trace-links.ts';
import { findNumbered } from '../../projections/lineage/trace-numbered.ts';
import { findBatch, findCheckpoint, findDataset, findVersion } from '../../projections/lineage/trace-training.ts';
import {
  findRevision,
  findReward,
  findRollout,
  findRun,
  findStep,
  findTask,
  findTree,
} from '../../projections/lineage/trace-trees.ts';

/** What an id names, where it came from, and what resulted from it. Lists are cut; totals are not. */
export interface Trace {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly madeBy: { readonly total: number; readonly first: readonly EventPlace[] };
  readonly from: readonly Links[];
  readonly usedBy: readonly Links[];
  /** What was made of it, step by step; null for what nothing is made of. */
  readonly touched: Touched | null;
}

/** Nothing on record has the id. */
export class NotOnRecord extends Error {
  override readonly name = 'NotOnRecord';
}

const UUIDS: Readonly<Record<string, Finder>> = {
  run: findRun,
  tree: findTree,
  step: findStep,
  rollout: findRollout,
  reward: findReward,
  task: findTask,
  revision: findRevision,
  dataset: findDataset,
  batch: findBatch,
  checkpoint: findCheckpoint,
  event: findEvent,
};
const DIGESTS: Readonly<Record<string, Finder>> = {
  image: findImage,
  segment: findSegment,
  'render spec': findRenderSpec,
  'digest of weights, of a manifest or of a release': findDigest,
};
const NAMES: Readonly<Record<string, Finder>> = {
  'policy version or release NAME@V': findVersion,
  'line of a release NAME@V#LINE or batch POLICY#N': findNumbered,
};

/**
 * Traces anything that has an id: events, what they recorded, images, `NAME@V`, `NAME@V#LINE`, `POLICY#N`. @param treeId the tree of
 * what is meant, where several have one under its id. @throws NotOnRecord that lists what was looked for; AmbiguousId.
 */
export async function traceRecord(db: Db, id: string, treeId: string | null = null): Promise<Trace> {
  const finders = isUuid(id) ? UUIDS : /^[0-9a-f]{64}$/.test(id) ? DIGESTS : NAMES;
  for (const find of Object.values(finders)) {
    const found = await find(db, id, treeId);
    if (!found) continue;
    const { kind, title, madeBy, seed } = found;
    const links = async (queries: typeof found.from) => {
      const read: Links[] = [];
      for (const query of queries) read.push(await readLinks(db, query));
      return read.filter(({ total }) => total > 0);
    };
    return {
      kind,
      id: found.id,
      title,
      madeBy: madeBy ? await readMakers(db, madeBy) : { total: 0, first: [] },
      from: await links(found.from),
      usedBy: await links(found.usedBy),
      touched: seed && (await readTouched(db, seed)),
    };
  }
  throw new NotOnRecord(
    `nothing on record has the id ${JSON.stringify(id.slice(0, 100))}: looked for ${Object.keys(finders).join(', ')}; ids are UUIDs in lower case, SHA-256 in hex, NAME@VERSION, NAME@VERSION#LINE or POLICY#N`,
  );
}
