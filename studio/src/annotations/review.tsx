import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef } from 'react';
import {
  labels,
  type ReviewQueueQuery,
  reviewQueue,
  type StepFilter,
  type TextField,
  type Verdict,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { type Option, Options } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { StepLink, taskName } from '../parts/links.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Rewards } from '../parts/rewards.tsx';
import { StepText } from '../trajectories/step-text.tsx';
import { AnnotateButton, Annotations } from './annotations.tsx';
import { LatestAnnotations } from './latest-annotations.tsx';
import { annotatable } from './open-annotator.ts';

const FIRST = 20;

/** Queues of steps to look at, one after the other; the address is the queue, and what is annotated leaves it. */
export function ReviewPage() {
  const queue = useSearch({ from: '/view/review' });
  const key = JSON.stringify(queue);
  const pages = usePages(key);
  const variables = { filter: filterOf(queue), first: FIRST, ...pages.variables };
  const asked = Object.keys(queue).some((name) => name !== 'at');
  const answer = useAsk(reviewQueue, variables, { enabled: asked });
  return (
    <>
      <PageHead title="Review">{asked ? <CopyAs operation={reviewQueue} variables={variables} /> : null}</PageHead>
      <Queues walk={!asked} />
      <Fields key={key} queue={queue} />
      {asked ? (
        <Query of={answer}>
          {({ steps }) => (
            <>
              <p className="faint">
                <kbd>j</kbd> <kbd>k</kbd> walk, <kbd>a</kbd> annotates. What is annotated leaves the queue.
              </p>
              {steps.nodes.length === 0 ? <p className="empty">Nothing is left in this queue.</p> : null}
              <Items steps={steps.nodes} />
              <Paging pages={pages} info={steps.pageInfo} of="steps" />
            </>
          )}
        </Query>
      ) : (
        <p className="empty">
          Choose a queue first, there is nothing to annotate before: <kbd>j</kbd> <kbd>k</kbd> go through them, Enter opens one.
          Or write one of your own: its address is a link to it.
        </p>
      )}
      <LatestAnnotations />
    </>
  );
}

/** @param walk the keys go through the queues, while none is chosen. */
function Queues({ walk }: { readonly walk: boolean }) {
  const known = useAsk(labels, {}).data?.annotationLabels ?? [];
  const item = walk ? { 'data-item': true } : {};
  return (
    <nav className="row queues" aria-label="Queues">
      {QUEUES.map(({ name, queue }) => (
        <Link key={name} className="button" to="/view/review" search={queue} {...item}>
          {name}
        </Link>
      ))}
      {known.slice(0, 12).map(({ label, count }) => (
        <Link key={label} className="button" to="/view/review" search={{ label }} {...item}>
          <bdi>{visible(label)}</bdi>
          {` (${count})`}
        </Link>
      ))}
    </nav>
  );
}

function Fields({ queue }: { readonly queue: Queue }) {
  const navigate = useNavigate({ from: '/view/review' });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget)].filter(([, value]) => value !== '');
    void navigate({ search: Object.fromEntries(given) as Queue }); // the names of the fields are those of a queue
  };
  const field = (name: keyof Queue, label: string, size: number) => (
    <label>
      {label}
      <input name={name} defaultValue={queue[name] ?? ''} size={size} />
    </label>
  );
  const choose = (name: keyof Queue, label: string, options: readonly Option[]) => (
    <label>
      {label}
      <select name={name} defaultValue={queue[name] ?? ''}>
        <Options of={options} />
      </select>
    </label>
  );
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label>
          Words
          <input data-find name="words" defaultValue={queue.words ?? ''} size={28} />
        </label>
        {choose('in', 'In', [['', 'all texts'], ['said', 'thought and action'], 'observation'])}
        {field('run', 'Run', 10)}
        {field('from', 'Return from', 8)}
        {field('until', 'Below', 8)}
        {choose('verdict', 'Verdict', [['', 'any'], 'good', 'bad', 'uncertain'])}
        {choose('fault', 'Fault', [
          ['', 'any'],
          ['form', 'not well formatted'],
          ['executable', 'not executable'],
          ['truncated', 'cut off'],
          ['rejected', 'sample rejected'],
        ])}
        {field('label', 'With label', 10)}
        {field('without', 'Without label', 10)}
        <button type="submit">Show</button>
      </form>
    </search>
  );
}

type Item = ReviewQueueQuery['steps']['nodes'][number];

/** The items of a page. When the one that has the focus leaves, the one in its place takes it. */
function Items({ steps }: { readonly steps: readonly Item[] }) {
  const list = useRef<HTMLOListElement>(null);
  const place = useRef(-1);
  const ids = steps.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: other items
  useEffect(() => {
    if (place.current === -1 || list.current?.contains(document.activeElement)) return;
    const items = list.current?.querySelectorAll<HTMLElement>('[data-item]');
    items?.[Math.min(place.current, items.length - 1)]?.focus();
  }, [ids]);
  return (
    <ol className="plain found" ref={list}>
      {steps.map((step, at) => (
        <li
          key={`${step.treeId} ${step.id}`}
          className="step"
          {...annotatable({ subject: { step: step.id, inTree: step.treeId }, name: `step ${step.depth}` })}
          onFocus={() => {
            place.current = at;
          }}
        >
          <StepToReview step={step} />
        </li>
      ))}
    </ol>
  );
}

function StepToReview({ step }: { readonly step: Item }) {
  const { rollout, tree } = step;
  return (
    <OfTree value={step.treeId}>
      <header>
        <StepLink step={step} />
        <span className="faint">
          <bdi>{taskName(tree, 100)}</bdi>
        </span>
        {rollout === null ? null : (
          <span
            className={`reward ${rollout.return !== null && rollout.return <= 0 ? 'reward-bad' : ''}`}
          >{`return ${decimal(rollout.return)}`}</span>
        )}
        <Rewards of={step.rewards} />
        <AnnotateButton what={{ subject: { step: step.id, inTree: step.treeId }, name: `step ${step.depth}` }} />
      </header>
      <Annotations of={step.annotations} />
      {step.thought ? <StepText step={step} field="thought" className="thought" text={step.thought} /> : null}
      <StepText step={step} field={step.action ? 'action' : 'response'} className="action" text={step.action || step.response} />
      {step.observation ? <StepText step={step} field="observation" className="observation" text={step.observation} /> : null}
    </OfTree>
  );
}

/** The parameters of a queue: its address is the saved question. */
type Queue = {
  readonly words?: string;
  readonly in?: string;
  readonly run?: string;
  readonly verdict?: string;
  readonly from?: string;
  readonly until?: string;
  readonly fault?: string;
  readonly label?: string;
  readonly without?: string;
};

/** Questions that most reviews begin with. */
const QUEUES: readonly { readonly name: string; readonly queue: Queue }[] = [
  {
    name: 'Rewarded although it says that it cannot',
    queue: { words: 'cannot or unable or impossible', in: 'said', from: '0.000001' },
  },
  {
    name: 'Not rewarded although it says that it is done',
    queue: { words: 'done or finished or completed', in: 'said', until: '0.000001' },
  },
  { name: 'Judged bad', queue: { verdict: 'bad' } },
  { name: 'Not well formatted', queue: { fault: 'form' } },
  { name: 'Not executable', queue: { fault: 'executable' } },
  { name: 'Cut off by a limit', queue: { fault: 'truncated' } },
  { name: 'Samples that were rejected', queue: { fault: 'rejected' } },
];

/**
 * Returns the filter of a queue. What is annotated already is left out: with anything, or with the label that `without` names; a
 * queue of a `label` holds what has it.
 */
function filterOf({ words, in: where, run, verdict, from, until, fault, label, without }: Queue): StepFilter {
  const range = { ...(isNumber(from) ? { from: Number(from) } : {}), ...(isNumber(until) ? { until: Number(until) } : {}) };
  const fields = where === 'said' ? (['thought', 'action'] as const) : where ? [where as TextField] : undefined;
  return {
    depth: { from: 1 },
    annotated: label ? { label } : { has: false, ...(without ? { label: without } : {}) },
    ...(words ? { text: { words, ...(fields ? { in: [...fields] } : {}) } } : {}),
    ...(run ? { run } : {}),
    ...(verdict ? { verdict: verdict as Verdict } : {}),
    ...(Object.keys(range).length > 0 ? { return: range } : {}),
    ...(fault === 'form' ? { wellFormatted: false } : {}),
    ...(fault === 'executable' ? { executable: false } : {}),
    ...(fault === 'truncated' ? { termination: 'truncated' } : {}),
    ...(fault === 'rejected' ? { sampleState: 'rejected' } : {}),
  };
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== '' && Number.isFinite(Number(text));
}
