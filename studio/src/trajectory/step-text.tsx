import { useState } from 'react';
import { type LargeTextsNamedFragment, stepText } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { whole } from '../parts/format.ts';
import { PlainText } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';

const PART = 262_144; // characters that are asked for at once

interface Texts {
  readonly id: string;
  readonly largeTexts: readonly LargeTextsNamedFragment[];
}
type Field = 'thought' | 'action' | 'response' | 'observation';

/** A text of a step. Of a large one the step holds the beginning: the rest is asked for part by part, and never missing unsaid. */
export function StepText({
  step,
  field,
  text,
  className = '',
}: {
  readonly step: Texts;
  readonly field: Field;
  readonly text: string;
  readonly className?: string;
}) {
  const large = step.largeTexts.find((each) => each.field === field);
  const [parts, setParts] = useState(0);
  return (
    <>
      <PlainText className={className} text={text} />
      {Array.from({ length: parts }, (_, part) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
        <Part key={part} step={step.id} field={field} offset={text.length + part * PART} className={className} />
      ))}
      {large ? (
        <p className="faint">
          {`Of ${whole(large.size)} bytes the first ${whole(text.length + parts * PART)} characters are shown. `}
          {text.length + parts * PART < large.size ? (
            <button type="button" className="more" onClick={() => setParts(parts + 1)}>
              {`show the next ${whole(PART)}`}
            </button>
          ) : null}
        </p>
      ) : null}
    </>
  );
}

function Part({
  step,
  field,
  offset,
  className,
}: {
  readonly step: string;
  readonly field: Field;
  readonly offset: number;
  readonly className: string;
}) {
  const answer = useAsk(stepText, { id: step, offset, length: PART }, { parts: 'all' });
  return (
    <Shown of={answer}>
      {({ step: read }) => (
        <PlainText className={className} text={read?.largeTexts.find((each) => each.field === field)?.text ?? ''} />
      )}
    </Shown>
  );
}
