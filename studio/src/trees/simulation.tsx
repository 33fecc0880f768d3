import { useEffect, useState } from 'react';
import { count, decimal } from '../parts/format.ts';
import type { Simulated } from './search.ts';

const PAUSE_MS = 600;

/** Plays a search from the record: after each simulation what the search knew then, and the path that it backed up along. */
export function Simulation({
  at,
  last,
  simulated,
  go,
}: {
  readonly at: number;
  readonly last: number;
  readonly simulated: Simulated | null;
  readonly go: (to: number) => void;
}) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    if (at >= last) return setPlaying(false);
    const next = setTimeout(() => go(at + 1), PAUSE_MS);
    return () => clearTimeout(next);
  }, [playing, at, last, go]);
  const play = () => {
    if (!playing && at >= last) go(1);
    setPlaying(!playing);
  };
  return (
    <div className="row simulation">
      <button type="button" onClick={play}>
        {playing ? 'Pause' : 'Play'}
      </button>
      <button type="button" onClick={() => go(Math.max(1, at - 1))} disabled={at <= 1} aria-label="one simulation back">
        ‹
      </button>
      <input
        type="range"
        min={1}
        max={last}
        value={at}
        onChange={(event) => go(Number(event.target.value))}
        aria-label="simulation"
        aria-valuetext={`after simulation ${at} of ${last}`}
      />
      <button type="button" onClick={() => go(Math.min(last, at + 1))} disabled={at >= last} aria-label="one simulation on">
        ›
      </button>
      <output className="number">{`after simulation ${at} of ${last}`}</output>
      {simulated ? (
        <span className="faint">
          {`it went ${count(simulated.path.size - 1, 'step')} down, ${simulated.fresh.size} of them visited for the first time (ringed), and backed up ${decimal(simulated.value)}`}
        </span>
      ) : null}
    </div>
  );
}
