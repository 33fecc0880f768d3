import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { createMetrics } from '../runtime/metrics.ts';
import { createApp } from './app.ts';
import { endpoint, type Route } from './endpoint.ts';
import { json } from './reply.ts';

const described = { summary: 'A route of a test.', answers: { 200: { description: 'The route.' } }, needs: 'any-key' } as const;
const params = z.object({ id: z.string().regex(/^[^x]+$/) });
const routes: readonly Route[] = [
  endpoint({
    ...described,
    method: 'GET',
    path: '/things/{id}',
    params,
    query: z.object({ size: z.coerce.number().default(1) }),
    handle: async ({ params, query }) => json(200, { ...params, ...query }),
  }),
  endpoint({ ...described, method: 'PUT', path: '/things/{id}', params, handle: async () => json(200, 'put') }),
  endpoint({ ...described, method: 'POST', path: '/things', handle: async () => json(200, 'posted') }),
  {
    path: '/mount',
    needs: 'any-key',
    operations: { GET: described },
    listener: ({ method, url }, res) => res.end(`${method} ${url}`),
  },
];

let app: FastifyInstance;
let port: number;
beforeAll(async () => {
  app = await createApp({ routes, auth: { keys: 'optional', verify: async () => undefined }, metrics: createMetrics() });
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(() => app.close());

/** Asks for a path as it is written, which fetch would correct. */
function ask(asked: string): Promise<{ readonly status: number; readonly allow?: string; readonly text: string }> {
  const [method = '', path = ''] = asked.split(' ');
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers: { connection: 'close' } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      const { allow } = answer.headers;
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text, ...(allow === undefined ? {} : { allow }) }));
    });
    sent.once('error', reject).end();
  });
}

describe('a path', () => {
  test.each([
    ['GET /things/1', { id: '1', size: 1 }],
    ['GET /things/a%2Fb%20c?size=2', { id: 'a/b c', size: 2 }],
    ['GET /things/100%', { id: '100%', size: 1 }],
    ['GET /things/1?size=3&size=4', { id: '1', size: 3 }],
    ['GET http://localhost/things/1?size=5', { id: '1', size: 5 }],
  ])('%s is answered with its parameters decoded', async (asked, body) => {
    const { status, text } = await ask(asked);
    expect([status, JSON.parse(text)]).toEqual([200, body]);
  });

  test.each(['GET /mount', 'GET /mount/?a=1'])('%s goes to the mounted listener', async (asked) => {
    expect(await ask(asked)).toEqual({ status: 200, text: asked });
  });

  test.each([
    ...['GET /nothing', 'GET /mountx', 'GET /mount/below', 'GET /mount/../things/1', 'GET /things/1/', 'GET //things/1'],
    ...['GET /%74hings/1', 'GET /THINGS/1', 'GET /things/xx', 'GET *', 'GET /%ff', 'GET /%'],
  ])('%s is refused with 404', async (asked) => {
    const { status, text } = await ask(asked);
    expect([status, JSON.parse(text).error.code]).toEqual([404, 'not-found']);
  });

  test.each([
    ['DELETE /things/1', 'GET, PUT'],
    ['GET /things', 'POST'],
    ['PROPFIND /things', 'POST'],
    ['HEAD /things', 'POST'],
    ['POST /mount', 'GET'],
    ['OPTIONS /mount/', 'GET'],
  ])('%s is refused with 405 and the methods that the path takes', async (asked, allow) => {
    expect(await ask(asked)).toMatchObject({ status: 405, allow });
  });
});

test('HEAD has the headers of GET and no body', async () => {
  expect(await ask('HEAD /things/1')).toEqual({ status: 200, text: '' });
});

test('a query that does not fit its schema is refused with the field and its rule', async () => {
  const { status, text } = await ask('GET /things/1?size=large');
  expect([status, JSON.parse(text).error]).toEqual([
    400,
    {
      code: 'invalid',
      message: expect.stringMatching(/^size: .*number/),
      remedy: 'correct the fields named and send again',
      problems: [{ index: 0, path: 'size', message: expect.any(String) }],
    },
  ]);
});
