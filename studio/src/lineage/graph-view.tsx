import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { lineageNode } from '../../../graphql/studio/generated/operations.ts';
import { ask } from '../graphql/ask.ts';
import { shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { useMoment } from '../shell/moment.ts';
import { type GraphNode, gatherGraph } from './graph.ts';
import { HEIGHT, layOutGraph, type Placed, WIDTH } from './graph-layout.ts';

/** What something came from and what was made of it, drawn: from left to right, each node a link, wide relations as counts that open. */
export function GraphView({ id, tree }: { readonly id: string; readonly tree: string | undefined }) {
  const at = useMoment();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const queryKey = ['lineage graph', id, tree, [...opened].sort(), at];
  const answer = useQuery({
    queryKey,
    queryFn: ({ signal }) => {
      const traceOf = async (of: string, all: boolean) => {
        const variables = { id: of, whole: all, ...(of === id ? { tree } : {}) };
        return (await ask(lineageNode, variables, { at, signal, partOf: queryKey })).trace;
      };
      return gatherGraph(traceOf, id, opened);
    },
    placeholderData: keepPreviousData,
  });
  const toggle = (key: string) =>
    setOpened((now) => new Set(now.has(key) ? [...now].filter((each) => each !== key) : [...now, key]));
  return <Query of={answer}>{(graph) => (graph ? <Drawing graph={graph} toggle={toggle} /> : null)}</Query>;
}

/** What is asked for is in the middle; where there is no room for what is next to it, at the left, and none is cut before it. */
function leftOf(x: number, room: number): number {
  return room < 3 * WIDTH ? x : x + (WIDTH - room) / 2;
}

type Toggle = (key: string) => void;

function Drawing({
  graph,
  toggle,
}: {
  readonly graph: NonNullable<Awaited<ReturnType<typeof gatherGraph>>>;
  readonly toggle: Toggle;
}) {
  const { placed, lines, width, height } = useMemo(() => layOutGraph(graph), [graph]);
  const place = useRef<HTMLElement>(null);
  const { x = 0, y = 0 } = placed.find(({ node }) => node.side === 0) ?? {};
  useEffect(() => {
    const region = place.current;
    if (!region) return;
    const centred = new ResizeObserver(() =>
      region.scrollTo({ left: leftOf(x, region.clientWidth), top: y + (HEIGHT - region.clientHeight) / 2 }),
    );
    centred.observe(region);
    return () => centred.disconnect();
  }, [x, y]);
  return (
    <section ref={place} aria-label="The way through the record" className="scroll-x lineage-graph">
      <div style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true">
          {lines.map(({ key, from, to }) => (
            <path key={key} d={lineOf(from, to)} />
          ))}
        </svg>
        <ol className="plain">
          {placed.map(({ node, x, y }) => (
            <li key={node.key} style={{ left: x, top: y, width: WIDTH, height: HEIGHT }}>
              <Node node={node} toggle={toggle} />
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}

function Node({ node, toggle }: { readonly node: GraphNode; readonly toggle: Toggle }) {
  const { kind, to, name, text, side, open } = node;
  if (kind === 'count')
    return (
      <button type="button" data-item aria-expanded={open} onClick={() => toggle(to)}>
        <b>{whole(Number(text))}</b> {visible(name)}
      </button>
    );
  if (kind === 'rest')
    return (
      <Link data-item to="/view/lineage/$id" params={{ id: to }} className="faint">
        {`and ${whole(Number(text))} more`}
      </Link>
    );
  return (
    <Link
      data-item
      to="/view/lineage/$id"
      params={{ id: to }}
      aria-current={side === 0 ? 'true' : undefined}
      title={visible(text).slice(0, 300) || undefined}
    >
      <span className="clamped">
        <span className="faint">{`${visible(name)} `}</span>
        <bdi>{short(text) || visible(/^[0-9a-f-]{30,}$/.test(to) ? shortId(to) : to)}</bdi>
      </span>
    </Link>
  );
}

/** The beginning of a text, and of the digests in it. */
function short(text: string): string {
  return visible(text)
    .replace(/\b([0-9a-f]{8})[0-9a-f]{24,}\b/g, '$1…')
    .slice(0, 80);
}

function lineOf(from: Placed, to: Placed): string {
  const [x, y, endX, endY] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const bend = Math.max(24, (endX - x) / 2);
  return `M${x},${y}C${x + bend},${y} ${endX - bend},${endY} ${endX},${endY}`;
}
