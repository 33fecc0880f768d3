import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { address, whole } from '../option-kinds.ts';
import { readPairs } from '../read-address.ts';
import { withRestart } from '../with-restart.ts';
import { openServer } from './open-server.ts';
import { PROTOCOL } from './protocol.ts';

/** An environment on a server of the user's, as in `server:http://127.0.0.1:8900`. */
export const environmentServer = defineEnvironment({
  name: 'server',
  summary: `your own, from a server of the protocol ${PROTOCOL}, such as espalier_rl.serve starts in Python`,
  options: z.strictObject({
    url: address('the address of the server'),
    timeout: whole(1, 999_999, 'the limit for one request, in seconds').default(300),
  }),
  syntax: {
    form: 'server:URL[;timeout=SECONDS]',
    read: (rest) => {
      const [url = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), url };
    },
  },
  open: async ({ url, timeout }) => withRestart(await openServer({ url, timeoutMs: timeout * 1_000 })),
});
