/** Claims about cohorts that have frozen because another one has lost its disk (D10): their word is final. */

import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';
import { between, decisions, preparedOnThree, settled, without } from '../testing/lost-cohorts.js';
import { joined, loseDisk } from '../testing/lost-disks.js';
import type { World } from '../testing/world.js';

type Envelopes = (envelope: Envelope<TransactionMessage>) => boolean;

/** The coordinator is not heard. */
const quiet = without('PrepareResp', 'PrepareReq');
const voteOfA: Envelopes = ({ message }) => message.type === 'PrepareResp' && message.partition === 0;
const asksOfALoss: Envelopes = ({ message }) => message.type === 'ResolveReq' && message.lost;
const saysFrozen: Envelopes = ({ message }) => message.type === 'ResolveResp' && message.frozen;

const sent = (world: World, which: Envelopes, what: Envelopes) => () =>
  world.sent.some((envelope) => which(envelope) && what(envelope));

describe('D10: a frozen cohort', () => {
  it('commits on no vote that was on its way when the other one froze', () => {
    const { world, a, b, x } = preparedOnThree();
    // a has x's vote from before the loss; b's vote waits for b's disk.
    world.filter = (envelope) =>
      quiet(envelope) && (envelope.message.type !== 'ResolveReq' || envelope.from.node === a);
    world.diskMs.set(b, Number.POSITIVE_INFINITY);
    world.until(() => world.sent.some(between(x, a, 'ResolveResp')), 5000);
    world.run(100);
    loseDisk(world, x);
    world.until(joined(world, x), 5000);
    // b hears of the loss and asks a, which freezes; b aborts. Then its disk lets b's old vote out.
    world.filter = (envelope) => quiet(envelope) && !between(a, '', 'ResolveReq')(envelope);
    world.until(sent(world, between(a, b, 'ResolveResp'), saysFrozen), 20_000);
    world.diskMs.set(b, 1);
    world.filter = quiet;
    world.until(settled(world, a, b), 20_000);
    expect(decisions(world, a, b)).toEqual(['aborted', 'aborted']);
  });

  it('repeats no vote: no client is told of a commit that will be aborted', () => {
    const { world, a, b, x, ref } = preparedOnThree((envelope) => !voteOfA(envelope));
    world.run(10); // the coordinator has the votes of b and x
    loseDisk(world, x);
    // b hears of the loss and asks a, which freezes; b does not hear that.
    world.filter = (envelope) =>
      !voteOfA(envelope) && !between(a, '', 'ResolveReq')(envelope) && !between(a, b, 'ResolveResp')(envelope);
    world.until(sent(world, between(b, a, 'ResolveReq'), asksOfALoss), 20_000);
    world.filter = without('ResolveReq', 'ResolveResp');
    world.run(1500); // the coordinator asks for a's vote again
    world.filter = () => true;
    world.until(settled(world, a, b), 20_000);
    expect(decisions(world, a, b)).toEqual(['aborted', 'aborted']);
    expect(world.answer('oregon-1', ref)?.type).not.toBe('CommitResp');
  });

  it('stays so through a crash', () => {
    const { world, a, b, x } = preparedOnThree((envelope) => !voteOfA(envelope));
    world.run(10); // the coordinator has the votes of b and x
    loseDisk(world, x);
    // b hears of the loss and asks a, which freezes; b aborts at its word.
    world.filter = (envelope) => !voteOfA(envelope) && !between(a, '', 'ResolveReq')(envelope);
    world.until(settled(world, b), 20_000);
    expect(decisions(world, b)).toEqual(['aborted']);
    world.crash(a);
    world.restart(a);
    world.filter = without('ResolveReq', 'ResolveResp');
    world.run(1500); // the coordinator asks for a's vote again
    world.filter = () => true;
    world.until(settled(world, a), 20_000);
    expect(decisions(world, a)).toEqual(['aborted']);
  });
});
