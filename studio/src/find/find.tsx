import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import {
  type FindStepsQuery,
  findSteps,
  type StepFilter,
  type Termination,
  type TextField,
  type Verdict,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose, type Option } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { StepLink, taskName } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Rewards } from '../parts/rewards.tsx';

const FIRST = 50;
const LEAST = 1e-6; // a reward of less is none
const FIELDS: readonly TextField[] = ['observation', 'action', 'thought'];

/** Finds steps by their words, and by what is known of them; the address is the saved search. */
export function FindPage() {
  const search = useSearch({ from: '/view/find' });
  const navigate = useNavigate({ from: '/view/find' });
  const [words, setWords] = useState(search.words ?? '');
  useEffect(() => setWords(search.words ?? ''), [search.words]);
  const set = (part: Record<string, string | undefined>) => void navigate({ search: (all) => ({ ...all, ...part }) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set({ words: words || undefined });
  };
  const filter = filterOf(search);
  const asked = Object.keys(filter).length > 0;
  const pages = usePages(JSON.stringify(filter));
  const variables = { filter, first: FIRST, ...pages.variables };
  const answer = useAsk(findSteps, variables, { enabled: asked });
  const choose = (label: string, name: keyof Search, options: readonly Option[]) => (
    <Choose label={label} value={search[name]} options={options} set={(value) => set({ [name]: value || undefined })} />
  );
  return (
    <>
      <PageHead title="Find">{asked ? <CopyAs operation={findSteps} variables={variables} /> : null}</PageHead>
      <search>
        <form className="filters" onSubmit={submit}>
          <label>
            Words
            <input
              data-find
              value={words}
              onChange={(event) => setWords(event.target.value)}
              placeholder='craft "oak log" -bowl'
              size={32}
            />
          </label>
          {choose('In', 'in', [['', 'all texts'], ...FIELDS])}
          <Field name="run" search={search} set={set} />
          <Field name="tool" search={search} set={set} />
          {choose('Rewarded', 'rewarded', [
            ['', 'any'],
            ['step', 'the step itself'],
            ['rollout', 'its rollout'],
            ['not', 'its rollout not'],
          ])}
          <Field name="component" search={search} set={set} />
          {choose('Verdict', 'verdict', [['', 'any'], 'good', 'bad', 'uncertain', 'unparsed'])}
          {choose('End', 'termination', [['', 'any'], 'terminated', 'truncated'])}
          <Field name="policy" search={search} set={set} />
          <Field name="version" search={search} set={set} />
          <button type="submit">Find</button>
        </form>
      </search>
      {asked ? (
        <Query of={answer}>
          {({ steps }) => (
            <>
              {steps.edges.length === 0 ? <p className="empty">No step fits.</p> : null}
              <ol className="plain found">
                {steps.edges.map((edge) => (
                  <Found key={`${edge.node.treeId} ${edge.node.id}`} edge={edge} />
                ))}
              </ol>
              <Paging pages={pages} info={steps.pageInfo} of="steps" />
            </>
          )}
        </Query>
      ) : (
        <p className="empty">
          <code>craft stick</code> finds both words, <code>"oak log"</code> one behind the other, <code>craft or smelt</code>{' '}
          either, <code>craft -bowl</code> leaves out.
        </p>
      )}
    </>
  );
}

type Search = ReturnType<typeof useSearch<ReturnType<typeof import('../router.tsx').makeRouter>, '/view/find'>>;

function filterOf(search: Search): StepFilter {
  const version = Number(search.version);
  return {
    ...(search.words ? { text: { words: search.words, ...(search.in ? { in: [search.in as TextField] } : {}) } } : {}),
    ...(search.run ? { run: search.run } : {}),
    ...(search.tool ? { tool: search.tool } : {}),
    ...(search.component || search.rewarded === 'step'
      ? {
          reward: {
            ...(search.component ? { component: search.component } : {}),
            ...(search.rewarded === 'step' ? { value: { from: LEAST } } : {}),
          },
        }
      : {}),
    ...(search.rewarded === 'rollout' ? { return: { from: LEAST } } : {}),
    ...(search.rewarded === 'not' ? { return: { until: LEAST } } : {}),
    ...(search.verdict ? { verdict: search.verdict as Verdict } : {}),
    ...(search.termination ? { termination: search.termination as Termination } : {}),
    ...(search.policy ? { policy: search.policy } : {}),
    ...(search.version && Number.isInteger(version) ? { policyVersion: version } : {}),
  };
}

function Field({
  name,
  search,
  set,
}: {
  readonly name: 'run' | 'tool' | 'component' | 'policy' | 'version';
  readonly search: Search;
  readonly set: (part: Record<string, string | undefined>) => void;
}) {
  const [value, setValue] = useState(search[name] ?? '');
  useEffect(() => setValue(search[name] ?? ''), [search, name]);
  return (
    <label>
      {name[0]?.toUpperCase() + name.slice(1)}
      <input
        value={value}
        size={10}
        onChange={(event) => setValue(event.target.value)}
        onBlur={() => value !== (search[name] ?? '') && set({ [name]: value || undefined })}
      />
    </label>
  );
}

function Found({ edge: { node, highlights } }: { readonly edge: FindStepsQuery['steps']['edges'][number] }) {
  const texts =
    highlights.length > 0 ? highlights : [{ field: 'action' as const, text: node.action || node.observation.slice(0, 300) }];
  return (
    <li className="step">
      <header>
        <StepLink step={node} />
        <span className="faint">
          <bdi>{taskName(node.tree, 100)}</bdi>
        </span>
        <Rewards of={node.rewards} />
      </header>
      {texts.map((text) => (
        <p key={text.field} className="text">
          <span className="faint">{text.field}: </span>
          <Marked text={text.text} />
        </p>
      ))}
    </li>
  );
}

/** Text whose matches the server put between « and ». */
function Marked({ text }: { readonly text: string }) {
  return visible(text)
    .split(/(«[^»]*»)/)
    .map((part, at) =>
      part.startsWith('«') && part.endsWith('»') ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text are their places
        <mark key={at}>{part.slice(1, -1)}</mark>
      ) : (
        part
      ),
    );
}
