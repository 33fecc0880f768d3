import { useState } from 'react';
import { type ImageAtFactorsQuery, imageAtFactors } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, percent, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { useTree } from '../parts/of-tree.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { RecordImage } from '../parts/record-image.tsx';
import { Table } from '../parts/table.tsx';

type Image = NonNullable<NonNullable<ImageAtFactorsQuery['step']>['historyImage']>;
type At = NonNullable<Image['atFactors']>[number];
const FACTORS = [1, 1.2, 1.5, 2, 3, 4, 6, 9] as const;

/** The history of a step at other compression factors: its tokens, how legible it is, and the image itself. */
export function AtFactors({ step: id }: { readonly step: string }) {
  const variables = { step: id, tree: useTree(), factors: [...FACTORS] };
  const answer = useAsk(imageAtFactors, variables, { parts: 'all' });
  return (
    <Query of={answer}>
      {({ step }) =>
        step?.historyImage ? (
          <>
            <div className="row">
              <span className="faint">
                {`Shown to the model at factor ${decimal(step.historyImage.factor)}, for ${whole(step.historyImage.textTokens)} tokens of text (${visible(step.historyImage.tokenizer)}); tokens of images by ${visible(step.historyImage.visionPreset)}.`}
              </span>
              {step.rolloutId ? (
                <Link to="/view/trajectory/$id" params={{ id: step.rolloutId }} search={{ step: step.id, tree: step.treeId }}>
                  {`step ${step.depth} in its trajectory`}
                </Link>
              ) : null}
              <CopyAs operation={imageAtFactors} variables={variables} />
            </div>
            {step.historyImage.atFactors ? <Choice image={step.historyImage} factors={step.historyImage.atFactors} /> : null}
          </>
        ) : (
          <p className="empty">This step was not shown its history as an image.</p>
        )
      }
    </Query>
  );
}

function Choice({ image, factors }: { readonly image: Image; readonly factors: readonly At[] }) {
  const larger = factors.find(({ factor }) => factor > image.factor);
  const [factor, setFactor] = useState(larger?.factor ?? image.factor);
  const atFactor = factors.find((each) => each.factor === factor);
  return (
    <>
      <Table
        label="Factors"
        className="factors"
        rows={factors}
        keyOf={(each) => each.factor}
        rowProps={(each) => ({ 'aria-selected': each.factor === factor })}
        columns={[
          [
            'factor',
            (each) => (
              <label>
                <input
                  type="radio"
                  name={`factor of ${image.id}`}
                  checked={each.factor === factor}
                  onChange={() => setFactor(each.factor)}
                />
                {decimal(each.factor)}
                {each.shown ? <span className="faint"> as it was shown</span> : null}
              </label>
            ),
          ],
          ['size', ({ width, height }) => `${width} × ${height}`],
          ['tokens', ({ visionTokens }) => whole(visionTokens), 'number'],
          ['saved of the text', ({ saved }) => (image.textTokens > 0 ? percent(saved / image.textTokens) : '–'), 'number'],
          ['line of text', ({ linePixels }) => (linePixels === null ? '–' : `${decimal(linePixels)} px`), 'number'],
          ['legibility', ({ legibility }) => (legibility === null ? '–' : <Legibility of={legibility} />)],
        ]}
      />
      <p className="faint">
        Legibility is the share of the strokes that is left: 100 % is text as it is drawn (mean structural similarity). What a
        model still reads is for an evaluation to say.
      </p>
      <div className="columns">
        <Drawn at={{ ...image, shown: true }} name={`as it was shown, factor ${decimal(image.factor)}`} />
        {atFactor && !atFactor.shown ? <Drawn at={atFactor} name={`at factor ${decimal(atFactor.factor)}`} /> : null}
      </div>
    </>
  );
}

function Legibility({ of }: { readonly of: number }) {
  return (
    <span className="row">
      <meter min={0} max={1} value={of} aria-label="legibility" /> {percent(of)}
    </span>
  );
}

function Drawn({
  at: { url, width, height },
  name,
}: {
  readonly at: Pick<At, 'url' | 'width' | 'height' | 'shown'>;
  readonly name: string;
}) {
  return (
    <figure className="history">
      <figcaption>{name}</figcaption>
      <div className="scroll-x" role="region" aria-label={`The image ${name}`} tabIndex={0}>
        <RecordImage key={url} url={url} width={width} height={height} alt={`the history ${name}`} />
      </div>
    </figure>
  );
}
