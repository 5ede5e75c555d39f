/** The faults of the nemesis, and how those of a run are drawn from its seed. */
import { Random } from '@isochron/core';
import type { Way } from '@isochron/testing/transport/tcp-proxy';

/** Two nodes: the one that dials, and its peer. */
export type Pair = readonly [from: string, to: string];

/** One fault. Its duration is in its {@link Step}. */
export type Fault =
  /** `kill -9`, and started again at the end. */
  | { readonly kind: 'kill'; readonly node: string }
  /** `kill -9`, and started again only after the others have suspended the node. */
  | { readonly kind: 'lose'; readonly node: string }
  /** SIGTERM, and started again at the end. */
  | { readonly kind: 'stop'; readonly node: string }
  /** SIGSTOP, and SIGCONT at the end. */
  | { readonly kind: 'pause'; readonly node: string }
  /** SIGSTOP for long enough to be detected, without other faults: new writes in other regions must go on. */
  | { readonly kind: 'freeze'; readonly node: string }
  /** The connection of two nodes is reset, and refused until the end. */
  | { readonly kind: 'cut'; readonly pair: Pair }
  /** The connection stays open but carries no bytes, one way or both. */
  | { readonly kind: 'mute'; readonly pair: Pair; readonly ways: readonly Way[] }
  /** Bytes are delayed, in ms, with different delays for each direction. */
  | { readonly kind: 'delay'; readonly pair: Pair; readonly ms: Readonly<Record<Way, number>> }
  /** All links of a region to the others. */
  | { readonly kind: 'isolate'; readonly region: string; readonly how: 'cut' | 'mute' }
  /** The wall clock jumps, and jumps back at the end. */
  | { readonly kind: 'jump'; readonly node: string; readonly byMs: number }
  /** The wall clock runs faster or slower, by this share; set right at the end. */
  | { readonly kind: 'drift'; readonly node: string; readonly rate: number }
  /** The wall clock of a running node is off by minutes to decades, and set right at the end. */
  | { readonly kind: 'far-clock'; readonly node: string; readonly byMs: number }
  /**
   * The node is killed and starts with such a clock; it is set right at the end, with another start if `startsAgain`.
   */
  | { readonly kind: 'far-start'; readonly node: string; readonly byMs: number; readonly startsAgain: boolean }
  /** A ballast file fills the disk up to the quota. */
  | { readonly kind: 'fill'; readonly node: string }
  /** The data folder is lost after a kill (D10, lost, damaged and rolled-back disks). */
  | { readonly kind: 'wipe'; readonly node: string }
  /** The data folder is replaced by an older one after a kill, and the node's links stay down until the end (D10). */
  | { readonly kind: 'rollback'; readonly node: string }
  /** All nodes at once. */
  | { readonly kind: 'restart-all'; readonly signal: 'SIGKILL' | 'SIGTERM' };

export type FaultKind = Fault['kind'];

/** A fault with its times, in ms since the nemesis began. */
export interface Step {
  readonly atMs: number;
  readonly forMs: number;
  readonly fault: Fault;
}

/** The nodes of a cluster, by region. */
export type Shape = Readonly<Record<string, readonly string[]>>;

/** The input of a schedule. */
export interface Draw {
  readonly seed: number;
  readonly durationMs: number;
  readonly shape: Shape;
  readonly kinds: readonly FaultKind[];
  /** Which node dials which. */
  readonly pairs: readonly Pair[];
}

/** How many cards a kind has in the deck, and its shortest and longest duration, in ms. */
const CARDS: Readonly<Record<FaultKind, { count: number; forMs: readonly [number, number] }>> = {
  kill: { count: 3, forMs: [0, 4000] },
  lose: { count: 2, forMs: [7000, 14_000] },
  stop: { count: 1, forMs: [0, 2000] },
  pause: { count: 2, forMs: [50, 6000] },
  cut: { count: 2, forMs: [100, 5000] },
  mute: { count: 2, forMs: [500, 8000] },
  delay: { count: 2, forMs: [1000, 8000] },
  isolate: { count: 1, forMs: [2000, 10_000] },
  jump: { count: 2, forMs: [500, 6000] },
  drift: { count: 1, forMs: [2000, 10_000] },
  'far-clock': { count: 1, forMs: [500, 8000] },
  'far-start': { count: 1, forMs: [2000, 10_000] },
  fill: { count: 1, forMs: [1000, 12_000] },
  wipe: { count: 1, forMs: [0, 1000] },
  'restart-all': { count: 1, forMs: [0, 1500] },
  rollback: { count: 1, forMs: [0, 6000] },
  freeze: { count: 1, forMs: [8000, 10_000] },
};

/** All kinds that a healthy product has to withstand at any time. */
export const ALWAYS: readonly FaultKind[] = [
  'kill',
  'stop',
  'pause',
  'cut',
  'mute',
  'delay',
  'isolate',
  'jump',
  'drift',
  'far-clock',
  'far-start',
  'fill',
  'restart-all',
  'freeze',
];
/** Every kind. */
export const FAULT_KINDS = Object.keys(CARDS) as readonly FaultKind[];

const FIRST_AFTER_MS = 1500;
/** Between the beginnings of two faults, in ms. */
const GAP_MS: readonly [number, number] = [200, 3200];
const MAX_DELAY_MS = 300;
const MAX_JUMP_MS = 60_000;
const MAX_DRIFT = 0.2;
/** From two minutes to fifty years. */
const FAR_MS: readonly [number, number] = [120_000, 50 * 365 * 86_400_000];

/** The faults of a run, in the order in which they begin: the same seed and cluster give the same ones. */
export function drawSchedule({ seed, durationMs, shape, kinds, pairs }: Draw): Step[] {
  const random = new Random(seed);
  const possible = kinds.filter((kind) => isPossible(kind, shape, pairs));
  if (possible.length === 0) return [];
  const deck = new Deck(possible, random);
  const busyUntil = new Map<string, number>();
  const steps: Step[] = [];
  const missing = new Set(possible);
  for (let atMs = FIRST_AFTER_MS; atMs < durationMs || missing.size > 0; atMs += between(random, GAP_MS)) {
    const kind = deck.deal();
    // A kind without room comes after the time, once: otherwise the run would show nothing about it.
    if (atMs >= durationMs && !missing.has(kind)) continue;
    const fault = drawFault(kind, random, shape, pairs);
    const forMs = between(random, CARDS[kind].forMs);
    const claims = claimsOf(fault, shape, pairs);
    const freeAtMs = Math.max(...claims.map((claim) => busyUntil.get(claim) ?? 0));
    // Each resource has one fault at a time.
    atMs = Math.max(atMs, freeAtMs);
    if (atMs >= durationMs && !missing.has(kind)) continue;
    missing.delete(kind);
    for (const claim of claims) busyUntil.set(claim, atMs + forMs);
    steps.push({ atMs, forMs, fault });
  }
  return steps;
}

/** Faults of links take two nodes; the isolation of a region takes another region. */
function isPossible(kind: FaultKind, shape: Shape, pairs: readonly Pair[]): boolean {
  if (kind === 'isolate' || kind === 'freeze') return Object.keys(shape).length > 1;
  return pairs.length > 0 || !['cut', 'mute', 'delay'].includes(kind);
}

/** The kinds in random order, so that every kind comes up before any is repeated too often. */
class Deck {
  #cards: FaultKind[] = [];

  constructor(
    readonly kinds: readonly FaultKind[],
    readonly random: Random,
  ) {}

  deal(): FaultKind {
    if (this.#cards.length === 0) this.#shuffle();
    return this.#cards.pop()!;
  }

  #shuffle(): void {
    for (const kind of this.kinds) {
      for (let i = 0; i < CARDS[kind].count; i++) {
        this.#cards.splice(this.random.below(this.#cards.length + 1), 0, kind);
      }
    }
  }
}

function drawFault(kind: FaultKind, random: Random, shape: Shape, pairs: readonly Pair[]): Fault {
  const node = random.pick(Object.values(shape).flat());
  const pair = random.pick(pairs);
  switch (kind) {
    case 'kill':
    case 'lose':
    case 'stop':
    case 'pause':
    case 'fill':
    case 'wipe':
    case 'rollback':
    case 'freeze':
      return { kind, node };
    case 'cut':
      return { kind, pair };
    case 'mute':
      return { kind, pair, ways: random.pick<readonly Way[]>([['there'], ['back'], ['there', 'back']]) };
    case 'delay':
      return { kind, pair, ms: { there: random.below(MAX_DELAY_MS), back: random.below(MAX_DELAY_MS) } };
    case 'isolate':
      return { kind, region: random.pick(Object.keys(shape)), how: random.pick(['cut', 'mute'] as const) };
    case 'jump':
      return { kind, node, byMs: skewed(random, MAX_JUMP_MS) };
    case 'drift':
      return { kind, node, rate: (2 * random.float() - 1) * MAX_DRIFT };
    case 'far-clock':
      return { kind, node, byMs: farOff(random) };
    case 'far-start':
      return { kind, node, byMs: farOff(random), startsAgain: random.chance(0.5) };
    case 'restart-all':
      return { kind, signal: random.pick(['SIGKILL', 'SIGTERM'] as const) };
  }
}

const between = (random: Random, [least, most]: readonly [number, number]): number =>
  least + random.below(most - least + 1);

/** Small and large errors with equal chance, in both directions. */
const skewed = (random: Random, most: number): number =>
  Math.round(most ** random.float()) * (random.chance(0.5) ? 1 : -1);

function farOff(random: Random): number {
  const [least, most] = FAR_MS;
  return Math.round(least * (most / least) ** random.float()) * (random.chance(0.6) ? 1 : -1);
}

/** Resources that only one fault at a time may hold. Links and clocks may have faults while their node is down. */
function claimsOf(fault: Fault, shape: Shape, pairs: readonly Pair[]): string[] {
  const all = Object.values(shape).flat();
  switch (fault.kind) {
    case 'kill':
    case 'lose':
    case 'stop':
    case 'pause':
      return [`process ${fault.node}`];
    case 'cut':
    case 'mute':
    case 'delay':
      return [linkClaim(fault.pair)];
    case 'isolate':
      return crossing(fault.region, shape, pairs).map(linkClaim);
    case 'jump':
    case 'drift':
      return [`clock ${fault.node}`];
    // Most clocks must be about right: nodes compare theirs with the median.
    case 'far-clock':
      return all.map((node) => `clock ${node}`);
    case 'far-start':
      return [`process ${fault.node}`, ...all.map((node) => `clock ${node}`)];
    case 'fill':
      return [`disk ${fault.node}`];
    case 'restart-all':
      return all.map((node) => `process ${node}`);
    case 'wipe':
    case 'rollback':
    case 'freeze':
      return [...all.flatMap((node) => [`process ${node}`, `clock ${node}`, `disk ${node}`]), ...pairs.map(linkClaim)];
  }
}

const linkClaim = ([from, to]: Pair): string => `link ${from} ${to}`;

/** The pairs between a region and the others. */
export const crossing = (region: string, shape: Shape, pairs: readonly Pair[]): Pair[] =>
  pairs.filter(([from, to]) => shape[region]!.includes(from) !== shape[region]!.includes(to));
