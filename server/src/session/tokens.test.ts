import { IsochronError, packWall } from '@isochron/core';
import type { SessionTokens } from '@isochron/sessions';
import { SECRET } from '../../testing/test-api.js';
import { testConfig } from '../../testing/test-cluster.js';
import { operationTokens, sessionTokens } from './tokens.js';

const NOW = packWall(Date.UTC(2026, 0, 1));
const cache = { session: 'a'.repeat(22), node: 'virginia-1', changes: 3 };
const cureClaims = { seen: { ts: 1000, deps: [1000, 900] }, hwt: 2000 };
const state = { seen: [1, 2 ** 52, 0], region: 'oregon', ust: 77 };

function codeOf(token: string, reader: SessionTokens): string {
  try {
    reader.decode(token, NOW);
    return 'accepted';
  } catch (error) {
    if (error instanceof IsochronError) return error.code;
    throw error;
  }
}

describe('the tokens of a cluster', () => {
  it('tokens belong to one cluster, one secret and one placement, whatever its settings', () => {
    const token = sessionTokens({ secret: SECRET }, testConfig()).mint({ seen: { ts: 1000 }, hwt: 2000 });
    const other = { ...testConfig(), cluster: 'other' };
    expect(codeOf(token, sessionTokens({ secret: SECRET }, other))).toBe('TOKEN_FOREIGN');
    const moved = { ...testConfig(), keyspaces: [{ name: 'default', partitions: 7 }] };
    expect(codeOf(token, sessionTokens({ secret: SECRET }, moved))).toBe('TOKEN_FOREIGN');
    expect(codeOf(token, sessionTokens({ secret: 'another secret of it' }, testConfig()))).toBe('TOKEN_INVALID');
    const settings = { ...testConfig(), settings: { ...testConfig().settings, gossipIntervalMs: 7 } };
    expect(codeOf(token, sessionTokens({ secret: SECRET }, settings))).toBe('accepted');
  });

  it('tokens are the same bytes in every release: callers keep them over an upgrade', () => {
    const paris = sessionTokens({ secret: SECRET }, testConfig());
    const cure = sessionTokens({ secret: SECRET }, testConfig('cure'));
    expect(paris.mint({ seen: { ts: 1000 }, hwt: 2000 })).toBe(
      'B-4KfPAYG6O7BXBhcmlzAAAAAAAAAAPoAAAAAAAAB9AABPO7FnubqeoKhdaZaDTLhQ',
    );
    expect(paris.mint({ seen: { ts: 1000 }, hwt: 2000, cache })).toBe(
      'B-4KfPAYG6O7BXBhcmlzAAAAAAAAAAPoAAAAAAAAB9AAFmFhYWFhYWFhYWFhYWFhYWFhYWFhYWEKdmlyZ2luaWEtMQAAAAAAAAAD1qBw3h8apbgcmj1o2mDSdA',
    );
    expect(cure.mint(cureClaims)).toBe(
      'B3452UycY_C4BGN1cmUAAAAAAAAAA-gAAAAAAAAH0AIAAAAAAAAD6AAAAAAAAAOEwmlgVK5LL2QDjUKntDocTA',
    );
    expect(cure.mint({ ...cureClaims, cache })).toBe(
      'B3452UycY_C4BGN1cmUAAAAAAAAAA-gAAAAAAAAH0AIAAAAAAAAD6AAAAAAAAAOEFmFhYWFhYWFhYWFhYWFhYWFhYWFhYWEKdmlyZ2luaWEtMQAAAAAAAAADujSBXXJ0VKMArQZm6jfygQ',
    );
    expect(operationTokens({ secret: SECRET }, testConfig('okapi')).mint(state)).toBe(
      'B3452UycY_C4BW9rYXBp3gADpHNlZW6TActDMAAAAAAAAACmcmVnaW9upm9yZWdvbqN1c3RNkr7WzeO_JQgU_JpPsz1wQg',
    );
  });
});
