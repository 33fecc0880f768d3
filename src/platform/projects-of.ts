import type { Draft } from '../append/appender.ts';
import { catalogue } from '../events/catalogue.ts';
import { streamOf } from '../events/stream-of.ts';
import type { Db } from '../postgres/database.ts';
import { readOwners } from '../projections/owners/read-owners.ts';

/**
 * Returns a look-up of the project that an event belongs to: that of its stream, and of a stream that it opens that of the run,
 * the experiment or the runs that it comes from. Null where the record holds none of them, or where they are of several projects:
 * then the event belongs to the project that its process works for.
 */
export function projectsOf(db: Db): (draft: Draft) => Promise<string | null> {
  const known = new Map<string, string>(); // of runs and experiments, which keep their project

  async function ofRuns(ids: readonly string[]): Promise<string | null> {
    const asked = ids.filter((id) => !known.has(id));
    for (const [id, { project }] of await readOwners(db, 'runs', asked)) known.set(id, project);
    const projects = new Set(ids.flatMap((id) => known.get(id) ?? []));
    const [project] = projects;
    return projects.size === 1 && project !== undefined ? project : null;
  }

  return async (draft) => {
    const { topic } = catalogue[draft.type];
    const stream = streamOf(draft.type, draft.data);
    if (topic === 'images') return ofRuns([draft.correlationId]); // a text is shared by the runs of all projects that show it
    const owner = stream === undefined ? undefined : (await readOwners(db, topic, [stream])).get(stream);
    const project = owner?.project ?? (await ofRuns(originsOf(draft)));
    // what it opens next may come before the read models hold this one
    if (topic === 'runs' && stream !== undefined && project !== null) known.set(stream, project);
    return project;
  };
}

/** The runs and experiments that an event comes from which opens a stream of its own. */
function originsOf(draft: Draft): readonly string[] {
  switch (draft.type) {
    case 'RunStarted': {
      const { experimentId, config } = draft.data;
      return [...(experimentId === null ? [] : [experimentId]), ...forkedFrom(config)];
    }
    case 'DatasetReleased':
      return draft.data.runs;
    default:
      return 'runId' in draft.data && typeof draft.data.runId === 'string' ? [draft.data.runId] : [];
  }
}

/** The run that a plan goes on from (`usecases/collect/plan.ts`). */
function forkedFrom(config: unknown): readonly string[] {
  const { fork } = Object(config) as { readonly fork?: unknown };
  const { runId } = Object(fork) as { readonly runId?: unknown };
  return typeof runId === 'string' ? [runId] : [];
}
