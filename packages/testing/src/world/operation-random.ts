/**
 * Random worlds of clients that read and write while nodes crash, links are cut and clocks are off; causality judges
 * their reads.
 */

import { compareVersions, type NodeId, type Version } from '@isochron/core';
import type { OperationResponse } from '@isochron/protocols/kernel/operations/messages';
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { type OperationBody, OperationSession } from '@isochron/protocols/kernel/operations/session';
import fc from 'fast-check';
import { Causality } from './causality.js';
import { keyIn, OperationWorld, REGIONS, replicated } from './operation-world.js';

const PARTITIONS = 4;
const NODES = REGIONS.flatMap((region) => [`${region}-1`, `${region}-2`]);

/** One random step. */
type Happening =
  | { readonly kind: 'get' | 'put'; readonly client: number; readonly keys: readonly number[] }
  | { readonly kind: 'rot'; readonly client: number; readonly keys: readonly number[] }
  | { readonly kind: 'run'; readonly ms: number }
  | { readonly kind: 'crash' | 'restart'; readonly node: number }
  | { readonly kind: 'cut' | 'heal'; readonly a: number; readonly b: number }
  | { readonly kind: 'move'; readonly client: number; readonly node: number };

const client = fc.nat(5);
const node = fc.nat(NODES.length - 1);
const key = fc.nat(PARTITIONS - 1);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('get' as const), client, keys: fc.tuple(key) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('put' as const), client, keys: fc.tuple(key) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('rot' as const),
      client,
      keys: fc.uniqueArray(key, { minLength: 2, maxLength: PARTITIONS }),
    }),
  },
  { weight: 14, arbitrary: fc.record({ kind: fc.constant('run' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('crash' as const, 'restart' as const), node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('cut' as const, 'heal' as const), a: node, b: node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const), client, node }) },
);

/** A world and its steps. */
export const drawnWorld = fc.record({
  happenings: fc.array(happening, { minLength: 60, maxLength: 160, size: 'max' }),
  /**
   * One-way delays between the regions' first nodes, and between their second ones: an effect may travel faster than
   * its cause.
   */
  delays: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 6, maxLength: 6 }),
  /** The clock error of each node. */
  skews: fc.array(fc.integer({ min: -40, max: 40 }), { minLength: NODES.length, maxLength: NODES.length }),
  prefetchMs: fc.constantFrom(0, 3),
});

type Drawn = typeof drawnWorld extends fc.Arbitrary<infer T> ? T : never;

/** The result of a run. */
export interface Outcome {
  readonly violations: readonly string[];
  /** Keys on which regions differ after all is healed, with their values. */
  readonly diverged: readonly string[];
  /** Acknowledged writes that are newer than the final value. */
  readonly lost: readonly string[];
  readonly answered: number;
}

/** Plays the steps, heals everything, and checks. */
export function play(protocol: OperationProtocol, drawn: Drawn): Outcome {
  const stage = new RandomStage(protocol, drawn);
  for (const what of drawn.happenings) stage.happen(what);
  return stage.finish();
}

/** A client with at most one operation under way, which it sends again until its outcome is known. */
class RandomClient {
  answered = 0;
  #underWay: { readonly body: OperationBody; ref: number; incarnation: number } | undefined;
  /** Keys that it reads next, one after the other. */
  #reads: readonly string[] = [];

  constructor(
    readonly world: OperationWorld,
    readonly name: string,
    public node: NodeId,
    readonly session: OperationSession,
    readonly causality: Causality,
    readonly acknowledged: Map<string, Version>,
  ) {}

  get idle(): boolean {
    return this.#underWay === undefined;
  }

  /** One key after the other. */
  readAll([first, ...others]: readonly string[]): void {
    if (first === undefined) return;
    this.#reads = others;
    this.begin(this.session.get(first));
  }

  begin(body: OperationBody): void {
    this.#underWay = { body, ref: 0, incarnation: -1 };
    if (body.type === 'PutReq') this.causality.wrote(this.name, body.key, body.value as string);
    this.#ask();
  }

  /** Takes an answer that has arrived; sends a request again that was lost with a node. */
  look(): void {
    const underWay = this.#underWay;
    if (underWay === undefined) return;
    const { incarnation, up } = this.world.node(this.node);
    if (!up) return;
    if (incarnation !== underWay.incarnation) {
      this.#ask();
      return;
    }
    const answer = this.world.answer(this.node, underWay.ref);
    if (answer !== undefined) this.#take(answer);
  }

  /** Continues at another node. The pending request is given up, but a write is written once in any case. */
  move(node: NodeId): void {
    this.node = node;
    this.session.move(this.world.topology.regionOf(node));
    this.#reads = [];
    if (this.#underWay === undefined) return;
    if (this.#underWay.body.type === 'PutReq') this.#underWay = { body: this.session.retry(), ref: 0, incarnation: -1 };
    else this.#underWay = undefined;
  }

  #ask(): void {
    const underWay = this.#underWay!;
    const { incarnation, up } = this.world.node(this.node);
    if (!up) return;
    underWay.incarnation = incarnation;
    underWay.ref = this.world.ask(this.node, underWay.body);
  }

  #take(answer: OperationResponse): void {
    const { body } = this.#underWay!;
    if (answer.type === 'Refused') {
      if (body.type === 'PutReq') this.#ask();
      else {
        this.session.refused();
        this.#underWay = undefined;
        this.#reads = [];
      }
      return;
    }
    this.session.answered(answer);
    this.#underWay = undefined;
    const reads = this.#reads;
    this.answered++;
    if (answer.type === 'PutResp' && body.type === 'PutReq') {
      const { txId, ts, region } = answer;
      this.causality.acknowledged(this.name, body.value as string);
      const version = { ts, txId, region, value: body.value };
      const before = this.acknowledged.get(body.key);
      if (before === undefined || compareVersions(before, version) < 0) this.acknowledged.set(body.key, version);
    } else if (answer.type === 'GetResp' && body.type === 'GetReq') this.#read([body.key], [answer.version]);
    else if (answer.type === 'RotResp' && body.type === 'RotReq') this.#read(body.keys, answer.versions);
    this.readAll(reads);
  }

  #read(keys: readonly string[], versions: readonly (Version | null)[]): void {
    this.causality.read(
      this.name,
      keys.map((k, i) => [k, (versions[i]?.value ?? null) as string | null]),
    );
  }
}

class RandomStage {
  readonly world: OperationWorld;
  readonly causality = new Causality();
  readonly acknowledged = new Map<string, Version>();
  readonly keys: readonly string[];
  readonly clients: readonly RandomClient[];
  #values = 0;

  constructor(protocol: OperationProtocol, { delays, skews, prefetchMs }: Drawn) {
    const place = (id: NodeId) => REGIONS.findIndex((region) => id.startsWith(region));
    const pair = (a: NodeId, b: NodeId) => place(a) + place(b) - 1 + (a.endsWith('1') ? 0 : 3);
    this.world = new OperationWorld(protocol, {
      spec: replicated(REGIONS, 2, PARTITIONS),
      delayMs: (a, b) => (place(a) === place(b) ? 1 : delays[pair(a, b)]!),
      skewMs: (id) => skews[NODES.indexOf(id)]!,
      prefetchMs,
      settings: { retentionMs: 200, snapshotWaitMs: 1_000, readDeadlineMs: 2_000, commitTimeoutMs: 2_000 },
    });
    this.world.run(400);
    this.keys = Array.from({ length: PARTITIONS }, (_, partition) => keyIn(this.world, partition));
    this.clients = NODES.map((id, i) => {
      const region = this.world.topology.regionOf(id);
      const session = new OperationSession(`random-session-${i}-0000`, region, protocol.session);
      session.observe(this.world.ust());
      return new RandomClient(this.world, `c${i}`, id, session, this.causality, this.acknowledged);
    });
  }

  happen(what: Happening): void {
    const { world } = this;
    switch (what.kind) {
      case 'run':
        for (let ms = 0; ms < what.ms; ms++) {
          world.run(1);
          for (const each of this.clients) each.look();
        }
        return;
      case 'crash':
        if (world.node(NODES[what.node]!).up) world.crash(NODES[what.node]!);
        return;
      case 'restart':
        if (!world.node(NODES[what.node]!).up) world.restart(NODES[what.node]!);
        return;
      case 'cut':
        if (what.a !== what.b) world.cut(NODES[what.a]!, NODES[what.b]!);
        return;
      case 'heal':
        if (what.a !== what.b) world.heal(NODES[what.a]!, NODES[what.b]!);
        return;
      case 'move':
        this.clients[what.client]!.move(NODES[what.node]!);
        return;
      default:
        this.#operate(what.kind, what.client, what.keys);
    }
  }

  finish(): Outcome {
    const { world } = this;
    for (const id of NODES) if (!world.node(id).up) world.restart(id);
    for (const a of NODES) for (const b of NODES) if (a < b) world.heal(a, b);
    world.until(() => {
      for (const each of this.clients) each.look();
      return this.clients.every(({ idle }) => idle);
    });
    const last = Math.max(0, ...[...this.acknowledged.values()].map(({ ts }) => ts));
    world.until(() => world.ust() > last);
    world.run(200);
    const shown = this.keys.map((k) => NODES.map((id) => this.#latest(k, id)));
    return {
      violations: this.causality.violations,
      diverged: this.keys.flatMap((k, i) => (new Set(shown[i]).size === 1 ? [] : [`${k}: ${shown[i]!.join(' ')}`])),
      lost: this.keys.flatMap((k, i) => this.#lost(k, shown[i]![0]!)),
      answered: this.clients.reduce((sum, { answered }) => sum + answered, 0),
    };
  }

  #operate(kind: 'get' | 'put' | 'rot', index: number, chosen: readonly number[]): void {
    const each = this.clients[index]!;
    if (!each.idle) return;
    const keys = chosen.map((i) => this.keys[i]!);
    if (kind === 'rot' && this.world.protocol.rots === false) each.readAll(keys);
    else if (kind === 'rot') each.begin(each.session.rot(keys));
    else if (kind === 'get') each.begin(each.session.get(keys[0]!));
    else each.begin(each.session.put(keys[0]!, `w${this.#values++}`));
  }

  #latest(key: string, id: NodeId): string {
    const session = new OperationSession(
      'latest-session-0000',
      this.world.topology.regionOf(id),
      this.world.protocol.session,
    );
    const answer = this.world.call(id, session.get(key), 'GetResp');
    return String(answer.version?.value ?? null);
  }

  #lost(key: string, shown: string): string[] {
    const newest = this.acknowledged.get(key);
    if (newest === undefined || newest.value === shown) return [];
    const version = [...this.world.node(NODES[0]!).store.chains.values()].flat().find(({ value }) => value === shown);
    return version !== undefined && compareVersions(version, newest) > 0
      ? []
      : [`${key}: ${newest.value}, not ${shown}`];
  }
}
