import { IsochronError, packWall } from '@isochron/core';
import type { SessionTokens } from '@isochron/sessions';
import { fakeConfig } from '../testing/fake-node.js';
import { SECRET } from '../testing/test-api.js';
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
    const token = sessionTokens({ secret: SECRET }, fakeConfig()).mint({ seen: { ts: 1000 }, hwt: 2000 });
    const other = { ...fakeConfig(), cluster: 'other' };
    expect(codeOf(token, sessionTokens({ secret: SECRET }, other))).toBe('TOKEN_FOREIGN');
    expect(codeOf(token, sessionTokens({ secret: SECRET }, fakeConfig(), 1))).toBe('TOKEN_FOREIGN');
    expect(codeOf(token, sessionTokens({ secret: 'another secret of it' }, fakeConfig()))).toBe('TOKEN_INVALID');
    const settings = { ...fakeConfig(), settings: { ...fakeConfig().settings, gossipIntervalMs: 7 } };
    expect(codeOf(token, sessionTokens({ secret: SECRET }, settings))).toBe('accepted');
  });

  it('tokens are the same bytes in every release: callers keep them over an upgrade', () => {
    const paris = sessionTokens({ secret: SECRET }, fakeConfig());
    const cure = (epoch: number) => sessionTokens({ secret: SECRET }, fakeConfig('cure'), epoch);
    expect(paris.mint({ seen: { ts: 1000 }, hwt: 2000 })).toBe(
      'AeP3xXxuXZs7AAAAAAAAA-gAAAAAAAAH0AAACctBzSvNmicExECFSkIIDg',
    );
    expect(paris.mint({ seen: { ts: 1000 }, hwt: 2000, cache })).toBe(
      'BOP3xXxuXZs7AAAAAAAAA-gAAAAAAAAH0BZhYWFhYWFhYWFhYWFhYWFhYWFhYWFhCnZpcmdpbmlhLTEAAAAAAAAAA9-Lye59g3iBUngdGP6vgmw',
    );
    expect(cure(0).mint(cureClaims)).toBe(
      'ArrbwI4PaBMvAAAAAAAAA-gAAAAAAAAH0AAABGN1cmUCAAAAAAAAA-gAAAAAAAADhNYaBIprM05tlvRkupcDDf4',
    );
    expect(cure(1).mint({ ...cureClaims, cache })).toBe(
      'BYG2tjtGN1nmAAAAAAAAA-gAAAAAAAAH0BZhYWFhYWFhYWFhYWFhYWFhYWFhYWFhCnZpcmdpbmlhLTEEY3VyZQIAAAAAAAAD6AAAAAAAAAOEAAAAAAAAAAOdfEBmlRHh58hImtD9St9x',
    );
    expect(operationTokens({ secret: SECRET }, fakeConfig('okapi')).mint(state)).toBe(
      'A7rbwI4PaBMvBW9rYXBp3gADpHNlZW6TActDMAAAAAAAAACmcmVnaW9upm9yZWdvbqN1c3RNxKN9KMXINAYBvkEhPhUPtA',
    );
  });
});
