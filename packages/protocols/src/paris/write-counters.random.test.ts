/**
 * Random histories of queues: commits are sent to any node, repeated in later attempts, also after their outcomes were
 * dropped, and settled, while nodes crash and lose disks and links. A number has one effect at most, none after it was
 * settled as aborted, at the timestamp that was answered; and versions of a queue ascend with the numbers.
 */
import { counterKey, Random, type Timestamp } from '@isochron/core';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import { I, O, V } from '@isochron/testing/world/suspensions';
import type { World } from '@isochron/testing/world/world';
import type { ClientResponse, CommitReq } from '../kernel/transactions/messages.js';

const NODES = [V, O, I] as const;
const QUEUE = 'q'.repeat(22);
const COMMITS = 8;
const WAIT_MS = 400;

type Order = Omit<CommitReq, 'ref'> & { readonly queue: { readonly id: string; readonly n: number } };

class QueueHistory {
  readonly world = settled({ settings: { outcomeRetentionMs: 1_000, commitTimeoutMs: 1_500, resolveAfterMs: 300 } });
  /** Of each number, its commit timestamp or a bound of it; null: it was refused for good. */
  readonly ends: { readonly n: number; readonly ct: Timestamp | null; readonly isBound: boolean }[] = [];
  #hwt: Timestamp = 0;

  constructor(readonly random: Random) {}

  run(): void {
    for (let n = 1; n <= COMMITS; n++) this.#commit(n);
    this.world.filter = () => true;
    this.world.run(3_000);
  }

  /** Sends a commit until its end is known: other commits of the queue follow then. */
  #commit(n: number): void {
    const { world, random } = this;
    const partitions = random.pick([[0], [1], [0, 1], [0, 3], [1, 2, 4]]);
    const request = { ...commitOver(world, id(n), partitions, String(n)), hwt: this.#hwt, queue: { id: QUEUE, n } };
    let order: Order = request;
    for (;;) {
      this.#disturb();
      const isSettled = random.chance(0.2);
      const answer = this.#ask(isSettled ? settling(order) : order);
      this.#heal();
      if (answer?.type === 'CommitResp' || answer?.type === 'SettleCommitResp') {
        this.#ended(n, answer, order);
        return;
      }
      if (order.attemptRegions.length < 8 && random.chance(0.4))
        order = { ...order, attemptRegions: [...order.attemptRegions, random.pick(world.topology.regions)] };
    }
  }

  #ended(n: number, { ct, upTo }: Extract<ClientResponse, { ct: unknown }>, order: Order): void {
    const { world, random } = this;
    this.ends.push({ n, ct, isBound: upTo === true });
    if (ct !== null) this.#hwt = Math.max(this.#hwt, ct);
    // The client has lost the answer, for a short or a long time.
    if (!random.chance(0.5)) return;
    if (random.chance(0.7)) world.run(random.pick([100, 70_000]));
    // A commit that was settled is never sent again.
    const again = this.#ask(ct !== null && random.chance(0.5) ? order : settling(order));
    if ((again?.type !== 'CommitResp' && again?.type !== 'SettleCommitResp') || again.upTo === true || upTo === true)
      return;
    expect(again.ct).toBe(ct);
  }

  #ask(request: Parameters<World['ask']>[1]): ClientResponse | undefined {
    const { world } = this;
    const node = this.random.pick(NODES.filter((one) => world.node(one).up));
    const ref = world.ask(node, request);
    for (let ms = 0; ms < WAIT_MS * 5 && world.answer(node, ref) === undefined; ms += 50) world.run(50);
    return world.answer(node, ref);
  }

  #disturb(): void {
    const { world, random } = this;
    const node = random.pick(NODES);
    const kind = random.below(8);
    if (kind === 0) world.run(70_000);
    else if (kind === 1) world.crash(node);
    else if (kind === 2) world.filter = () => random.chance(0.7);
    else if (kind === 3) world.filter = ({ message }) => message.type !== 'CommitTx';
    else if (kind === 4) world.cut(node, random.pick(NODES.filter((other) => other !== node)));
    else if (kind === 5 && random.chance(0.5)) {
      const { ct } = this.ends.findLast((end) => end.ct !== null) ?? { ct: 0 };
      world.until(() => world.ust() >= ct!);
      loseDisk(world, node);
      world.until(recovered(world, node), 60_000);
    }
  }

  #heal(): void {
    const { world } = this;
    world.filter = () => true;
    for (const node of NODES) {
      if (!world.node(node).up) world.restart(node);
      for (const other of NODES) if (node < other) world.heal(node, other);
    }
    world.run(300);
  }
}

const settling = ({ txId, queue, sentAfter, attemptRegions, writes }: Order) => ({
  type: 'SettleCommitReq' as const,
  txId,
  queue,
  sentAfter,
  attemptRegions,
  principal: 'anonymous',
  keys: writes.map(({ key }) => key),
});

/** The timestamps of all versions of a transaction, on all disks. */
function versionsOf(world: World, n: number): readonly Timestamp[] {
  const all = NODES.flatMap((node) => [...world.node(node).store.chains.values()].flat());
  return [...new Set(all.filter(({ txId }) => txId === id(n)).map(({ ts }) => ts))];
}

describe('PaRiS: random histories of queues', () => {
  it.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'a number has one effect, or none after its refusal: %i',
    (seed) => {
      const history = new QueueHistory(new Random(seed));
      history.run();
      const { world, ends } = history;
      let last = 0;
      for (const { n, ct, isBound } of ends) {
        const found = versionsOf(world, n);
        // A commit that others have overwritten may be collected.
        if (ct === null || found.length > 1) expect([n, ...found]).toEqual([n]);
        if (ct === null || found.length === 0) continue;
        if (isBound) expect(found[0]).toBeLessThanOrEqual(ct);
        else expect(found).toEqual([ct]);
        expect(found[0]).toBeGreaterThan(last);
        last = found[0]!;
      }
      for (const partition of [0, 1, 2, 3, 4]) {
        const chain = world.node(V).store.chains.get(`${partition}|${counterKey(partition, 'anonymous', QUEUE)}`) ?? [];
        const numbers = [...chain].sort((a, b) => a.ts - b.ts).map(({ value }) => JSON.parse(String(value)).n);
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
    },
  );
});
