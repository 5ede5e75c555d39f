import { startApi, type TestApi } from '../../../testing/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const KEYS = '/v1/keyspaces/default/keys';
const key = { keyspace: 'default', key: 'a' };

describe('the detail of a refused request', () => {
  it.each([
    ['GET', `${KEYS}?limti=3`, undefined, 'There is no parameter "limti".'],
    ['GET', `${KEYS}/a?att=1`, undefined, 'There is no parameter "att".'],
    ['PUT', `${KEYS}/a?if=1`, {}, 'There is no parameter "if".'],
    ['POST', '/v1/read', { keys: [key], snapshot: 1 }, 'There is no field "snapshot" in body.'],
    ['POST', '/v1/commit', { writes: [{ ...key, vlaue: 1 }] }, 'There is no field "vlaue" in body/writes/0.'],
    ['POST', '/v1/transactions', { att: 1 }, 'body/att'],
    ['POST', '/v1/read', {}, "body must have required property 'keys'"],
    ['GET', `${KEYS}?limit=x`, undefined, 'querystring/limit must be integer'],
  ])('the detail of a refused request names the fault: %s %s', async (method, path, body, detail) => {
    const answer = await api.call(method, path, { body });
    expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', detail: expect.stringContaining(detail) });
  });

  it('the detail of a refused request does not repeat a long name', async () => {
    const { detail } = (await api.call('GET', `${KEYS}?${'x'.repeat(5000)}=1`)).json();
    expect(String(detail).length).toBeLessThan(300);
  });
});
