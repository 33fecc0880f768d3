import { lazy, Suspense, useState } from 'react';
import {
  type ImageShownFragment,
  type SegmentTextsQuery,
  segmentTexts,
  stepPrompt,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { decimal, whole } from '../parts/format.ts';
import { LargeText } from '../parts/large-text.tsx';
import { loadScript } from '../parts/load.ts';
import { useTree } from '../parts/of-tree.tsx';
import { PlainText, visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { RecordImage } from '../parts/record-image.tsx';
import { outlinesOf } from './outlines.ts';
import { RequestedTool } from './requested-tool.tsx';

const AtFactors = lazy(() =>
  loadScript(() => import('../images/at-factors.tsx')).then((module) => ({ default: module.AtFactors })),
);

/** What the model was shown, exactly: its messages, and a history that was an image beside the text that it draws. */
export function Prompt({ step: id }: { readonly step: string }) {
  const answer = useAsk(stepPrompt, { id, tree: useTree() });
  return (
    <Query of={answer}>
      {({ step }) => {
        if (!step?.prompt)
          return step?.historyImage ? (
            <History image={step.historyImage} step={id} />
          ) : (
            <p className="faint">No prompt is recorded.</p>
          );
        const { prompt } = step;
        return (
          <>
            <p className="faint">
              {[
                prompt.model ? `model ${visible(prompt.model)}` : '',
                prompt.template ? `template ${prompt.template.name} ${prompt.template.version}` : '',
                prompt.sampling.temperature === null ? '' : `temperature ${prompt.sampling.temperature}`,
                prompt.sampling.topP === null ? '' : `top p ${prompt.sampling.topP}`,
                prompt.sampling.topK === null ? '' : `top k ${prompt.sampling.topK}`,
                prompt.sampling.minP === null ? '' : `min p ${prompt.sampling.minP}`,
                prompt.sampling.repetitionPenalty === null ? '' : `repetition penalty ${prompt.sampling.repetitionPenalty}`,
                prompt.sampling.maxTokens === null ? '' : `at most ${prompt.sampling.maxTokens} tokens`,
                ...prompt.sampling.others.map(({ name, value }) => visible(`${name} ${value}`)),
                `SHA-256 ${prompt.sha256.slice(0, 16)}`,
              ]
                .filter(Boolean)
                .join(' · ')}
            </p>
            {prompt.messages.map((message, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a prompt never changes, and its messages have no names
              <div key={at} className={`message message-${message.role}`}>
                <b>{message.role}</b>
                {message.name || message.toolCallId ? (
                  <span className="faint"> {visible([message.name, message.toolCallId].filter(Boolean).join(' · '))}</span>
                ) : null}
                {message.parts.map((part, place) =>
                  part.picture ? (
                    <RecordImage
                      // biome-ignore lint/suspicious/noArrayIndexKey: as above
                      key={place}
                      url={part.picture.url}
                      width={part.picture.width}
                      height={part.picture.height}
                      alt="a picture that the model was shown"
                    />
                  ) : part.image ? (
                    // biome-ignore lint/suspicious/noArrayIndexKey: as above
                    <History key={place} image={part.image} step={id} />
                  ) : part.toolCall ? (
                    // biome-ignore lint/suspicious/noArrayIndexKey: as above
                    <RequestedTool key={place} call={part.toolCall} />
                  ) : (
                    <PlainText
                      // biome-ignore lint/suspicious/noArrayIndexKey: as above
                      key={place}
                      className={part.reasoning === null ? '' : 'thought'}
                      text={part.reasoning ?? part.text ?? ''}
                    />
                  ),
                )}
              </div>
            ))}
            {prompt.tools ? (
              <details>
                <summary>Tools</summary>
                <PlainText text={prompt.tools} />
              </details>
            ) : null}
          </>
        );
      }}
    </Query>
  );
}

function textsOf(segment: string) {
  return ({ step }: SegmentTextsQuery) => step?.historyImage?.segments.find(({ id }) => id === segment)?.largeTexts;
}

/** A history image with its segments outlined, beside their texts: which a cache held, and what both cost. */
function History({ image, step }: { readonly image: ImageShownFragment; readonly step: string }) {
  const [opened, setOpened] = useState(false);
  const [pointed, setPointed] = useState<number | null>(null);
  const point = (place: number) => ({ onPointerEnter: () => setPointed(place), onPointerLeave: () => setPointed(null) });
  const mark = (place: number) => (pointed === place ? 'segment-pointed' : '');
  return (
    <figure className="history">
      <figcaption>
        {`${image.width} × ${image.height} pixels, factor ${decimal(image.factor)}: ${whole(image.visionTokens)} tokens as an image, ${whole(image.textTokens)} as text (${whole(image.saved)} saved)`}
        {image.cutLines + image.cutSegments > 0
          ? `; limits left out ${image.cutSegments} segments and ${image.cutLines} lines`
          : ''}
        {image.unshaped > 0 ? `; ${whole(image.unshaped)} characters are drawn without shaping` : ''}
      </figcaption>
      <div className="history-sides">
        <div className="scroll-x" role="region" aria-label="History image" tabIndex={0}>
          <div className="history-image" style={{ width: image.width }}>
            <RecordImage
              url={image.url}
              width={image.width}
              height={image.height}
              alt={`history image: ${image.segments
                .map(({ text }) => text ?? '')
                .join(' ')
                .slice(0, 300)}`}
            />
            {outlinesOf(image).map(({ segment, left, top, width, height }) => (
              <i
                key={segment.place}
                {...point(segment.place)}
                className={`outline ${segment.hit ? 'outline-hit' : 'outline-drawn'} ${mark(segment.place)}`}
                style={{ left, top, width, height }}
                title={`segment ${segment.place + 1}: ${segment.hit ? 'from the cache' : 'drawn for this image'}`}
              />
            ))}
          </div>
        </div>
        <ol className="segments">
          {image.segments.map((segment) => (
            <li
              key={`${segment.place}`}
              {...point(segment.place)}
              className={`${segment.hit ? 'segment-hit' : 'segment-drawn'} ${mark(segment.place)}`}
            >
              <span className="faint">
                {`${segment.place + 1}, ${segment.hit ? 'from the cache' : 'drawn'}${segment.place < image.cutSegments ? ', left out of the image' : ''}`}
              </span>
              <LargeText
                text={segment.forgotten ? '[forgotten]' : (segment.text ?? '')}
                field="text"
                largeTexts={segment.forgotten ? [] : segment.largeTexts}
                source={{ operation: segmentTexts, id: step, textsIn: textsOf(segment.id) }}
              />
            </li>
          ))}
        </ol>
      </div>
      {isPage() ? null : (
        <details onToggle={(event) => setOpened(event.currentTarget.open)}>
          <summary>The same history at other factors</summary>
          {opened ? (
            <Suspense fallback={null}>
              <AtFactors step={step} />
            </Suspense>
          ) : null}
        </details>
      )}
    </figure>
  );
}
