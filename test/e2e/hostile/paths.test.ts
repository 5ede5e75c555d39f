/** Paths that lead out of a folder, and files that other users of the machine may read. */
import { statSync } from 'node:fs';
import { logged } from '../harness.js';
import { call } from '../http.js';
import { target } from './target.js';

jest.setTimeout(60_000);

const victim = target();

it.each(['..%2e', '..%2f..%2fpackage.json', '%2e%2e/%2e%2e', '.%00', '%2e%2e%5c', '%2e%2e%2f'])(
  'a path that leads out of the documentation (%s) is not a route',
  logged(async (path: string) => {
    expect((await call(victim.api, 'GET', '/docs/static/index.css')).status).toBe(200);
    const answer = await call(victim.api, 'GET', `/docs/static/${path}`);
    expect(answer.json).toMatchObject({ code: expect.stringMatching(/^(ROUTE_NOT_FOUND|INVALID_REQUEST)$/) });
    expect([400, 404]).toContain(answer.status);
  }),
);

it('the data folder of a node is readable by its user only', () => {
  expect(statSync(victim.cluster.node('virginia-1').dataDir).mode & 0o777).toBe(0o700);
});
