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
    expect(codeOf(token, sessionTokens({ secret: SECRET }, testConfig(), 1))).toBe('TOKEN_FOREIGN');
    expect(codeOf(token, sessionTokens({ secret: 'another secret of it' }, testConfig()))).toBe('TOKEN_INVALID');
    const settings = { ...testConfig(), settings: { ...testConfig().settings, gossipIntervalMs: 7 } };
    expect(codeOf(token, sessionTokens({ secret: SECRET }, settings))).toBe('accepted');
  });

  it('tokens are the same bytes in every release: callers keep them over an upgrade', () => {
    const paris = sessionTokens({ secret: SECRET }, testConfig());
    const cure = (epoch: number) => sessionTokens({ secret: SECRET }, testConfig('cure'), epoch);
    expect(paris.mint({ seen: { ts: 1000 }, hwt: 2000 })).toBe(
      'BuP3xXxuXZs7BXBhcmlzAAAAAAAAA-gAAAAAAAAH0AAc-boVRAqVi-l83K7IlW4C',
    );
    expect(paris.mint({ seen: { ts: 1000 }, hwt: 2000, cache })).toBe(
      'BuP3xXxuXZs7BXBhcmlzAAAAAAAAA-gAAAAAAAAH0AAWYWFhYWFhYWFhYWFhYWFhYWFhYWFhYQp2aXJnaW5pYS0xAAAAAAAAAANrNuSq4Lcz3vEravpMIJ1t',
    );
    expect(cure(0).mint(cureClaims)).toBe(
      'BrrbwI4PaBMvBGN1cmUAAAAAAAAD6AAAAAAAAAfQAgAAAAAAAAPoAAAAAAAAA4Tj0FTJalC9CD3FzjXtOTYm',
    );
    expect(cure(1).mint({ ...cureClaims, cache })).toBe(
      'BoG2tjtGN1nmBGN1cmUAAAAAAAAD6AAAAAAAAAfQAgAAAAAAAAPoAAAAAAAAA4QWYWFhYWFhYWFhYWFhYWFhYWFhYWFhYQp2aXJnaW5pYS0xAAAAAAAAAANb0H1YIIQPZqOk4O-NxFC2',
    );
    expect(operationTokens({ secret: SECRET }, testConfig('okapi')).mint(state)).toBe(
      'BrrbwI4PaBMvBW9rYXBp3gADpHNlZW6TActDMAAAAAAAAACmcmVnaW9upm9yZWdvbqN1c3RN6mvGql9QYu2gnOcNnikeCQ',
    );
  });
});
