import { TestAuthFile } from '../../testing/issuer.js';
import { startApi, type TestApi } from '../../testing/test-api.js';
import { digestOf } from './api-keys.js';

const PATH = '/v1/keyspaces/default/keys/a';
const keys = { keys: [{ keyspace: 'default', key: 'a' }] };
const writes = { writes: [{ keyspace: 'default', key: 'a', value: 1 }] };
/** What each request does. */
const REQUESTS: readonly [string, string, unknown, 'read' | 'write' | 'operate' | 'any'][] = [
  ['GET', PATH, undefined, 'read'],
  ['HEAD', PATH, undefined, 'read'],
  ['PUT', PATH, {}, 'write'],
  ['DELETE', PATH, undefined, 'write'],
  ['POST', `${PATH}/claim`, {}, 'write'],
  ['GET', '/v1/keyspaces/default/keys', undefined, 'read'],
  ['POST', '/v1/read', keys, 'read'],
  ['POST', '/v1/commit', writes, 'write'],
  ['POST', '/v1/transactions', undefined, 'read'],
  ['GET', '/v1/losses', undefined, 'operate'],
  ['POST', '/v1/losses/acknowledge', { all: true }, 'operate'],
  ['POST', '/v1/drain', {}, 'operate'],
  ['POST', '/v1/nodes', { action: 'hold', nodes: ['oregon-1'] }, 'operate'],
  ['GET', '/v1/clock', undefined, 'any'],
  ['GET', '/v1/cluster', undefined, 'any'],
];
const MAY = { reader: ['read', 'any'], writer: ['read', 'write', 'any'], operator: ['operate', 'any'] } as const;

let api: TestApi;
beforeAll(async () => {
  const entries = Object.keys(MAY).map(
    (role) => `  - { principal: ${role}, hash: ${digestOf(role)}, roles: [${role}] }`,
  );
  api = await startApi({ auth: new TestAuthFile(`keys:\n${entries.join('\n')}\n`) });
});
afterAll(() => api.close());

describe('the roles of a caller', () => {
  it.each(Object.entries(MAY))(
    'a caller with the role %s may do no more than it allows over HTTP',
    async (role, may) => {
      for (const [method, path, body, access] of REQUESTS) {
        const headers = { authorization: `Bearer ${role}` };
        const { status } = await api.call(method, path, body === undefined ? { headers } : { headers, body });
        expect([method, path, status === 403]).toEqual([method, path, !(may as readonly string[]).includes(access)]);
      }
    },
  );

  it('a refusal over HTTP names the role that is missing', async () => {
    const answer = await api.call('PUT', PATH, { body: {}, headers: { authorization: 'Bearer reader' } });
    expect(answer.json()).toMatchObject({
      code: 'PERMISSION_DENIED',
      status: 403,
      detail: 'This needs the role writer; the caller has only reader.',
    });
  });
});
