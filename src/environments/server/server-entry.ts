import { z } from 'zod';
import { SECRET_REMEDY, secretInUrl } from '../../domain/text/secret-in-url.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { text, whole } from '../option-kinds.ts';
import { readPairs } from '../read-address.ts';
import { surviving } from '../surviving.ts';
import { openServer } from './open-server.ts';
import { PROTOCOL } from './protocol.ts';

/** An environment on a server of the user's, as in `server:http://127.0.0.1:8900`. */
export const environmentServer = defineEnvironment({
  name: 'server',
  summary: `your own, from a server of the protocol ${PROTOCOL}, such as espalier_rl.serve starts in Python`,
  options: z.strictObject({
    url: text('URL', 'the address of the server')
      .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), 'is no http URL')
      .refine((url) => secretInUrl(url) === null, {
        error: ({ input }) => `holds ${secretInUrl(String(input))}: ${SECRET_REMEDY}`,
      }),
    timeout: whole(1, 999_999, 'the limit for one request, in seconds').default(300),
  }),
  syntax: {
    form: 'server:URL[;timeout=SECONDS]',
    read: (rest) => {
      const [url = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), url };
    },
  },
  open: async ({ url, timeout }) => surviving(await openServer({ url, timeoutMs: timeout * 1_000 })),
});
