import { type RawBuilder, sql } from 'kysely';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { idSums } from '../id-sums.ts';
import type { historyRow } from './rows.ts';

const whole = (column: string, as: string) => sql`sum(i.${sql.ref(column)})::bigint as ${sql.ref(as)}`;
const decimal = (column: string, as: string) => sql`trim_scale(sum(i.${sql.ref(column)}::text::numeric)) as ${sql.ref(as)}`;
const bounds = (of: RawBuilder<unknown>, as: string) =>
  sql`min(${of}) as ${sql.ref(`${as}_min`)}, max(${of}) as ${sql.ref(`${as}_max`)}`;
const PIXELS = sql`i.width::bigint * i.height`;

/**
 * What is summed up of images `i`, rows of `history_images` with the number of their misses: but for its key the columns of
 * `tree_images`. Doubles are added as the decimals that they are written as: in any order and any batches the sum is the same.
 */
const PARTS = sql`count(*) as steps, ${idSums(sql`i.step_id`)}, ${whole('vision_tokens', 'vision_tokens')},
  ${bounds(sql`i.vision_tokens`, 'vision')}, ${whole('text_tokens', 'text_tokens')}, ${whole('length', 'segments')},
  ${whole('misses', 'misses')}, ${decimal('factor', 'factors')}, ${bounds(sql`i.factor`, 'factor')}, ${whole('width', 'widths')},
  ${bounds(sql`i.width`, 'width')}, ${whole('height', 'heights')}, ${bounds(sql`i.height`, 'height')},
  sum(${PIXELS})::bigint as pixels, ${bounds(PIXELS, 'pixels')}, ${whole('cut_segments', 'cut_segments')},
  ${whole('cut_lines', 'cut_lines')}, ${whole('outside', 'outside')}, ${whole('unshaped', 'unshaped')},
  ${decimal('render_ms', 'render_ms')}`;

const BOUNDS = ['vision', 'factor', 'width', 'height', 'pixels'] as const;
const SUMS = [
  ...['steps', 'ids_one', 'ids_other', 'vision_tokens', 'text_tokens', 'segments', 'misses', 'widths', 'heights', 'pixels'],
  ...['cut_segments', 'cut_lines', 'outside', 'unshaped'],
];
const DECIMALS = ['factors', 'render_ms'];
const KEY = ['tree_id', 'run_id'];
/** What is summed up of images, and with the key the columns of `tree_images`. */
export const IMAGE_VALUES = [...SUMS, ...DECIMALS, ...BOUNDS.flatMap((of) => [`${of}_min`, `${of}_max`])];
export const IMAGE_COLUMNS = [...KEY, ...IMAGE_VALUES];
/** The columns of `history_images` that it is summed up of. */
export const IMAGE_FACTS = [
  ...['step_id', 'vision_tokens', 'text_tokens', 'length', 'missed', 'factor', 'width', 'height', 'cut_segments', 'cut_lines'],
  ...['outside', 'unshaped', 'render_ms'],
];

const named = (columns: readonly string[], of?: string) =>
  sql.join(columns.map((column) => (of === undefined ? sql.ref(column) : sql.ref(`${of}.${column}`))));

/** Returns the sums of images by columns of a relation. @param rows the facts of images, and these columns. */
export function summedImages(rows: RawBuilder<unknown>, by: readonly string[] = KEY): RawBuilder<unknown> {
  const of = sql`(select h.*, jsonb_array_length(h.missed) as misses from ${rows} h)`;
  return sql`(select ${named(by, 'i')}, ${PARTS} from ${of} i group by ${named(by, 'i')})`;
}

/** Returns the full count of all images, as rows of `tree_images`. */
export function countedImages(): RawBuilder<unknown> {
  return sql`select ${named(IMAGE_COLUMNS)} from ${summedImages(sql`history_images`)} p`;
}

const TYPES = {
  treeId: 'uuid',
  runId: 'uuid',
  stepId: 'uuid',
  visionTokens: 'integer',
  textTokens: 'integer',
  length: 'integer',
  misses: 'integer',
  factor: 'double precision',
  width: 'integer',
  height: 'integer',
  cutSegments: 'integer',
  cutLines: 'integer',
  outside: 'integer',
  unshaped: 'integer',
  renderMs: 'double precision',
} as const;

const bound = (of: 'least' | 'greatest', column: string) =>
  sql`${sql.ref(column)} = ${sql.raw(of)}(tree_images.${sql.ref(column)}, excluded.${sql.ref(column)})`;

/** Adds images that are new to what is counted of their trees. */
export async function addImages(trx: Trx, images: readonly ReturnType<typeof historyRow>[]): Promise<void> {
  if (images.length === 0) return;
  const rows = images.map(({ missed, ...image }) => ({
    ...Object.fromEntries(Object.keys(TYPES).map((name) => [name, image[name as keyof typeof image]])),
    misses: missed.length,
  }));
  const both = (column: string) => sql`tree_images.${sql.ref(column)} + excluded.${sql.ref(column)}`;
  const sets = [
    ...SUMS.map((column) => sql`${sql.ref(column)} = ${both(column)}`),
    ...DECIMALS.map((column) => sql`${sql.ref(column)} = trim_scale(${both(column)})`),
    ...BOUNDS.map((of) => sql`${bound('least', `${of}_min`)}, ${bound('greatest', `${of}_max`)}`),
  ];
  await sql`
    insert into tree_images (${named(IMAGE_COLUMNS)})
    select ${named(IMAGE_COLUMNS)} from (select ${named(KEY, 'i')}, ${PARTS} from (select * from ${recordset(rows, TYPES)}) i group by ${named(KEY, 'i')}) p
    on conflict (${named(KEY)}) do update set ${sql.join(sets)}`.execute(trx);
}

const summed = (column: string) => sql`coalesce(sum(p.${sql.ref(column)}), 0)::bigint`;

/** What showing images amounts to, of rows `p` of `tree_images` or of sums like them. */
export const IMAGE_TOTALS = sql`${sql.join(
  [
    'steps',
    'vision_tokens',
    'text_tokens',
    'segments',
    'misses',
    'pixels',
    'cut_segments',
    'cut_lines',
    'outside',
    'unshaped',
  ].map((column) => sql`${summed(column)} as ${sql.ref(column)}`),
)}, ${summed('text_tokens')} - ${summed('vision_tokens')} as saved, ${summed('segments')} - ${summed('misses')} as hits,
  (sum(p.segments) - sum(p.misses))::float8 / nullif(sum(p.segments), 0)::float8 as hit_rate,
  (sum(p.factors) / nullif(sum(p.steps), 0))::float8 as mean_factor, coalesce(sum(p.render_ms), 0)::float8 as render_ms`;
