/** Claims about the decisions of transactions whose cohorts have lost their disks (D10). */

import { keyIn, TestClient } from '@isochron/testing/world/clients';
import {
  between,
  decisions,
  preparedOnThree,
  settled,
  THREE_COHORTS,
  without,
} from '@isochron/testing/world/lost-cohorts';
import { everywhere, joined, loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import { World } from '@isochron/testing/world/world';
import type { CommitReq, TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';

type Request = Omit<CommitReq, 'ref'>;
describe('D10: votes when a cohort has lost its disk', () => {
  it("votes of a lost disk are void: a survivor's decision based on them is taken back, an open transaction aborts", () => {
    const { world, a, b, x, request } = preparedOnThree();
    // b asks a and x and commits; a has only b's vote.
    world.filter = (envelope) =>
      without('PrepareResp', 'PrepareReq')(envelope) &&
      !(envelope.message.type === 'ResolveReq' && envelope.from.node === x) &&
      !between(a, x, 'ResolveReq')(envelope);
    world.until(settled(world, b), 5000);
    expect(decisions(world, b)[0]).toMatch(/^committed/);
    expect(world.node(a).store.prepared.size).toBe(1);
    loseDisk(world, x);
    world.filter = without('PrepareResp', 'PrepareReq');
    world.until(settled(world, a), 20_000);
    world.run(3000);
    expect(decisions(world, a, b)).toEqual(['aborted', 'aborted']);
    const keys = [0, 1, 2].map((p) => keyIn(world, p));
    expect(new TestClient(world, O).readOnce(...keys)).toEqual([null, null, null]);
    expect(world.node(O).parts.losses.all).toMatchObject([{ txId: request.txId, committed: true, takenBack: true }]);
  });

  it('a coordinator with the vote of a lost disk no longer decides on it', () => {
    const { world, a, b, x, ref, request } = preparedOnThree(
      ({ message }) => message.type !== 'PrepareResp' || message.partition === 2,
    );
    world.run(10); // the coordinator has the vote of x
    loseDisk(world, x);
    world.filter = without('PrepareResp', 'ResolveReq');
    world.until(joined(world, x), 5000);
    world.until(() => world.node(x).parts.membership.settled, 20_000);
    world.filter = () => true;
    world.until(settled(world, a, b), 20_000);
    expect(decisions(world, a, b)).toEqual(['aborted', 'aborted']);
    expect(world.answer(O, ref)?.type).not.toBe('CommitResp');
    expect(world.node(O).parts.losses.get(request.txId)).toMatchObject({ committed: false });
  });

  it('a vote of a lost disk decides nothing with votes that arrive after the notice', () => {
    const { world, a, b, x, ref, request } = preparedOnThree(
      ({ message }) => message.type !== 'PrepareResp' || message.partition === 2,
    );
    world.run(10); // the coordinator has the vote of x
    loseDisk(world, x);
    world.filter = without('PrepareResp', 'ResolveReq', 'SuspectsReq');
    const noticed = () => world.sent.some(({ message, from }) => message.type === 'LossNoticed' && from.node === O);
    world.until(noticed, 20_000);
    world.filter = without('ResolveReq', 'SuspectsReq');
    for (const node of [a, b]) {
      const { partition, record } = [...world.node(node).store.prepared.values()][0]!;
      const { attempt, pt } = record;
      const vote = { type: 'PrepareResp' as const, txId: request.txId, attempt, partition, pt };
      world.inject({ node: O, machine: 'coordinator' }, { node, machine: `replica/${partition}` }, vote);
    }
    world.run(50);
    expect(world.answer(O, ref)?.type).not.toBe('CommitResp');
    world.filter = () => true;
    world.until(settled(world, a, b), 20_000);
    expect(decisions(world, a, b)).toEqual(['aborted', 'aborted']);
  });

  it('a cohort that prepares nothing before its disk is lost does not vote for a transaction that was taken back meanwhile', () => {
    const world = new World({ spec: THREE_COHORTS });
    world.run(100);
    const [a, b, x] = [0, 1, 2].map((p) => world.topology.replicaNode(p, 'virginia')!) as [string, string, string];
    const late = (envelope: Envelope<TransactionMessage>): boolean =>
      !between('', x, 'PrepareReq')(envelope) && envelope.message.type !== 'ResolveReq';
    world.filter = late;
    loseDisk(world, x);
    world.until(joined(world, x), 5000);
    const client = new TestClient(world, O);
    const tx = client.begin();
    for (const p of [0, 1, 2]) tx.write(keyIn(world, p), '"whole"');
    const ref = world.ask(O, { ...client.commitRequest(tx), attemptRegions: ['virginia'] });
    world.until(() => world.node(x).parts.membership.settled, 20_000);
    expect(world.node(O).parts.losses.all).toMatchObject([{ committed: false, takenBack: true, partitions: [2] }]);
    world.filter = () => true; // the coordinator still has the votes of a and b
    world.until(settled(world, a, b, x), 20_000);
    world.until(() => world.answer(O, ref) !== undefined, 20_000);
    expect(world.answer(O, ref)).toMatchObject({ type: 'Refused', code: 'TRANSACTION_ABORTED' });
    expect(decisions(world, a, b, x)).toEqual(['aborted', 'aborted', 'aborted']);
  });
});

describe('D10: outcomes in the copy', () => {
  /**
   * Only virginia, and oregon as its peer, had a commit that is not stable; virginia has lost its disk and come back.
   */
  function found(): { world: World; request: Request; ct: number } {
    const world = new World({ spec: everywhere(2) });
    world.run(300);
    world.cut(V, I);
    const client = new TestClient(world, V);
    const tx = client.begin();
    tx.write(keyIn(world, 0), '"once"');
    const request = { ...client.commitRequest(tx), snapshot: client.session.ust };
    const { ct } = world.call(V, request, 'CommitResp');
    world.until(() => world.node(O).parts.replicas[0]!.replication.vv.durable('virginia') >= ct, 1000);
    loseDisk(world, V);
    world.heal(V, I);
    world.until(recovered(world, V), 5000);
    return { world, request, ct };
  }

  it('the same commit sent again finds the commit among the copied versions', () => {
    const { world, request, ct } = found();
    for (const node of [V, O]) expect(world.call(node, request)).toMatchObject({ type: 'CommitResp', ct });
  });

  it('a later attempt finds the commit among the copied versions, too, and is not run beside it', () => {
    const { world, request, ct } = found();
    const elsewhere = { ...request, attemptRegions: ['virginia', 'oregon'] };
    expect(world.call(O, elsewhere)).toMatchObject({ type: 'CommitResp', ct });
    world.run(1000);
    expect(world.node(O).store.chains.get(`0|${keyIn(world, 0)}`)).toHaveLength(1);
  });

  it('a rebuilt node serves nothing before the stable time has passed its loss', () => {
    const world = new World({ spec: everywhere(2) });
    new TestClient(world, O).write({ [keyIn(world, 0)]: '"a"' });
    world.run(300);
    loseDisk(world, V);
    world.until(joined(world, V), 5000);
    world.cut(V, I); // the stable time stands still
    const start = { type: 'StartTxReq' as const, txId: 't', ust: 0, at: null };
    expect(world.call(V, start)).toMatchObject({ type: 'Refused', code: 'NOT_READY' });
    world.heal(V, I);
    world.until(recovered(world, V), 5000);
    expect(world.call(V, start, 'StartTxResp').snapshot).toBeGreaterThan(world.node(V).parts.membership.incarnation);
  });

  it('outcomes up to the stable time of its peers count as forgotten at a rebuilt node', () => {
    const world = new World({ spec: everywhere(2) });
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"a"' });
    world.until(() => world.ust() > ct, 1000);
    loseDisk(world, V);
    world.until(joined(world, V), 5000);
    expect(world.node(V).parts.replicas[0]!.cohort.outcomes.forgottenUpTo).toBeGreaterThan(ct);
    expect(world.node(V).store.meta.get('forgottenUpTo/0')).toBeGreaterThan(ct);
  });

  it('an attempt after one whose sole cohort has lost its disk is refused: the earlier outcome is unknown', () => {
    const world = new World({ spec: everywhere(2) });
    world.run(100);
    const client = new TestClient(world, V);
    const tx = client.begin();
    tx.write(keyIn(world, 0), '"a"');
    const request = client.commitRequest(tx);
    loseDisk(world, V);
    world.until(recovered(world, V), 5000);
    const later = { ...request, snapshot: client.session.ust, attemptRegions: ['virginia', 'oregon'] };
    for (let i = 0; i < 2; i++) {
      const asked = world.now;
      expect(world.call(O, later)).toMatchObject({ type: 'Refused', code: 'OUTCOME_LOST' });
      expect(world.now - asked).toBeLessThan(world.settings.commitTimeoutMs);
      world.run(1000);
    }
    expect(world.node(O).store.chains.size).toBe(0);
  });

  it('an attempt after one whose end another cohort has takes that outcome', () => {
    const { world, a, b, x, request } = preparedOnThree();
    loseDisk(world, x);
    world.filter = without('PrepareResp', 'PrepareReq');
    world.until(settled(world, a, b), 20_000);
    world.until(recovered(world, x), 20_000);
    // The coordinator gets the notice of the loss first.
    world.filter = ({ message }) => message.type !== 'ResolveResp' || message.state === 'lost';
    const ref = world.ask(O, { ...request, snapshot: world.ust(), attemptRegions: ['virginia', 'oregon'] });
    world.run(200);
    expect(world.answer(O, ref)).toBeUndefined();
    world.filter = () => true;
    world.until(() => world.answer(O, ref) !== undefined, 20_000);
    expect(world.answer(O, ref)).toMatchObject({ type: 'CommitResp' });
  });

  it("another cohort's commit decision stands against a cohort that has lost it", () => {
    const late = new Set<string>();
    const world = new World({ spec: THREE_COHORTS, delayMs: (from) => (late.has(from) ? 30 : 1) });
    world.run(100);
    const client = new TestClient(world, O);
    const tx = client.begin();
    for (const p of [0, 1]) tx.write(keyIn(world, p), '"whole"');
    const request = { ...client.commitRequest(tx), snapshot: client.session.ust, attemptRegions: ['virginia'] };
    const { ct } = world.call(O, request, 'CommitResp');
    world.until(() => world.ust() > ct, 1000);
    const lossy = world.topology.replicaNode(0, 'virginia')!;
    loseDisk(world, lossy);
    world.until(recovered(world, lossy), 5000);
    late.add(lossy);
    expect(world.call(O, request)).toMatchObject({ type: 'CommitResp', ct });
    expect(world.sent.map(({ message }) => message.type)).toContain('PrepareRefused');
  });
});
