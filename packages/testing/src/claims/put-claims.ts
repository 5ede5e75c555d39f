/// <reference types="jest" />
/** The claims of every protocol of single operations about writing once. */
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { joined, loseDisk } from '../world/lost-disks.js';
import { NODES, refusal, settledWorld, without } from '../world/operation-fixtures.js';
import { keyIn, OperationClient, type OperationWorld, REGIONS, replicated } from '../world/operation-world.js';
import type { WorldOptions } from '../world/world-of.js';

/** Registers the claims for one protocol. */
export function putClaims(protocol: OperationProtocol): void {
  const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(protocol, options);

  describe('a PUT happens once', () => {
    it('the same PUT again has the same timestamp, also after a crash, and for another node of the region (D4)', () => {
      const world = settled({ spec: replicated(REGIONS, 2) });
      const client = new OperationClient(world, 'virginia-1');
      const request = client.session.put(keyIn(world, 0), '1');
      const { ts } = world.call('virginia-1', request, 'PutResp');
      expect(world.call('virginia-2', request, 'PutResp').ts).toBe(ts);
      for (const node of ['virginia-1', 'virginia-2']) {
        world.crash(node);
        world.restart(node);
      }
      expect(world.call('virginia-1', request, 'PutResp').ts).toBe(ts);
      expect([...world.node('virginia-1').store.chains.values()].flat()).toHaveLength(1);
    });

    it('while the first PUT still waits for the disk, a retry finds it (D4)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      const request = client.session.put(keyIn(world, 0), '1');
      world.diskMs.set('virginia-1', 20);
      const refs = [world.ask('virginia-1', request), world.ask('virginia-1', request)];
      world.run(200);
      const [first, second] = refs.map((ref) => world.answer('virginia-1', ref));
      expect(first).toMatchObject({ type: 'PutResp' });
      expect(second).toMatchObject({ type: 'PutResp', ts: (first as { ts: number }).ts });
    });

    it('an id that was used for another write is refused with TX_ID_REUSED (P8)', () => {
      const world = settled();
      const request = new OperationClient(world, 'virginia-1').session.put(keyIn(world, 0), '1');
      world.call('virginia-1', request, 'PutResp');
      expect(refusal(world, 'virginia-1', { ...request, value: '2' })).toBe('TX_ID_REUSED');
      expect(refusal(world, 'virginia-1', { ...request, principal: 'another' })).toBe('TX_ID_REUSED');
    });

    it('a PUT that continues in another region happened, if the first region reports so (D4)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      const { ts } = world.call('virginia-1', client.session.put(key, '1'), 'PutResp');
      client.move('oregon-1'); // the answer was lost in transit
      const answer = world.call('oregon-1', client.session.retry(), 'PutResp');
      expect(answer).toMatchObject({ ts, region: 'virginia' });
      world.run(300);
      expect([...world.node('oregon-1').store.chains.values()].flat()).toHaveLength(1);
    });

    it('a PUT that goes on in another region happens there when the first region has given it up, durably and for good (D4)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      const lost = client.session.put(key, '1');
      client.move('oregon-1'); // the request was lost in transit
      const answer = world.call('oregon-1', client.session.retry(), 'PutResp');
      expect(answer.region).toBe('oregon');
      world.crash('virginia-1');
      world.restart('virginia-1');
      expect(refusal(world, 'virginia-1', lost)).toBe('TRANSACTION_ABORTED');
      world.until(() => world.ust() >= answer.ts);
      expect(NODES.map((node) => [...world.node(node).store.chains.values()].flat().length)).toEqual([1, 1, 1]);
    });

    it('an attempt in a region that cannot be asked is pending, not tried elsewhere (D4)', () => {
      const world = settled({ settings: { commitTimeoutMs: 500 } });
      const client = new OperationClient(world, 'virginia-1');
      client.session.put(keyIn(world, 0), '1');
      world.crash('virginia-1');
      client.move('oregon-1');
      expect(refusal(world, 'oregon-1', client.session.retry())).toBe('OUTCOME_PENDING');
      world.restart('virginia-1');
      expect(world.call('oregon-1', client.session.retry(), 'PutResp').region).toBe('oregon');
    });

    it('a PUT that was tried in many regions is settled in all of them at once, within one commit timeout (D4)', () => {
      const world = settled({ delayMs: () => 50, settings: { commitTimeoutMs: 300 } });
      const client = new OperationClient(world, 'virginia-1');
      client.session.put(keyIn(world, 0), '1');
      for (const node of ['oregon-1', 'virginia-1', 'oregon-1', 'virginia-1', 'ireland-1']) {
        client.move(node);
        client.session.retry(); // lost in transit, but for the last one
      }
      expect(world.call('ireland-1', client.session.retry(), 'PutResp').region).toBe('ireland');
    });

    it('an earlier region that responds after the commit timeout is not asked again by the next retry (D4)', () => {
      const far = (node: string) => node === 'virginia-1';
      const delayMs = (a: string, b: string) => (far(a) !== far(b) ? 200 : 1);
      const world = settled({ delayMs, settings: { commitTimeoutMs: 300 } });
      const client = new OperationClient(world, 'virginia-1');
      client.session.put(keyIn(world, 0), '1');
      client.move('oregon-1'); // the request was lost in transit
      expect(refusal(world, 'oregon-1', client.session.retry())).toBe('OUTCOME_PENDING');
      world.run(200);
      expect(world.call('oregon-1', client.session.retry(), 'PutResp').region).toBe('oregon');
    });

    it('a commit in any earlier region is the outcome, whichever of them answers first (D4)', () => {
      const world = settled({ delayMs: (a, b) => (a === 'virginia-1' || b === 'virginia-1' ? 80 : 5) });
      const client = new OperationClient(world, 'virginia-1');
      const { ts } = world.call('virginia-1', client.session.put(keyIn(world, 0), '1'), 'PutResp');
      client.move('oregon-1'); // the answer was lost in transit, and so is this attempt
      client.session.retry();
      client.move('ireland-1');
      expect(world.call('ireland-1', client.session.retry(), 'PutResp')).toMatchObject({ ts, region: 'virginia' });
      world.run(300);
      expect(NODES.map((node) => [...world.node(node).store.chains.values()].flat().length)).toEqual([1, 1, 1]);
    });

    it('no attempt begins in a region before every earlier region has given it up (D4)', () => {
      const world = settled({ settings: { commitTimeoutMs: 500 } });
      const client = new OperationClient(world, 'virginia-1');
      client.session.put(keyIn(world, 0), '1');
      client.move('oregon-1');
      client.session.retry();
      world.crash('virginia-1');
      client.move('ireland-1');
      expect(refusal(world, 'ireland-1', client.session.retry())).toBe('OUTCOME_PENDING');
      expect([...world.node('ireland-1').store.chains.values()].flat()).toHaveLength(0);
      world.restart('virginia-1');
      expect(world.call('ireland-1', client.session.retry(), 'PutResp').region).toBe('ireland');
    });

    it('a PUT older than the kept outcomes is refused, never done again (D5)', () => {
      const world = settled({ spec: replicated(REGIONS, 1, 1), settings: { outcomeRetentionMs: 1_000 } });
      const client = new OperationClient(world, 'virginia-1');
      const request = client.session.put(keyIn(world, 0), '1');
      world.call('virginia-1', request, 'PutResp');
      world.until(() => world.node('virginia-1').store.outcomes.size === 0, 120_000);
      expect(refusal(world, 'virginia-1', request)).toBe('OUTCOME_FORGOTTEN');
      expect([...world.node('virginia-1').store.chains.values()].flat()).toHaveLength(1);
    });

    it('an earlier attempt whose outcome a replica has dropped is not called aborted: whether it happened is unknown (D5)', () => {
      const world = settled({ settings: { outcomeRetentionMs: 1_000 } });
      const client = new OperationClient(world, 'virginia-1');
      world.call('virginia-1', client.session.put(keyIn(world, 0), '1'), 'PutResp');
      world.until(() => world.node('virginia-1').store.outcomes.size === 0, 120_000);
      client.move('oregon-1');
      expect(refusal(world, 'oregon-1', client.session.retry())).toBe('OUTCOME_FORGOTTEN');
      expect(world.node('virginia-1').store.outcomes.size).toBe(0);
    });

    it('a PUT whose outcome was possibly on a lost disk is refused, never done again (D10)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      const request = client.session.put(keyIn(world, 0), '1');
      world.call('virginia-1', request, 'PutResp');
      loseDisk(world, 'virginia-1');
      world.until(
        () => world.ust() > world.node('virginia-1').parts.membership.incarnation && joined(world, 'virginia-1')(),
      );
      const late = { ...request, txId: 'another-session-0001.0' };
      expect(refusal(world, 'virginia-1', late)).toBe('OUTCOME_LOST');
      const sentAfter = world.node('virginia-1').parts.membership.incarnation - 1;
      expect(refusal(world, 'virginia-1', { ...late, sentAfter })).toBe('OUTCOME_LOST');
    });

    it('a region that has lost its disk since never reports that a PUT has not happened (D10)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      const { ts } = world.call('virginia-1', client.session.put(keyIn(world, 0), '1'), 'PutResp');
      world.until(() => world.ust() > ts);
      world.run(50);
      loseDisk(world, 'virginia-1');
      world.until(() => world.ust() > world.node('virginia-1').parts.membership.incarnation);
      world.until(joined(world, 'virginia-1'));
      client.move('oregon-1');
      expect(refusal(world, 'oregon-1', client.session.retry())).toBe('OUTCOME_LOST');
    });

    it('a node that waits to be rebuilt begins no PUT, and still answers for known ones (D10)', () => {
      const world = settled({ settings: { commitTimeoutMs: 300 } });
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      const known = client.session.put(key, '1');
      const { ts } = world.call('virginia-1', known, 'PutResp');
      client.session.refused();
      without(world, 'JoinResp');
      world.node('virginia-1').parts.membership.retire('The disk is damaged.');
      expect(refusal(world, 'virginia-1', client.session.put(key, '2'))).toBe('OUTCOME_PENDING');
      expect(world.call('virginia-1', known, 'PutResp').ts).toBe(ts);
      client.session.refused();
      expect(client.get(key)).toBe('1');
    });

    it('lost status requests are sent again, also those to a node that was away', () => {
      const world = settled({ spec: replicated(REGIONS, 2), settings: { readTimeoutMs: 400 } });
      const key = keyIn(world, 1);
      const client = new OperationClient(world, 'virginia-1');
      without(world, 'PutSliceReq');
      const put = world.ask('virginia-1', client.session.put(key, '1'));
      world.run(100);
      world.filter = () => true;
      world.run(200);
      expect(world.answer('virginia-1', put)).toBeUndefined();
      world.run(200);
      expect(world.answer('virginia-1', put)?.type).toBe('PutResp');
      client.session.refused();
      world.crash('virginia-2');
      const get = world.ask('virginia-1', client.session.get(key));
      world.run(50);
      world.restart('virginia-2');
      world.run(100);
      expect(world.answer('virginia-1', get)?.type).toBe('GetResp');
    });

    it('only the replica that was asked answers for itself (D12)', () => {
      const world = settled({ spec: replicated(REGIONS, 2) });
      const client = new OperationClient(world, 'virginia-1');
      without(world, 'PutSliceResp');
      const put = world.ask('virginia-1', client.session.put(keyIn(world, 1), '1'));
      world.run(20);
      const asked = world.sent.flatMap(({ message }) => (message.type === 'PutSliceReq' ? [message.ref] : []));
      const coordinator = { node: 'virginia-1', machine: 'coordinator' };
      for (const machine of ['replica/1', 'replica/3'])
        world.inject(
          coordinator,
          { node: machine === 'replica/3' ? 'virginia-2' : 'oregon-2', machine },
          { type: 'PutSliceResp', ref: asked[0]!, ts: 1 },
        );
      world.run(20);
      expect(world.answer('virginia-1', put)).toBeUndefined();
      world.filter = () => true;
      world.until(() => world.answer('virginia-1', put) !== undefined);
      expect((world.answer('virginia-1', put) as { ts: number }).ts).toBeGreaterThan(1);
    });
  });
}
