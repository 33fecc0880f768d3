import type { Command } from 'commander';
import {
  ANNOTATION_ORDERINGS,
  type AnnotationFilter,
  type AnnotationRecord,
  countAnnotations,
  readAnnotationPages,
} from '../projections/annotations/read-annotations.ts';
import { checkedId } from './collect.ts';
import { print, printError, table } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface AnnotationsFlags {
  readonly run?: string;
  readonly label?: string;
  readonly by?: string;
  readonly retracted?: true;
  readonly first: number;
}

/** `espalier annotations`: lists what was said of the record, the last first. */
export function addAnnotations(program: Command): void {
  const command = program
    .command('annotations')
    .option('--run <id>', 'only of this run')
    .option('--label <text>', 'only with this label')
    .option('--by <principal>', 'added by: local, or key: and the id of an API key')
    .option('--retracted', 'include retracted ones')
    .option('--first <n>', 'how many', wholeNumber('--first', 1, 10_000), 50);
  command.action((flags: AnnotationsFlags) => {
    const filter = filterOf(flags);
    return withProjector('annotations', async ({ platform, settle }) => {
      const { db } = platform.database;
      await settle();
      const asked = { limit: flags.first, towards: 'forwards', after: null, before: null } as const;
      const [page] = await readAnnotationPages(db, [filter], ANNOTATION_ORDERINGS.ADDED_DESC, asked);
      const rows = page?.rows.map(({ row }) => row) ?? [];
      if (wantsJson(command)) return print(JSON.stringify(rows));
      const [total = 0] = await countAnnotations(db, [filter]);
      print(table(['added', 'of', 'label', 'score', 'by', 'note', 'id'], rows.map(lineOf)));
      if (total > rows.length) printError(`${total - rows.length} more; --first ${total} lists all`);
    });
  });
}

function filterOf({ run, label, by, retracted }: AnnotationsFlags): AnnotationFilter {
  return {
    ...(run === undefined ? {} : { runId: checkedId('--run', run) }),
    ...(label === undefined ? {} : { label }),
    ...(by === undefined ? {} : { principal: by }),
    ...(retracted ? { retracted } : {}),
  };
}

const NOTE = 60; // characters of a note in a line

function lineOf(row: AnnotationRecord): readonly (string | number)[] {
  const { kind, stepId, rolloutId, revisionId, datasetId, line, treeId } = row;
  const of = { step: stepId, rollout: rolloutId, revision: revisionId, row: `${datasetId} line ${line}`, tree: treeId }[kind];
  const said = row.note.replace(/\s+/g, ' ');
  const retracted = row.retractedAt === null ? '' : ' (retracted)';
  return [
    row.addedAt.toISOString().slice(0, 19),
    `${kind} ${of}${retracted}`,
    ...[row.label ?? '', row.score ?? '', row.principal, said.length > NOTE ? `${said.slice(0, NOTE)}…` : said, row.id],
  ];
}
