import type { MakeElement, RendererInput, RendererOutput } from '../renderer.ts';

interface Place {
  readonly name: string;
  /** What was seen there last; undefined where nobody looked. */
  things: Set<string> | undefined;
  state: '' | 'open' | 'closed';
}

/** ALFWorld: the room with its receptacles, what was seen in each, where the agent is and what it holds. */
export function render({ steps, at, task }: RendererInput, h: MakeElement): readonly RendererOutput[] {
  const opening = steps[0]?.observation ?? '';
  const goal = /Your task is to: (.+?)\.?\s*$/m.exec(opening)?.[1] ?? task.goal;
  const places = new Map<string, Place>();
  for (const name of listed(/you see (.+?)\.(?:\n|$)/i.exec(opening)?.[1] ?? '')) place(name);
  const held = new Map<string, readonly string[]>(); // with what was done to it
  let here = '';
  for (const { action, observation } of steps.slice(1, at + 1)) follow(action, observation);

  const groups = new Map<string, Place[]>();
  for (const each of places.values()) {
    const kind = each.name.replace(/ \d+$/, '');
    groups.set(kind, [...(groups.get(kind) ?? []), each]);
  }
  return [
    h(
      'style',
      null,
      `.goal{font-weight:600}.room{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.35rem;list-style:none;padding:0}
.room li{border:1px solid var(--line);border-radius:6px;padding:.25rem .45rem}.unseen{border-style:dashed!important;color:var(--faint)}.here{border-color:var(--accent)!important;box-shadow:inset 0 0 0 1px var(--accent)}
.things{margin:0;padding-left:1rem}.wanted{background:var(--mark)}.faint{color:var(--faint);font-size:.92em}`,
    ),
    h('p', { class: 'goal' }, goal),
    h(
      'p',
      null,
      'Holds: ',
      held.size === 0
        ? h('span', { class: 'faint' }, 'nothing')
        : [...held].map(([name, done]) => [thing(name), done.map((one) => ` (${one})`), ' ']),
    ),
    h('h3', null, 'Room'),
    h(
      'ul',
      { class: 'room' },
      [...groups.values()].flat().map(({ name, things, state }) =>
        h(
          'li',
          { class: [name === here ? 'here' : '', things ? '' : 'unseen'].join(' ') },
          h('b', null, name),
          h('span', { class: 'faint' }, [state && ` ${state}`, name === here && ' · the agent is here']),
          things === undefined
            ? h('div', { class: 'faint' }, 'not seen yet')
            : things.size === 0
              ? h('div', { class: 'faint' }, 'nothing')
              : h(
                  'ul',
                  { class: 'things' },
                  [...things].map((each) => h('li', { style: 'border:0;padding:0' }, thing(each))),
                ),
        ),
      ),
    ),
  ];

  /** A thing, marked where the task names its kind. */
  function thing(name: string): RendererOutput {
    const kind = name.replace(/ \d+$/, '');
    const wanted = new RegExp(`\\b${kind.replace(/[^\p{L}\p{N} ]/gu, '.')}`, 'iu').test(goal);
    return wanted ? h('span', { class: 'wanted' }, name) : name;
  }

  function place(name: string): Place {
    const known = places.get(name) ?? { name, things: undefined, state: '' as const };
    places.set(name, known);
    return known;
  }

  /** Takes what an answer says into account. */
  function follow(action: string, observation: string): void {
    const arrived = /You arrive at (?:the )?([^.]+)\./.exec(observation)?.[1] ?? /^go to (.+)$/.exec(action.trim())?.[1];
    if (arrived !== undefined && !observation.startsWith('Nothing happens'))
      here = /^loc /.test(arrived) ? action.replace(/^go to /, '') || here : arrived;
    const opened = /You (open|close) the ([^.]+)\./.exec(observation);
    if (opened?.[2]) place(opened[2]).state = opened[1] === 'open' ? 'open' : 'closed';
    for (const [, name = '', state] of observation.matchAll(/The ([^.]+?) is (open|closed)\./g))
      place(name).state = state === 'open' ? 'open' : 'closed';
    const seen = /(?:On|In) (?:the )?(.+?), you see (.+?)\.(?:\s|$)/.exec(observation);
    if (seen?.[1] && seen[2]) place(seen[1] === 'it' ? (opened?.[2] ?? here) : seen[1]).things = new Set(listed(seen[2]));
    const taken = /You (?:pick up|take) the (.+?) from the (.+?)\./.exec(observation);
    if (taken?.[1] && taken[2]) {
      place(taken[2]).things?.delete(taken[1]);
      held.set(taken[1], []);
    }
    const put = /You (?:move|put) the (.+?) (?:to|in\/on|in|on) the (.+?)\./.exec(observation);
    if (put?.[1] && put[2]) {
      held.delete(put[1]);
      const target = place(put[2]);
      target.things = new Set([...(target.things ?? []), put[1]]);
    }
    const changed = /You (heat|clean|cool|slice)d? the (.+?) (?:using|with) the (.+?)\./.exec(observation);
    if (changed?.[1] && changed[2] && held.has(changed[2]))
      held.set(changed[2], [
        ...(held.get(changed[2]) ?? []),
        { heat: 'hot', clean: 'clean', cool: 'cool', slice: 'sliced' }[changed[1]] ?? changed[1],
      ]);
  }
}

/** The names in "a bed 1, a desk 1, and a drawer 2"; none in "nothing". */
function listed(text: string): readonly string[] {
  return text
    .split(/,\s*(?:and\s+)?|\s+and\s+(?=an?\s)/)
    .map((each) => each.trim().replace(/^(?:and )?(?:an?|the) /, ''))
    .filter((each) => each !== '' && each !== 'nothing');
}
