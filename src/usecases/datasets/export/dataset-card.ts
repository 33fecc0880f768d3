import type { FolderManifest } from './folder-manifest.ts';
import { describeQuery } from './parse-trajectory-query.ts';

/** Writes the card of a folder: which files are which split, as the hub and `load_dataset` read it, and what the rows are. */
export function datasetCard({ format, formatVersion, query, counts, splits, codeVersion, files }: FolderManifest): string {
  const names = Object.keys(splits).filter((split) => files.some(({ path }) => path.startsWith(`data/${split}-`)));
  const configs = names.flatMap((split) => [`  - split: ${split}`, `    path: data/${split}-*`]);
  const rows = names.map(
    (split) => `| ${split} | ${splits[split]?.trajectories} | ${splits[split]?.steps} | ${splits[split]?.lines} |`,
  );
  return [
    '---',
    'configs:',
    '- config_name: default',
    '  data_files:',
    ...configs,
    'tags:',
    '- espalier',
    '- agent',
    '---',
    '',
    '# Trajectories of language agents',
    '',
    `${counts.trajectories} trajectories of ${counts.trees} trees in the form \`${format.kind}\` (version ${formatVersion}), written by`,
    `\`espalier export --format ${format.kind === 'verl-prompts' ? 'verl --data prompts' : format.kind} --layout hf\` of version ${codeVersion} from: ${describeQuery(query) || 'everything'}.`,
    '',
    '| split | trajectories | steps | rows |',
    '|---|---|---|---|',
    ...rows,
    '',
    'The split is that of the task; tasks without one are in `train`. `_manifests/dataset.manifest` holds the query, the position of the',
    'record that was read, and the SHA-256 of every file.',
    '',
  ].join('\n');
}
