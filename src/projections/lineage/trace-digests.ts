import { sql } from 'kysely';
import { streamOf } from '../../events/stream-of.ts';
import { seedThroughSteps } from './recall-seeds.ts';
import { type Finder, readOne } from './trace-links.ts';

/** A history image: no bytes are kept, its segments and its spec are. */
export const findImage: Finder = async (db, id) => {
  const image = await readOne(
    db,
    sql<{ width: number; height: number; tokens: number; factors: number; least: number; most: number }>`
      select width, height, vision_tokens as tokens, count(distinct factor)::int as factors, min(factor) as least, max(factor) as most
      from history_images where image_id = ${id} group by 1, 2, 3 order by count(*) desc, 3 limit 1`,
  );
  if (!image) return null;
  const factor = image.factors === 1 ? `factor ${image.least}` : `${image.factors} factors from ${image.least} to ${image.most}`;
  const shown = sql`select step_id, tree_id from history_images where image_id = ${id}`;
  return {
    kind: 'image',
    id,
    title: `${image.width} × ${image.height}, ${image.tokens} vision tokens, ${factor}`,
    madeBy: {
      streams: sql`select tree_id from history_images where image_id = ${id}`,
      types: ['HistoryRendered'],
      field: 'imageId',
      named: id,
    },
    from: [
      {
        relation: 'render spec',
        query: sql`select distinct render_spec_id as id, '' as text from history_images where image_id = ${id}`,
      },
      {
        relation: 'segments that were new',
        query: sql`select distinct s.id, '' as text from history_images h, jsonb_array_elements_text(h.segments) s(id) where h.image_id = ${id}`,
      },
      {
        relation: 'history that it continues',
        query: sql`
          select distinct p.image_id as id, 'shown at step ' || p.step_id as text
          from history_images h join history_images p on p.step_id = h.prefix_step_id and p.tree_id = h.tree_id where h.image_id = ${id}`,
      },
    ],
    usedBy: [
      {
        relation: 'shown at steps',
        query: sql`select step_id as id, 'tree ' || tree_id as text from history_images where image_id = ${id} order by rendered_at`,
      },
    ],
    seed: seedThroughSteps(shown),
  };
};

/** A segment: one record of history as text. */
export const findSegment: Finder = async (db, id) => {
  const segment = await readOne(
    db,
    sql<{ text: string; lines: number }>`select left(text, 120) as text, lines from segments where segment_id = ${id}`,
  );
  if (!segment) return null;
  const showing = sql`history_images h where h.segments ? ${id} and h.run_id in (select run_id from run_render_specs where render_spec_id = (
    select render_spec_id from segments where segment_id = ${id}))`;
  return {
    kind: 'segment',
    id,
    title: `${segment.lines} lines: ${JSON.stringify(segment.text)}`,
    madeBy: {
      streams: sql`select ${segmentStream(id)}::uuid`,
      types: ['SegmentRendered'],
      field: 'segmentId',
      named: id,
    },
    from: [
      { relation: 'render spec', query: sql`select render_spec_id as id, '' as text from segments where segment_id = ${id}` },
    ],
    usedBy: [
      {
        relation: 'new in images',
        query: sql`select h.image_id as id, 'shown at step ' || h.step_id as text from ${showing} order by h.rendered_at`,
      },
    ],
    seed: seedThroughSteps(sql`select h.step_id, h.tree_id from ${showing}`),
  };
};

/** A render spec: everything that determines pixels. */
export const findRenderSpec: Finder = async (db, id) => {
  const spec = await readOne(
    db,
    sql<{ profiles: string }>`
    select string_agg(distinct profile, ', ') as profiles from run_render_specs where render_spec_id = ${id} having count(*) > 0`,
  );
  if (!spec) return null;
  return {
    kind: 'render spec',
    id,
    title: `known as ${spec.profiles}`,
    madeBy: {
      streams: sql`select run_id from run_render_specs where render_spec_id = ${id}`,
      types: ['RenderSpecRegistered'],
      field: 'renderSpecId',
      named: id,
    },
    from: [],
    usedBy: [
      {
        relation: 'runs',
        query: sql`select run_id as id, profile as text from run_render_specs where render_spec_id = ${id} order by registered_at`,
      },
      {
        relation: 'segments',
        query: sql`select segment_id as id, left(text, 80) as text from segments where render_spec_id = ${id} order by rendered_at`,
      },
    ],
    seed: null,
  };
};

/** The digest of something that has an id: weights, a batch's manifest, a released file. */
export const findDigest: Finder = async (db, id) => {
  const query = sql`
    select policy_id || '@' || version as id, 'weights of the policy version' as text from policy_versions where weights = ${id}
    union all select batch_id::text, 'manifest of the batch' from batches where manifest_hash = ${id}
    union all select dataset_id::text, 'content of ' || name || '@' || version from datasets where sha256 = ${id}`;
  const there = await readOne(db, sql<{ text: string }>`select text from (${query}) q limit 1`);
  return (
    there && { kind: 'digest', id, title: there.text, madeBy: null, from: [{ relation: 'of', query }], usedBy: [], seed: null }
  );
};

function segmentStream(segmentId: string): string | null {
  return streamOf('SegmentRendered', { segmentId }) ?? null;
}
