import { ANONYMOUS_PRINCIPAL, IsochronError } from '@isochron/core';
import type { CommitResp } from '@isochron/protocols';
import { endOf, VersionedCoordinator } from '@isochron/testing/sessions/access';
import { endRefused } from './refused-commits.js';

const DENIED = new IsochronError('PERMISSION_DENIED', 'no');
const ORDER = {
  snapshot: 10,
  hwt: 0,
  sentAfter: 10,
  attemptRegions: ['r'],
  principal: ANONYMOUS_PRINCIPAL.id,
  queue: { id: 'q'.repeat(22), n: 1 },
  writes: [{ key: 'notes/1', value: '{}' }],
} as const;

let node: VersionedCoordinator;
beforeEach(() => {
  node = new VersionedCoordinator();
  // The outcome is not kept any more.
  node.handlers.TxStatusReq = (_, done) =>
    done({ type: 'TxStatusResp', ref: 0, status: 'unknown', ts: null, attempt: 0 });
});

const refused = (txId: string, error = DENIED) =>
  endOf<CommitResp>((done) => endRefused(node, { type: 'CommitReq', txId, ...ORDER }, error, done, undefined));

describe('the refusal of a counted commit', () => {
  it('a counted commit that is refused is settled: the refusal is definite, and a commit that has taken effect is none (OF3, AR2)', () => {
    const made = endOf<CommitResp>((done) =>
      node.ask({ type: 'CommitReq', txId: 'once', ...ORDER }, done),
    ) as CommitResp;
    expect(refused('once')).toMatchObject({ type: 'CommitResp', ct: made.ct });
    expect(refused('other')).toMatch('PERMISSION_DENIED');
    expect([node.settled, node.ended]).toEqual([['once', 'other'], ['other']]);
  });

  it('the refusal of a counted commit waits while its end is not known (OF3)', () => {
    node.handlers.SettleCommitReq = (_, done) => done(new IsochronError('OUTCOME_PENDING', 'not yet'));
    expect(refused('once')).toMatch('OUTCOME_PENDING');
    expect(node.ended).toEqual([]);
  });

  it('a refusal that may pass settles nothing (OF3, AR3)', () => {
    expect(refused('once', new IsochronError('SNAPSHOT_UNAVAILABLE', 'try again'))).toMatch('SNAPSHOT_UNAVAILABLE');
    expect(node.settled).toEqual([]);
  });
});
