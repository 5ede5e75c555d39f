/** A client without a cache: it carries tokens, uses each as often as it likes, and sends its requests to any node. */
import {
  compareVersions,
  type KeyWrite,
  type NodeId,
  type QualifiedKey,
  type Random,
  type RegionId,
  type Topology,
  type TxId,
  txIdOf,
} from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { writeIn } from '../checks/documents.js';
import type { ClientObservations, OwnWrite } from '../checks/observations.js';
import type { HttpCallerPlan, HttpRequestPlan } from '../plan/plan.js';
import type { HttpAnswer, HttpRequest } from '../protocols/http.js';
import type { Histories } from './recorder.js';

/** A token, and the newest version of each key that its lineage has written or read. */
interface Token {
  readonly text: string;
  /** The node that gave it. */
  readonly node: NodeId;
  readonly known: ReadonlyMap<QualifiedKey, OwnWrite>;
}

/** A request on its way. */
interface Sent {
  readonly id: TxId;
  readonly node: NodeId;
  readonly request: HttpRequest;
  /** The newest versions of its token's lineage. */
  readonly known: Token['known'];
}

/** The shared state of a run's callers and its other clients. */
export interface CallerWorld {
  readonly histories: Histories;
  readonly observer: Pick<ClientObservations, 'acknowledged' | 'httpRead'>;
  note(session: string, what: () => string): void;
}

/** How a request reaches a node. */
export interface CallerNetwork {
  readonly topology: Topology;
  readonly time: VirtualTime;
  http(random: Random, from: RegionId, node: NodeId, request: HttpRequest, done: (answer: HttpAnswer) => void): void;
}

/** How often it checks whether a node serves yet, ms. */
const READY_POLL_MS = 20;

const NOTHING_KNOWN: Token['known'] = new Map();

export class HttpCaller {
  readonly name: string;
  /** Requests sent, and those without an answer. */
  requests = 0;
  #waiting = 0;
  #stopped = false;
  #launched = false;
  #values = 0;
  readonly #tokens: Token[] = [];
  readonly #time: VirtualTime;

  constructor(
    readonly plan: HttpCallerPlan,
    readonly network: CallerNetwork,
    readonly random: Random,
    readonly timeoutMs: number,
    readonly world: CallerWorld,
  ) {
    this.name = plan.name;
    this.#time = network.time;
  }

  /** Whether none of its requests is under way any more. */
  get finished(): boolean {
    return this.#launched && this.#waiting === 0;
  }

  get doing(): string {
    return `waits for ${this.#waiting} answers`;
  }

  /** Begins when its cluster does. */
  start(): void {
    const { plan, random, network } = this;
    const node = random.pick(network.topology.nodesOf(plan.region));
    let left = false;
    const leave = (next: () => void) => {
      if (!left && !this.#stopped) next();
      left = true;
    };
    this.#time.after(this.timeoutMs, () => leave(() => this.start()));
    network.http(random, plan.region, node, { token: undefined, f: 'get', keys: [] }, ({ status }) =>
      leave(() => {
        if (status === 'refused') this.#time.after(READY_POLL_MS, () => this.start());
        else this.#launch(0);
      }),
    );
  }

  /** Sends no new requests. */
  stop(): void {
    this.#stopped = true;
    this.#launched = true;
  }

  #launch(at: number): void {
    const plan = this.plan.requests[at];
    if (plan === undefined) {
      this.#launched = true;
      return;
    }
    this.#time.after(plan.thinkMs, () => {
      if (this.#stopped) return;
      this.#send(plan);
      this.#launch(at + 1);
    });
  }

  #send(plan: HttpRequestPlan): void {
    const token = plan.back === null ? undefined : this.#tokens[this.#tokens.length - 1 - plan.back];
    const node = this.#nodeFor(plan, token);
    const request = this.#request(plan, token?.text);
    const id = request.f === 'put' ? request.txId : txIdOf(this.#base, this.requests++);
    this.world.note(this.name, () => `sends ${id} to ${node}: ${JSON.stringify(request)}`);
    this.#waiting++;
    let settled = false;
    const settle = (answer: HttpAnswer | undefined) => {
      if (settled) return;
      settled = true;
      this.#waiting--;
      this.world.note(this.name, () => `${id} is answered: ${JSON.stringify(answer)}`);
      this.#answered({ id, node, request, known: token?.known ?? NOTHING_KNOWN }, answer);
    };
    this.#time.after(this.timeoutMs, () => settle(undefined));
    this.network.http(this.random, this.plan.region, node, request, settle);
  }

  #nodeFor({ region, node }: HttpRequestPlan, token: Token | undefined): NodeId {
    if (node === null && token !== undefined) return token.node;
    const nodes = this.network.topology.nodesOf(region);
    return nodes[(node ?? 0) % nodes.length]!;
  }

  get #base(): string {
    return `${this.name}-http`.padEnd(16, '_');
  }

  #request({ f, keys }: HttpRequestPlan, token: string | undefined): HttpRequest {
    if (f === 'get') return { token, f, keys };
    const txId = txIdOf(this.#base, this.requests++);
    const writes = keys.map((key) => ({ key, value: `${this.name}:${this.#values++}` }));
    return { token, f, txId, writes };
  }

  #answered(sent: Sent, answer: HttpAnswer | undefined): void {
    const { id, node, request, known } = sent;
    if (request.f === 'put') this.#written(sent, request.writes, answer);
    else if (request.f === 'get' && answer?.status === 'read') {
      const next = new Map(known);
      request.keys.forEach((key, i) => {
        const version = answer.versions[i] ?? null;
        this.world.observer.httpRead(this.name, id, key, version, known.get(key));
        if (version !== null) learn(next, key, { ct: version.ts, txId: version.txId, value: version.value });
      });
      this.#tokens.push({ text: answer.token, node, known: next });
      const ops = request.keys.map((key, i) => ({ f: 'r' as const, k: key, v: textOf(answer.versions[i]?.value) }));
      this.world.histories.add(`${this.name}~${id}`, { txId: id, ops }, 'committed');
    }
  }

  #written({ id: txId, node, known }: Sent, writes: readonly KeyWrite[], answer: HttpAnswer | undefined): void {
    const ops = writes.map(({ key, value }) => ({ f: 'w' as const, k: key, v: textOf(value) }));
    const done = answer?.status === 'written';
    this.world.histories.add(`${this.name}~${txId}`, { txId, ops }, done ? 'committed' : 'unknown');
    if (!done) return;
    const { ct, token: text } = answer;
    const next = new Map(known);
    for (const { key, value } of writes) learn(next, key, { ct, txId, value });
    this.#tokens.push({ text, node, known: next });
    this.world.observer.acknowledged(txId, ct, writes);
  }
}

/** Keeps the newer one of two versions. */
function learn(known: Map<QualifiedKey, OwnWrite>, key: QualifiedKey, write: OwnWrite): void {
  const before = known.get(key);
  if (before === undefined || compareVersions(versionOf(write), versionOf(before)) > 0) known.set(key, write);
}

const versionOf = ({ ct: ts, txId }: OwnWrite) => ({ ts, txId, region: '' });

const textOf = (value: KeyWrite['value'] | undefined): string | null => writeIn(value ?? null);
