import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { drawnTie } from '../../../src/usecases/collect/search/search-rules.ts';

const tie = z.object({
  alias: z.string(),
  simulation: z.int().min(0),
  place: z.array(z.int().min(0)),
  size: z.int().min(1),
});

type Tie = z.output<typeof tie>;

/** Returns the positions that our search draws at ties by the rules of the published one. */
export function drawnBy(seed: number, aliases: readonly string[]): (asked: Tie) => number {
  return (asked) => drawnTie({ ...asked, seed, treeIndex: aliases.indexOf(asked.alias) });
}

/** Answers the position that our search takes at a tie, so that the published one can take the same. */
export async function startTieServer(positionOf: (asked: Tie) => number) {
  const server = createServer(async (request, response) => {
    const asked = tie.parse(JSON.parse(await text(request)));
    const position = positionOf(asked);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ position }));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
