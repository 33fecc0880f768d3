import { StartGate } from '../http/start-gate.ts';
import { closeRemote, createRemote, resetRemote, type Server } from './remote.ts';

/** How tasks open that start at the same time. */
export interface StartProbe {
  /** Resets that were sent together with others. */
  readonly resets: number;
  /** Of them, how many opened otherwise than the same task does alone. */
  readonly differ: number;
}

const PLACES = 4; // environments at a time
const TASKS = 3; // that every server has, as for its fingerprint
// the published TextCraft server opens some 4 of 100 tasks wrong at four at a time: 160 resets miss it once in 700
const ROUNDS = 40;
const TIME_MS = 20_000; // ScienceWorld takes seconds for one reset: fewer rounds then

/**
 * Starts tasks at the same time, in spite of what is known of the server, and compares each opening with the one that the same
 * task has when nothing else starts. Creates environments of its own and closes them. @throws EnvironmentError as the
 * requests do.
 */
export async function probeStarts(server: Server): Promise<StartProbe> {
  const open: Server = { ...server, descriptor: { ...server.descriptor, starts: 'together' }, gate: new StartGate() };
  const ids: number[] = [];
  try {
    for (let i = 0; i < PLACES; i++) ids.push(await createRemote(open));
    const alone: string[] = [];
    for (const [place, id] of ids.entries()) alone.push(await openingAt(open, id, place));
    const deadline = performance.now() + TIME_MS;
    let differ = 0;
    let resets = 0;
    for (let round = 0; round < ROUNDS && (round === 0 || performance.now() < deadline); round++) {
      const opened = await Promise.all(ids.map((id, place) => openingAt(open, id, place)));
      resets += opened.length;
      differ += opened.filter((observation, place) => observation !== alone[place]).length;
    }
    return { resets, differ };
  } finally {
    for (const id of ids) await closeRemote(open, id);
  }
}

async function openingAt(server: Server, id: number, place: number): Promise<string> {
  return (await resetRemote(server, id, place % TASKS)).observation;
}
