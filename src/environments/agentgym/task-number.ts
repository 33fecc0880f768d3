/** The aliases of AgentGym's tasks are decimal numbers; which there are, a server does not say. */

const LARGEST = 2_147_483_647;
const MOST = 1_000_000;

/** Reads `0-199,300` as the list of the tasks it names, in that order. @throws Error that says what is wrong. */
export function parseTaskList(text: string): readonly string[] {
  const listed = new Set<string>();
  for (const part of text.split(',')) {
    const [, from = '', to = from] = /^\s*(\d{1,10})(?:-(\d{1,10}))?\s*$/.exec(part) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (from === '' || first > last || last > LARGEST)
      throw new Error(`${JSON.stringify(part)} is no task number or range such as 0-199`);
    if (listed.size + (last - first) >= MOST) throw new Error(`more than ${MOST} tasks are named`);
    for (let task = first; task <= last; task++) listed.add(String(task));
  }
  return [...listed];
}
