import type { MakeElement, RendererInput, RendererOutput, RendererStep } from '../renderer.ts';

/** Question answering by search: the documents that were found, and in them the spans that answered. */
export function render({ steps, at, task }: RendererInput, h: MakeElement): readonly RendererOutput[] {
  const final = steps.map(({ action }) => answerIn(action)).findLast((text) => text !== undefined);
  const answered = steps[at] ? answerIn(steps[at].action) : undefined;
  const rewards = steps.at(-1)?.rewards ?? [];
  const right = rewards.reduce((sum, { value }) => sum + value, 0) > 0;
  const question = (steps[0]?.observation ?? task.goal).replace(/^Question:\s*/, '') || task.goal;
  const turns = steps.slice(1, at + 1).flatMap((step, place) => {
    const query = queryIn(step.action);
    return query === undefined ? [] : [{ step, query, newest: place + 1 === at, next: queryIn(steps[place + 2]?.action ?? '') }];
  });
  return [
    h(
      'style',
      null,
      `.q{font-weight:600}.doc{border:1px solid var(--line);border-radius:6px;padding:.3rem .5rem;margin:.3rem 0}.title{font-weight:600}
.newest{border-left:3px solid var(--accent);padding-left:.5rem}.faint{color:var(--faint)}.good{color:var(--good)}.bad{color:var(--bad)}ins{text-decoration:underline dotted var(--accent)}`,
    ),
    h('p', { class: 'q' }, question),
    turns.length === 0 ? h('p', { class: 'faint' }, 'Nothing is searched yet.') : null,
    turns.toReversed().map(({ step, query, newest, next }) =>
      h(
        'section',
        { class: newest ? 'newest' : null },
        h('h3', null, `Step ${step.depth}: `, h('q', null, query)),
        documentsIn(step).map(({ title, text }) =>
          h('div', { class: 'doc' }, h('div', { class: 'title' }, marked(title)), h('div', null, marked(text))),
        ),
        h('p', { class: 'faint' }, noted(step, next)),
      ),
    ),
    answered === undefined
      ? null
      : rewards.length === 0
        ? h('p', null, 'Answer: ', h('b', null, answered))
        : h('p', { class: right ? 'good' : 'bad' }, `Answer (${right ? 'right' : 'wrong'}): `, h('b', null, answered)),
  ];

  /** A text with what the rollout answered marked in it. */
  function marked(text: string): RendererOutput {
    if (final === undefined || final.trim().length < 2) return text;
    return pieces(text, final.trim()).map((piece, place) =>
      place % 2 === 1 ? h('mark', { title: 'the answer' }, piece) : piece,
    );
  }

  function noted(step: RendererStep, next: string | undefined): RendererOutput {
    const found = documentsIn(step);
    if (found.length === 0) return plainOf(step.observation) || 'Nothing was found.';
    const words = next === undefined ? [] : taken(next, found.map(({ title, text }) => `${title} ${text}`).join(' '));
    return words.length === 0 ? null : ['Taken into the next search: ', words.map((word) => [h('ins', null, word), ' '])];
  }

  /** Names in a query that a document holds and the question does not. */
  function taken(query: string, text: string): readonly string[] {
    const names = query.match(/\p{Lu}[\p{L}\p{N}'’-]*/gu) ?? [];
    return [...new Set(names)].filter((name) => text.includes(name) && !question.includes(name));
  }
}

function answerIn(action: string): string | undefined {
  return /<answer>([\s\S]*?)<\/answer>/.exec(action)?.[1]?.trim();
}

function queryIn(action: string): string | undefined {
  return /<search>([\s\S]*?)<\/search>/.exec(action)?.[1]?.trim();
}

/** What a search showed: the JSON within `information`, or the text as it is. */
function plainOf(observation: string): string {
  const inner = /<information>([\s\S]*?)<\/information>/.exec(observation)?.[1] ?? observation;
  try {
    const { result } = JSON.parse(inner) as { readonly result?: unknown };
    return typeof result === 'string' ? result : inner;
  } catch {
    return inner.trim();
  }
}

function documentsIn({ observation }: RendererStep): readonly { readonly title: string; readonly text: string }[] {
  const found = plainOf(observation).split(/(?:^|\n)\s*Doc \d+\s*[:(]/);
  return found.slice(1).map((each) => {
    const [first = '', ...rest] = each
      .trim()
      .replace(/^Title:\s*/, '')
      .replace(/^"([^"]*)"\s*/, '$1\n')
      .split('\n');
    return { title: first.replace(/\)$/, ''), text: rest.join('\n').trim() };
  });
}

/** Cuts a text at what is looked for: every second piece is it, as the text writes it. */
function pieces(text: string, wanted: string): readonly string[] {
  const [lower, low] = [text.toLowerCase(), wanted.toLowerCase()];
  if (lower.length !== text.length) return [text]; // places would differ
  const found: string[] = [];
  let from = 0;
  for (let place = lower.indexOf(low); place !== -1; place = lower.indexOf(low, from)) {
    found.push(text.slice(from, place), text.slice(place, place + wanted.length));
    from = place + wanted.length;
  }
  return [...found, text.slice(from)];
}
