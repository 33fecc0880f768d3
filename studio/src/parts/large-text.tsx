import { useEffect, useState } from 'react';
import type { LargeTextsNamedFragment, LargeTextsPartFragment } from '../../../graphql/studio/generated/operations.ts';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { whole } from './format.ts';
import { useTree } from './of-tree.tsx';
import { PlainText } from './plain-text.tsx';
import { Query } from './query.tsx';

const BEGINNING = 65_536; // characters of a large text that its record holds
const PART = 262_144; // characters that are asked for at once

interface PartAsked {
  readonly id: string;
  readonly tree?: string | undefined;
  readonly offset: number;
  readonly length: number;
}

/** Where the rest of a large text is asked for. */
export interface TextSource<Answer> {
  readonly operation: Operation<Answer, PartAsked>;
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
  const [all, setAll] = useState(text.length < BEGINNING - 1); // one less where it would part a surrogate pair
  const read = text.length + parts * PART;
  return (
    <>
      <PlainText className={className} text={text} />
      {Array.from({ length: parts }, (_, part) => (
        <Part
          // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
          key={part}
          source={source}
          field={field}
          offset={text.length + part * PART}
          className={className}
          end={() => setAll(true)}
        />
      ))}
      {large ? (
        <p className="faint">
          {all
            ? `All of its ${whole(large.size)} bytes are shown.`
            : `Of ${whole(large.size)} bytes the first ${whole(read)} characters are shown. `}
          {all ? null : (
            <button type="button" className="more" onClick={() => setParts(parts + 1)}>
              {`show the next ${whole(PART)}`}
            </button>
          )}
        </p>
      ) : null}
    </>
  );
}

function Part<Answer>({
  source: { operation, id, textsIn },
  field,
  offset,
  end,
  className = '',
}: Named & { readonly source: TextSource<Answer>; readonly offset: number; readonly end: () => void }) {
  const answer = useAsk(operation, { id, offset, length: PART, tree: useTree() }, { parts: 'all' });
  const text = answer.data && textsIn(answer.data)?.find((each) => each.field === field)?.text;
  const isLast = typeof text === 'string' && text.length < PART - 1;
  useEffect(() => {
    if (isLast) end();
  });
  return (
    <Query of={answer}>
      {() =>
        typeof text !== 'string' ? (
          <p className="notice">What follows could not be found any more.</p>
        ) : (
          <PlainText className={className} text={text} />
        )
      }
    </Query>
  );
}
