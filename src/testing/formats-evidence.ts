import { type Read, TRAINED, tokensOf } from './formats-recorded.ts';
import { LEASED, UNPICTURED } from './record-formats.ts';

/** What readers call the options that wrote a file. */
const OPTIONS: Readonly<Record<string, string>> = {
  'trl-tokens': 'trl --tokenizer',
  'trl-tokens-parquet': 'trl --tokenizer, Parquet',
  'mined-trl-tokens-parquet': 'trl --data both --tokenizer, Parquet',
  'trl-tokens --layout hf': 'trl --tokenizer --layout hf',
  verl: 'verl --tokenizer',
  prompts: 'verl --data prompts',
  lease: 'leased batch',
  steps: 'verl --layout step',
  'mined-trl': 'trl --data both',
  'mined-trl-tokens': 'trl --data both --tokenizer',
  'mined-openai': 'openai --data both',
  'mined-xtuner': 'xtuner --data both',
  'mined-agent-r': 'agent-r',
};

function nameOf(format: string): string {
  const [options = '', ...more] = (OPTIONS[format] ?? format).split(', ');
  return [`\`${options}\``, ...more].join(', ');
}

/** Returns the page of formats and their readers: one row for all readers that take the same from the same file. */
export function evidence(reads: readonly Read[]): string {
  const readers = new Map<string, Read[]>();
  for (const read of reads) {
    const found = cellsOf(read).join(' | ');
    readers.set(found, [...(readers.get(found) ?? []), read]);
  }
  const rows = [...readers.values()].map((same) => {
    const [format, ...found] = cellsOf(same[0]!); // no list of the map is empty
    return `| ${[format, same.map(({ reader, version }) => `${reader} ${version}`.trim()).join(', '), ...found].join(' | ')} |`;
  });
  return `# Formats and their readers

One record of five trajectories with seven replies that are trained on (${tokensOf(TRAINED)} tokens of a tokenizer of one token per character, their ends included), two of which follow replies that
are context; and a second one with other rewards. Each file is read by the package that it is written for.
\`openai\` and \`sharegpt\` leave out what follows context (\`--context drop\`), and their manifests count it: 2 replies.

The test that reads the files writes this page: \`ESPALIER_WRITE_EVIDENCE=1 npm test -- formats-read\`.

Every cell is compared with the record: the number of tokens that are trained on, and the sum of their weights. The weight of a reply is 1, or 0 where it is
context; where a format holds rewards (\`trl-grpo\`, \`verl\`, a leased batch as rollouts), the column has their sum. Trainers count in the batches that their loss is
computed of; readers of tables have their rows counted by the columns that say what is trained on (\`python/tests_consumers/trained.py\`). A leased batch is the
body that the server sends: ${LEASED.length} rollouts of ${4} sampled tokens in two steps each; a pair of it is its best and its worst rollout.
\`--data both\` are examples of a searched tree: a good trajectory of two replies, and a revision whose two bad replies nobody may train on, with the one that turns back
(their texts have signs that the tokenizer does not know: the export has a token for each, transformers leaves them out).
Rows "with pictures" are a run whose pictures begin after ${UNPICTURED} rows of text; polars and pyarrow are asked to look at all rows, as the guide and the command say.
TRL's trainer of vision-language models is shown every picture of such a file; those of verl and LLaMA-Factory are not run on pictures.
What \`jsonl\` holds is read by \`espalier import\` into an empty installation.
torchtune and FastChat are not run here: they read \`openai\` and \`sharegpt\`, in which every reply is trained on.
Files of other programs that \`espalier import\` reads are in [Imported formats](./imports.md).

| format | reader | reads | rows | trained tokens | sum of weights |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

/** The cells of a row but that of the reader. */
function cellsOf({ format, read, rows, tokens, weight, prompted, truths }: Read): readonly string[] {
  const trained = prompted === undefined ? tokens : `0 (${prompted} of prompts)`;
  const sum = truths === undefined ? (weight ?? '') : `ground truths ${truths.join(', ')}`;
  const name = format.startsWith('seen-') ? `${nameOf(format.slice(5))} with pictures` : nameOf(format);
  return [name, read, rows, trained, sum].map(String);
}
