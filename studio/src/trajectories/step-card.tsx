import { lazy, Suspense, useState } from 'react';
import type { StepShownFragment } from '../../../graphql/studio/generated/operations.ts';
import { AnnotateButton, Annotations } from '../annotations/annotations.tsx';
import { annotatable } from '../annotations/open-annotator.ts';
import { count, decimal, duration, instant } from '../parts/format.ts';
import { loadScript } from '../parts/load.ts';
import { useTree } from '../parts/of-tree.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Loading } from '../parts/query.tsx';
import { RecordImage } from '../parts/record-image.tsx';
import { RequestedTool } from './requested-tool.tsx';
import { StepText, ToolText } from './step-text.tsx';

const Prompt = lazy(() => loadScript(() => import('./prompt.tsx')).then(({ Prompt }) => ({ default: Prompt })));
const Tokens = lazy(() => loadScript(() => import('./tokens.tsx')).then(({ Tokens }) => ({ default: Tokens })));
const Events = lazy(() => loadScript(() => import('./events.tsx')).then(({ Events }) => ({ default: Events })));

type Part = 'prompt' | 'tokens' | 'response' | 'events';

/** One step: thought and action, what the environment answered, what it earned; the prompt, the tokens and the events on demand. */
export function StepCard({
  step,
  chosen,
  choose,
}: {
  readonly step: StepShownFragment;
  readonly chosen: boolean;
  readonly choose: () => void;
}) {
  const [part, setPart] = useState<Part | null>(null);
  const show = (name: Part, label: string) => (
    <button type="button" className="quiet" aria-expanded={part === name} onClick={() => setPart(part === name ? null : name)}>
      {label}
    </button>
  );
  const root = step.depth === 0;
  const what = { subject: { step: step.id, inTree: useTree() }, name: root ? 'the start' : `step ${step.depth}` };
  return (
    <article
      className={`step ${chosen ? 'step-chosen' : ''}`}
      {...annotatable(what)}
      aria-label={root ? 'first observation' : `step ${step.depth}`}
    >
      <header>
        <button
          type="button"
          className="step-number"
          data-item
          onClick={choose}
          aria-label={root ? 'start, link to it' : `${step.depth}, link to step ${step.depth}`}
        >
          {root ? 'start' : step.depth}
        </button>
        {step.rewards.map((reward) => (
          <span
            key={reward.id}
            className={`reward ${reward.value < 0 ? 'reward-bad' : ''}`}
            title={`by ${reward.scorer.name}@${reward.scorer.revision}${reward.revisionCount > 0 ? `, first ${reward.assignedValue}` : ''}`}
          >
            {`${visible(reward.component)} ${reward.value > 0 ? '+' : ''}${decimal(reward.value)}`}
            {reward.revisionCount > 0 ? ' (revised)' : ''}
          </span>
        ))}
        {step.wellFormatted || root ? null : <span className="state state-failed">not well formatted</span>}
        {step.executable || root ? null : <span className="state state-failed">not executable</span>}
        {step.termination === 'none' ? null : <span className="state">{step.termination}</span>}
        <span className="step-times faint">
          <time dateTime={step.occurredAt} title={instant(step.occurredAt)}>
            {timesOf(step.timings) || instant(step.occurredAt)}
          </time>
        </span>
      </header>
      <Annotations of={step.annotations} />
      {step.thought ? <StepText step={step} field="thought" className="thought" text={step.thought} /> : null}
      {root ? null : (
        <StepText
          step={step}
          field={step.action ? 'action' : 'response'}
          className="action"
          text={step.action || step.response}
        />
      )}
      {step.toolCalls.map((call) => (
        <div key={call.id} className="tool">
          <span className={`state ${call.outcome === 'error' ? 'state-failed' : ''}`}>
            {visible(call.tool)} · {duration(call.durationMs)}
          </span>
          <ToolText step={step.id} call={call} field="arguments" text={call.arguments} />
          <ToolText step={step.id} call={call} field="output" className="observation" text={call.output} />
        </div>
      ))}
      {step.observation ? <StepText step={step} field="observation" className="observation" text={step.observation} /> : null}
      {step.pictures.map((picture, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: one picture may occur twice; their places never change
        <div key={place} className="scroll-x" role="region" aria-label={`Picture ${place + 1}`} tabIndex={0}>
          <RecordImage
            url={picture.url}
            width={picture.width}
            height={picture.height}
            alt={`picture ${place + 1} of the observation`}
          />
        </div>
      ))}
      {root ? null : (
        <footer className="row">
          {step.historyImage
            ? show('prompt', `Shown to the model (image, factor ${decimal(step.historyImage.factor)})`)
            : step.hasPrompt
              ? show('prompt', 'Shown to the model')
              : null}
          {show('response', 'Whole reply')}
          {step.tokens ? show('tokens', count(step.tokens.ids.length, 'token')) : null}
          {show('events', 'Events and lineage')}
          <AnnotateButton what={what} />
        </footer>
      )}
      {part === null ? null : (
        <div className="step-part">
          <Suspense fallback={<Loading />}>
            {part === 'prompt' ? <Prompt step={step.id} /> : null}
            {part === 'response' ? <WholeReply step={step} /> : null}
            {part === 'tokens' ? <Tokens step={step.id} /> : null}
            {part === 'events' ? <Events step={step.id} /> : null}
          </Suspense>
        </div>
      )}
    </article>
  );
}

/** The reply as the policy wrote it: what it thought apart from it, its text, its calls of tools. */
function WholeReply({ step }: { readonly step: StepShownFragment }) {
  return (
    <>
      {step.reply?.reasoning ? <StepText step={step} field="thought" className="thought" text={step.thought} /> : null}
      {step.response || !step.reply ? <StepText step={step} field="response" text={step.response} /> : null}
      {step.reply?.toolCalls.map((call, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a reply never changes, and its calls may have no ids
        <RequestedTool key={place} call={call} />
      ))}
    </>
  );
}

/** How long a step took; nothing of what is 0, which the record has of a time that nobody measured. */
function timesOf({ policyMs, environmentMs }: StepShownFragment['timings']): string {
  const times = [
    policyMs > 0 ? `${duration(policyMs)} policy` : '',
    environmentMs > 0 ? `${duration(environmentMs)} environment` : '',
  ];
  return times.filter(Boolean).join(', ');
}
