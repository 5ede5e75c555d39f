/** Draws the transactions of the sessions. */
import { compareKeys, type QualifiedKey, qualify, type Random, type Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import type { DrawMix, Mix } from './mix.js';
import type {
  CommitPlan,
  InteractivePlan,
  ListPlan,
  SessionPlan,
  StepPlan,
  TransactionPlan,
  WritePlan,
} from './plan.js';

export function drawSessions(
  random: Random,
  topology: Topology,
  transactions: number,
  drawMix: DrawMix,
): SessionPlan[] {
  const keys = drawKeys(random, topology);
  const mix = drawMix(random);
  const count = integer(random, 1, 12);
  return Array.from({ length: count }, (_, i) => {
    const draws = new SessionDraws(random, topology, keys, mix);
    const share = Math.ceil(transactions / count);
    return {
      name: `s${i}`,
      region: random.pick(topology.regions),
      transactions: Array.from({ length: share }, () => draws.transaction()),
    };
  });
}

/** A few keys in every partition. */
function drawKeys(random: Random, topology: Topology): QualifiedKey[] {
  const perPartition = integer(random, 1, 6);
  const keys: QualifiedKey[] = [];
  for (const keyspace of topology.keyspaces) {
    const missing = new Map(topology.partitionsOf(keyspace).map(({ id }) => [id, perPartition]));
    for (let n = 0; missing.size > 0; n++) {
      const key = qualify(keyspace, `k${n}`);
      const partition = topology.partitionOf(key);
      const left = missing.get(partition);
      if (left === undefined) continue;
      keys.push(key);
      if (left === 1) missing.delete(partition);
      else missing.set(partition, left - 1);
    }
  }
  return keys;
}

class SessionDraws {
  constructor(
    readonly random: Random,
    readonly topology: Topology,
    readonly allKeys: readonly QualifiedKey[],
    readonly mix: Mix,
  ) {}

  transaction(): TransactionPlan {
    const { random, mix } = this;
    const kind = weighted(random, mix.kinds);
    const thinkMs = rounded(exponential(random, mix.thinkMs));
    switch (kind) {
      case 'interactive':
        return this.#interactive(thinkMs);
      case 'get':
        return { kind, thinkMs, key: this.#key() };
      case 'read':
        return { kind, thinkMs, keys: this.#keys(mix.reads) };
      case 'write':
        return { kind, thinkMs, writes: this.#writes(), commit: this.#commit() };
      case 'list':
        return { kind, thinkMs, list: this.#list() };
      case 'watch':
        return { kind, thinkMs, keys: this.#keys(4), reads: integer(random, 2, 12), pauseMs: rounded(mix.pauseMs) };
      case 'past':
        return { kind, thinkMs, back: integer(random, 0, 8), keys: this.#keys(mix.reads) };
      case 'status':
        return { kind, thinkMs, back: integer(random, 0, 20) };
      case 'move':
        return { kind, thinkMs, region: random.pick(this.topology.regions), anew: random.chance(0.4) };
    }
  }

  #interactive(thinkMs: number): InteractivePlan {
    const { random, mix } = this;
    const steps: StepPlan[] = [];
    const count = integer(random, 1, mix.reads + mix.writes);
    for (let i = 0; i < count; i++) {
      if (random.chance(mix.pauses)) steps.push({ f: 'pause', ms: rounded(exponential(random, mix.pauseMs)) });
      if (random.chance(mix.reconnects)) steps.push({ f: 'reconnect', region: random.pick(this.topology.regions) });
      if (random.chance(mix.writes / (mix.reads + mix.writes))) steps.push({ f: 'write', ...this.#write() });
      else if (random.chance(0.04)) steps.push({ f: 'list', ...this.#list() });
      else steps.push({ f: 'read', keys: this.#keys(integer(random, 1, 3)) });
    }
    return {
      kind: 'interactive',
      thinkMs,
      steps,
      end: random.chance(0.95) ? 'commit' : 'abort',
      commit: this.#commit(),
    };
  }

  #commit(): CommitPlan {
    const { random, mix } = this;
    const region = () => random.pick(this.topology.regions);
    return {
      loses: random.chance(mix.losses) ? { region: region(), afterMs: rounded(logBetween(random, 0.1, 300)) } : null,
      duplicate: random.chance(mix.duplicates)
        ? { region: region(), afterMs: rounded(logBetween(random, 0.1, 3_000)) }
        : null,
    };
  }

  #writes(): WritePlan[] {
    return this.#keys(this.mix.writes).map((key) => ({ key, deletes: this.random.chance(this.mix.deletes) }));
  }

  #write(): WritePlan {
    return { key: this.#key(), deletes: this.random.chance(this.mix.deletes) };
  }

  /** Up to this many different keys, in key order. */
  #keys(count: number): QualifiedKey[] {
    return [...new Set(Array.from({ length: count }, () => this.#key()))].sort(compareKeys);
  }

  #key(): QualifiedKey {
    const { random, mix, allKeys } = this;
    return allKeys[Math.floor(random.float() ** (1 + mix.hot) * allKeys.length)]!;
  }

  #list(): ListPlan {
    const keyspace = this.random.pick(this.topology.keyspaces);
    const start = this.random.chance(0.5) ? qualify(keyspace, '') : qualify(keyspace, `k${this.random.below(20)}`);
    return { keyspace, start, limit: this.random.pick([1, 3, 10, 100]) };
  }
}
