import fastify from 'fastify';
import { addToRoute } from './route-hooks.js';

it('a handler of a route runs behind the others of the same hook, and on no other route', async () => {
  const ran: string[] = [];
  const app = fastify();
  app.addHook('onRoute', (route) => {
    if (route.url !== '/two') return;
    for (const name of ['second', 'third'])
      addToRoute(route, 'onRequest', (_request, _reply, done) => {
        ran.push(name);
        done();
      });
  });
  const first = { onRequest: async () => void ran.push('first') };
  for (const path of ['/one', '/two']) app.get(path, first, () => 'done');
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  for (const path of ['/two', '/one']) expect((await fetch(url + path)).status).toBe(200);
  await app.close();
  expect(ran).toEqual(['first', 'second', 'third', 'first']);
});
