/**
 * The cost of messages in a frame: encoded and decoded by the real codec, many at once, of the kinds and sizes that
 * crossed links.
 */
import { type TransactionMessage, transactionSchema } from '@isochron/protocols';
import { type Costs, itemsOf } from '@isochron/sim/scale/cost-model';
import { type Frame, FrameCodec } from '@isochron/wire';
import { Samples } from './fit.js';
import type { Messages } from './machines.js';

const PER_FRAME = 32;
/** Number of different sizes measured for a kind. */
const MOST_SIZES = 6;
const REPEATS = 60;
const ROUNDS = 10;

export interface CodecCosts {
  readonly encode: Costs;
  readonly decode: Costs;
}

export function measureCodec(messages: Messages): CodecCosts {
  const codec = new FrameCodec<TransactionMessage>(transactionSchema);
  const encode = new Samples();
  const decode = new Samples();
  for (const [kind, own] of messages) {
    for (const [items, same] of sizesOf(own)) {
      const frame = frameOf(same);
      const bytes = codec.encode(frame);
      encode.add(kind, items, fastestUs(() => codec.encode(frame)) / PER_FRAME);
      decode.add(kind, items, fastestUs(() => codec.decode(bytes)) / PER_FRAME);
    }
  }
  return { encode: encode.costs(1), decode: decode.costs(1) };
}

/** The most frequent numbers of items, each with its messages. */
function sizesOf(messages: readonly TransactionMessage[]): (readonly [number, readonly TransactionMessage[]])[] {
  const bySize = new Map<number, TransactionMessage[]>();
  for (const message of messages) {
    const items = itemsOf(message);
    bySize.set(items, [...(bySize.get(items) ?? []), message]);
  }
  return [...bySize].sort(([, a], [, b]) => b.length - a.length).slice(0, MOST_SIZES);
}

function frameOf(messages: readonly TransactionMessage[]): Frame<TransactionMessage> {
  const envelopes = Array.from({ length: PER_FRAME }, (_, i) => ({
    to: 'replica/3',
    from: 'coordinator',
    message: messages[i % messages.length]!,
  }));
  return { hlc: 2 ** 40, envelopes };
}

/** The fastest of several rounds: interruptions only make a round slower. */
function fastestUs(run: () => unknown): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    for (let i = 0; i < REPEATS; i++) run();
    fastest = Math.min(fastest, ((performance.now() - began) * 1000) / REPEATS);
  }
  return fastest;
}
