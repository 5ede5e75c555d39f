import { IsochronError } from '@isochron/core';
import { SessionClient } from '../../testing/session-client.js';
import { startApi, type TestApi } from '../../testing/test-api.js';
import { Audit, type AuditLog } from './audit.js';

const KEY = 'key-of-ann';
type Line = Readonly<Record<string, unknown>>;

/** A log that keeps its lines. */
function kept(): { readonly lines: Line[]; readonly log: AuditLog } {
  const lines: Line[] = [];
  const take = (line: Line) => void lines.push(line);
  return { lines, log: { info: take, warn: take } as AuditLog };
}

const refusal = (address: string) => ({
  error: new IsochronError('UNAUTHENTICATED', 'no'),
  principal: undefined,
  address,
  request: 'hello',
});

describe('the audit of a node', () => {
  let api: TestApi;
  let lines: Line[];
  beforeEach(async () => {
    const { log, ...rest } = kept();
    ({ lines } = rest);
    api = await startApi({ apiKeys: [KEY], auditLog: log });
  });
  afterEach(() => api.close());

  it('the audit has every action of an operator, with its principal, route and status, and no credentials', async () => {
    const headers = { authorization: `Bearer ${KEY}` };
    await api.call('GET', '/v1/losses', { headers });
    await api.call('POST', '/v1/losses/acknowledge', { headers, body: { transactions: ['a.1'] } });
    await api.call('GET', '/v1/clock', { headers });
    expect(lines.filter(({ audit }) => audit === 'operated')).toMatchObject([
      { principal: expect.stringMatching(/^key:/), request: 'GET /v1/losses', status: 200 },
      { request: expect.stringMatching(/^POST \/v1\/losses/) },
    ]);
    expect(JSON.stringify(lines)).not.toContain(KEY);
  });

  it('the audit has refused credentials, over HTTP and in the hello of a session, and not the credentials', async () => {
    await api.call('GET', '/v1/clock', { headers: { authorization: 'Bearer wrong-key' } });
    const client = await SessionClient.open(api.url);
    await client.hello({ credentials: 'wrong-key' });
    expect(lines).toMatchObject([
      { audit: 'refused', code: 'UNAUTHENTICATED', principal: null, request: 'GET /v1/clock' },
      { audit: 'refused', code: 'UNAUTHENTICATED', principal: null, request: 'hello' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('wrong-key');
  });
});

describe('the samples of an audit', () => {
  it('an audit has five refusals of a caller in a second, and the number of those that it left out', () => {
    const { lines, log } = kept();
    const audit = new Audit(log);
    for (let i = 0; i < 20; i++) audit.refused(refusal('10.0.0.1'));
    audit.refused(refusal('10.0.0.2'));
    audit.close();
    expect(lines.map(({ audit: kind }) => kind)).toEqual([...Array(6).fill('refused'), 'left out']);
    expect(lines.at(-1)).toMatchObject({ holder: '10.0.0.1', leftOut: 15 });
    expect(audit.counts.UNAUTHENTICATED).toBe(21);
  });

  it('an audit has a hundred refusals of all callers in a second, however many they are', () => {
    const { lines, log } = kept();
    const audit = new Audit(log);
    for (let i = 0; i < 5_000; i++) audit.refused(refusal(`10.0.${i >> 8}.${i & 255}`));
    audit.close();
    expect(lines.filter(({ audit: kind }) => kind === 'refused')).toHaveLength(100);
    expect(lines.length).toBeLessThanOrEqual(202);
    const leftOut = lines.reduce((sum, { leftOut: count }) => sum + Number(count ?? 0), 0);
    expect(leftOut).toBe(4_900);
  });

  it('other refusals are not for the audit', () => {
    const { lines, log } = kept();
    const audit = new Audit(log);
    audit.refused({ ...refusal('10.0.0.1'), error: new IsochronError('NOT_READY', 'no') });
    audit.close();
    expect(lines).toEqual([]);
  });
});
