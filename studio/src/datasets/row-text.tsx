import { useState } from 'react';
import { datasetRow } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { whole } from '../parts/format.ts';
import { PlainText } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';

const CHARACTERS = 20_000;

/** What the lines of a row hold, as the record makes them: asked for when it is opened. */
export function RowText({ dataset, line }: { readonly dataset: string; readonly line: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{`text of row ${line}`}</summary>
      {open ? <Lines dataset={dataset} line={line} /> : null}
    </details>
  );
}

function Lines({ dataset, line }: { readonly dataset: string; readonly line: number }) {
  const variables = { dataset, line, characters: CHARACTERS };
  const answer = useAsk(datasetRow, variables, { parts: 'all' });
  return (
    <Query of={answer}>
      {({ dataset: found }) => {
        const [row] = found?.examples.nodes ?? [];
        if (!row) return <p className="empty">The row is not on record.</p>;
        if (!row.text) return <p className="empty">The row cannot be made again from the record.</p>;
        const { text, length } = row.text;
        return (
          <>
            <div className="row">
              <span className="faint">{`${row.lines === 1 ? 'one line' : `${row.lines} lines`}, ${whole(length)} characters${length > CHARACTERS ? `, the first ${whole(CHARACTERS)} of them` : ''}; made again from the record`}</span>
              <CopyAs operation={datasetRow} variables={variables} />
            </div>
            <PlainText className="raw" text={length > CHARACTERS ? text : indented(text)} />
          </>
        );
      }}
    </Query>
  );
}

/** Lays JSON lines out for reading; as they are where they are no JSON. */
function indented(lines: string): string {
  try {
    return lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.stringify(JSON.parse(line), null, 2))
      .join('\n');
  } catch {
    return lines;
  }
}
