import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import type { ExportFormat } from './formats.ts';
import type { ExportCounts, Manifest } from './manifest.ts';
import { describeQuery } from './parse-trajectory-query.ts';
import type { Shard } from './shard-sink.ts';

/** What a folder of a data set is and where it comes from. */
export interface FolderManifest extends Omit<Manifest, 'schema' | 'format' | 'bytes' | 'sha256'> {
  readonly format: ExportFormat;
  readonly schema: 'espalier-folder-manifest/1';
  readonly splits: Readonly<Record<string, ExportCounts>>;
  readonly files: readonly Shard[];
}

/** Where the manifest of a folder lies in it. */
export const FOLDER_MANIFEST = '_manifests/dataset.manifest';

/** What a card says: which files are which split, what the rows are, and how many of what each split has. */
interface Card {
  readonly title: string;
  readonly what: string;
  /** How the command line names the format and its options. */
  readonly command: string;
  readonly query: TrajectoryQuery;
  readonly codeVersion: string;
  readonly files: readonly Shard[];
  readonly columns: readonly string[];
  readonly rows: readonly { readonly split: string; readonly cells: readonly number[] }[];
}

/** Writes the card of a folder of trajectories. */
export function datasetCard({ format, formatVersion, query, counts, splits, codeVersion, files }: FolderManifest): string {
  return cardOf({
    title: 'Trajectories of language agents',
    query,
    codeVersion,
    files,
    what: `${counts.trajectories} trajectories of ${counts.trees} trees in the form \`${format.kind}\` (version ${formatVersion})`,
    command: commandOf(format),
    columns: ['trajectories', 'steps', 'rows'],
    rows: Object.entries(splits).map(([split, { trajectories, steps, lines }]) => ({
      split,
      cells: [trajectories, steps, lines],
    })),
  });
}

function commandOf(format: FolderManifest['format']): string {
  if (format.kind === 'verl-prompts') return 'verl --data prompts --layout hf';
  return `${format.kind} --layout ${format.kind === 'verl' && format.layout === 'step' ? 'hf-step' : 'hf'}`;
}

/** Writes a card as the hub and `load_dataset` read it. */
export function cardOf({ title, what, command, query, codeVersion, files, columns, rows }: Card): string {
  const written = rows.filter(({ split }) => files.some(({ path }) => path.startsWith(`data/${split}-`)));
  return [
    '---',
    'configs:',
    '- config_name: default',
    '  data_files:',
    ...written.flatMap(({ split }) => [`  - split: ${split}`, `    path: data/${split}-*`]),
    'tags:',
    '- espalier',
    '- agent',
    '---',
    '',
    `# ${title}`,
    '',
    `${what}, written by`,
    `\`espalier export --format ${command}\` of version ${codeVersion} from: ${describeQuery(query) || 'everything'}.`,
    '',
    `| split | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...written.map(({ split, cells }) => `| ${split} | ${cells.join(' | ')} |`),
    '',
    'The split is that of the task; tasks without one are in `train`. `_manifests/dataset.manifest` holds the query, the position of the',
    'record that was read, and the SHA-256 of every file.',
    '',
  ].join('\n');
}
