import { useState } from 'react';
import type { LargeTextsNamedFragment, LargeTextsPartFragment } from '../../../graphql/studio/generated/operations.ts';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { whole } from './format.ts';
import { PlainText } from './plain-text.tsx';
import { Shown } from './shown.tsx';

const PART = 262_144; // characters that are asked for at once

/** Where the rest of a large text is asked for. */
export interface TextSource<Answer> {
  readonly operation: Operation<Answer, { readonly id: string; readonly offset: number; readonly length: number }>;
  readonly id: string;
  /** The large texts of the record, in the answer. */
  readonly textsIn: (answer: Answer) => readonly LargeTextsPartFragment[] | undefined;
}

interface Named {
  readonly field: string;
  readonly className?: string;
}

/** A text of a record. Of a large one the record holds the beginning: the rest is asked for part by part, and never missing unsaid. */
export function LargeText<Answer>({
  text,
  field,
  largeTexts,
  source,
  className = '',
}: Named & {
  readonly text: string;
  readonly largeTexts: readonly LargeTextsNamedFragment[];
  readonly source: TextSource<Answer>;
}) {
  const large = largeTexts.find((each) => each.field === field);
  const [parts, setParts] = useState(0);
  const read = text.length + parts * PART;
  return (
    <>
      <PlainText className={className} text={text} />
      {Array.from({ length: parts }, (_, part) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
        <Part key={part} source={source} field={field} offset={text.length + part * PART} className={className} />
      ))}
      {large ? (
        <p className="faint">
          {read < large.size // no text has more characters than bytes
            ? `Of ${whole(large.size)} bytes the first ${whole(read)} characters are shown. `
            : `All of its ${whole(large.size)} bytes are shown.`}
          {read < large.size ? (
            <button type="button" className="more" onClick={() => setParts(parts + 1)}>
              {`show the next ${whole(PART)}`}
            </button>
          ) : null}
        </p>
      ) : null}
    </>
  );
}

function Part<Answer>({
  source: { operation, id, textsIn },
  field,
  offset,
  className = '',
}: Named & { readonly source: TextSource<Answer>; readonly offset: number }) {
  const answer = useAsk(operation, { id, offset, length: PART }, { parts: 'all' });
  return (
    <Shown of={answer}>
      {(read) => <PlainText className={className} text={textsIn(read)?.find((each) => each.field === field)?.text ?? ''} />}
    </Shown>
  );
}
