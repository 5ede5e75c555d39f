/** Plans that give a breakage an occasion to show. */
import { Topology } from '@isochron/core';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import { type Plan, PROTOCOLS } from '@isochron/sim';
import { Streams } from '@isochron/sim/engine/streams';
import { faultKind } from '@isochron/sim/faults/table';
import { drawSomeAlbums } from '@isochron/sim/plan/draw-albums';
import { drawSomeBoards } from '@isochron/sim/plan/draw-boards';
import { drawBurst } from '@isochron/sim/plan/draw-bursts';
import { drawCallers } from '@isochron/sim/plan/draw-http';
import { withSomeLive } from '@isochron/sim/plan/draw-live';
import { drawSomeNotes } from '@isochron/sim/plan/draw-notes';
import { drawFollowers } from '@isochron/sim/plan/draw-readers';
import { repeating } from '@isochron/sim/plan/draw-repeats';
import { keysOf } from '@isochron/sim/plan/keys';
import type { FaultPlan, SessionPlan } from '@isochron/sim/plan/plan';
import type { Profile } from './mutant.js';

const { outcomeRetentionMs } = DEFAULT_SETTINGS;

/** The drawn plan with the parts that the profile replaces. */
export function profiled(plan: Plan, profile: Profile): Plan {
  const { settings, environment, faults, http, repeats = false, carriesTokens, bursts, reads, writes } = profile;
  return {
    ...plan,
    ...(carriesTokens ? { sessions: plan.sessions.map((session) => carryingTokens(plan, session)) } : {}),
    // Repeating is safe for half of the retention of outcomes (D5, UST is the horizon of bookkeeping).
    settings: { ...plan.settings, ...(repeats ? { outcomeRetentionMs } : {}), ...settings },
    environment: { ...plan.environment, ...environment },
    ...(bursts === undefined ? {} : { sessions: drawBursts(plan, bursts) }),
    ...(http === undefined ? {} : { http: drawHttp(plan, http, repeats) }),
    ...(reads === 'changes' || reads === 'documents' ? { readers: drawReaders(plan, reads) } : {}),
    ...(reads === 'live' ? { sessions: withSomeLive(new Streams(plan.seed).of('profile live'), plan.sessions) } : {}),
    ...(reads === 'albums' ? { albums: drawAlbums(plan) } : {}),
    ...(reads === 'notes' ? { albums: drawNotes(plan) } : {}),
    ...(writes === 'boards' ? { albums: drawBoards(plan) } : {}),
    faults: faults === undefined ? plan.faults : drawFaults(plan, faults),
  };
}

/** How many transactions a continued session runs. */
const BETWEEN_MOVES = 8;

function carryingTokens({ seed, cluster }: Plan, session: SessionPlan): SessionPlan {
  const random = new Streams(seed).of('profile tokens', session.name);
  const move = () => ({ kind: 'move', thinkMs: 0, region: random.pick(cluster.regions).id, anew: 'token' }) as const;
  const transactions = session.transactions.flatMap((one, i) => (i % BETWEEN_MOVES > 0 ? [one] : [move(), one]));
  return { ...session, transactions };
}

function drawHttp(plan: Plan, limits: Required<Profile>['http'], repeats: boolean): Plan['http'] {
  const random = new Streams(plan.seed).of('profile http');
  const topology = Topology.of(plan.cluster);
  const { callers } = drawCallers(random, topology, keysOf(plan));
  return repeats ? repeating(random, topology, { callers, limits }) : { callers, limits };
}

/** How long sessions work in most runs, ms: readers begin and stop meanwhile. */
const SPAN_MS = 3_000;

function drawReaders(plan: Plan, reads: 'changes' | 'documents'): Plan['readers'] {
  const readers = drawFollowers(new Streams(plan.seed).of('profile readers'), keysOf(plan), SPAN_MS);
  return reads === 'changes' ? readers : readers.map((reader) => ({ ...reader, documents: true }));
}

const drawAlbums = (plan: Plan): Plan['albums'] =>
  drawSomeAlbums(new Streams(plan.seed).of('profile albums'), Topology.of(plan.cluster));

function drawBoards({ seed, cluster }: Plan): Plan['albums'] {
  const [random, topology] = [new Streams(seed).of('profile boards'), Topology.of(cluster)];
  return { keyspace: topology.keyspaces[0]!, sessions: [], boards: drawSomeBoards(random, topology) };
}

function drawNotes({ seed, cluster }: Plan): Plan['albums'] {
  const [random, topology] = [new Streams(seed).of('profile notes'), Topology.of(cluster)];
  return { keyspace: topology.keyspaces[0]!, sessions: [], notes: drawSomeNotes(random, topology) };
}

function drawBursts(plan: Plan, count: number): Plan['sessions'] {
  const random = new Streams(plan.seed).of('profile bursts');
  const [topology, keys] = [Topology.of(plan.cluster), keysOf(plan)];
  return plan.sessions.map((session) => {
    const bursts = Array.from({ length: count }, () => drawBurst(random, topology, keys));
    return { ...session, transactions: [...bursts, ...session.transactions] };
  });
}

function drawFaults(
  { protocol, seed, cluster, sessions }: Plan,
  { kinds, count, untilMs }: Required<Profile>['faults'],
): FaultPlan[] {
  const random = new Streams(seed).of('profile');
  const scene = {
    topology: Topology.of(cluster),
    sessions: sessions.map(({ name }) => name),
    crashPoints: PROTOCOLS.get(protocol)!.crashPoints,
  };
  return Array.from({ length: count }, () => {
    const name = random.pick(kinds);
    const { draw, forMs } = faultKind(name)!;
    const [least, most] = forMs;
    const [atMs, length] = [
      Math.round(random.float() * untilMs),
      Math.round(least + random.float() ** 2 * (most - least)),
    ];
    const parameters = draw(random, scene);
    return parameters === undefined ? [] : [{ kind: name, atMs, forMs: length, ...parameters }];
  })
    .flat()
    .sort((a, b) => a.atMs - b.atMs);
}
