/** A client without a cache: it carries tokens, uses each as often as it likes, and sends its requests to any node. */
import {
  compareVersions,
  type KeyWrite,
  type NodeId,
  type QualifiedKey,
  type Random,
  type RegionId,
  type Timestamp,
  type Topology,
  type TxId,
  txIdOf,
} from '@isochron/core';
import { homeOfKey, partWithHome, RANDOM_PART } from '@isochron/sessions';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { writeIn } from '../checks/evidence/documents.js';
import type { ClientObservations, OwnWrite } from '../checks/evidence/observations.js';
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

type Put = Extract<HttpRequest, { f: 'put' }>;

/** A request on its way. */
interface SentRequest {
  readonly id: TxId;
  readonly node: NodeId;
  readonly request: HttpRequest;
  /** The newest versions of its token's lineage. */
  readonly known: Token['known'];
  readonly sendings: Sendings;
}

/** The sendings of a request: its first one, and repetitions. */
interface Sendings {
  /** Those that are still to come, or have no answer yet. */
  open: number;
  written: boolean;
}

/** The shared state of a run's callers and its other clients. */
export interface CallerWorld {
  readonly histories: Histories;
  readonly observer: Pick<ClientObservations, 'acknowledged' | 'httpRead' | 'httpRepeated'>;
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

  /** The session of an HTTP caller asks for no outcomes. */
  readonly awaitsOutcome = false;

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
    const request = this.#request(plan, token?.text);
    const id = request.f === 'put' ? request.txId : txIdOf(this.#base, this.requests++);
    const { again = [] } = plan;
    const sent = { id, request, known: token?.known ?? NOTHING_KNOWN, sendings: { open: 1, written: false } };
    this.#sendTo({ ...sent, node: this.#nodeFor(plan, token) });
    for (const repeat of again) {
      sent.sendings.open++;
      this.#waiting++;
      this.#time.after(repeat.afterMs, () => {
        this.#waiting--;
        if (this.#stopped) this.#recorded({ ...sent, node: '' });
        else this.#sendTo({ ...sent, node: this.#nodeFor({ ...plan, ...repeat }, undefined) });
      });
    }
  }

  #sendTo(sent: SentRequest): void {
    const { id, node, request } = sent;
    this.world.note(this.name, () => `sends ${id} to ${node}: ${JSON.stringify(request)}`);
    this.#waiting++;
    let settled = false;
    const settle = (answer: HttpAnswer | undefined) => {
      if (settled) return;
      settled = true;
      this.#waiting--;
      this.world.note(this.name, () => `${id} is answered: ${JSON.stringify(answer)}`);
      this.#answered(sent, answer);
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

  #request(plan: HttpRequestPlan, token: string | undefined): HttpRequest {
    const { f, keys, again } = plan;
    if (f === 'get') return { token, f, keys };
    const keyed = again !== undefined;
    const number = this.requests++;
    const txId = txIdOf(keyed ? this.#keyedPart(plan, number) : this.#base, number);
    const writes = keys.map((key) => ({ key, value: `${this.name}:${this.#values++}` }));
    return { token, f, txId, keyed, writes };
  }

  /** As an Idempotency-Key gives it: with its home. */
  #keyedPart({ named, region }: HttpRequestPlan, number: number): string {
    const { topology } = this.network;
    const home = homeOfKey(named ? `${region}:${number}` : `${this.name} ${number}`, topology);
    return partWithHome(this.#base.padEnd(RANDOM_PART, '_'), { home, avoid: [] }, topology);
  }

  #answered(sent: SentRequest, answer: HttpAnswer | undefined): void {
    const { id, node, request, known } = sent;
    if (request.f === 'put') this.#written(sent, request, answer);
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

  #written(sent: SentRequest, { writes, keyed }: Put, answer: HttpAnswer | undefined): void {
    const { id: txId, node, known } = sent;
    const outcome = outcomeOf(answer);
    sent.sendings.written ||= typeof outcome === 'number';
    this.#recorded(sent);
    if (keyed && outcome !== undefined)
      this.world.observer.httpRepeated(
        txId,
        outcome,
        writes.map(({ key }) => key),
      );
    if (answer?.status !== 'written') return;
    const { ct, token: text } = answer;
    const next = new Map(known);
    for (const { key, value } of writes) learn(next, key, { ct, txId, value });
    this.#tokens.push({ text, node, known: next });
    this.world.observer.acknowledged(txId, ct, writes);
  }

  /** Records a write once: when its last sending is over. */
  #recorded({ id: txId, request, sendings }: SentRequest): void {
    if (request.f !== 'put' || --sendings.open > 0) return;
    const ops = request.writes.map(({ key, value }) => ({ f: 'w' as const, k: key, v: textOf(value) }));
    this.world.histories.add(`${this.name}~${txId}`, { txId, ops }, sendings.written ? 'committed' : 'unknown');
  }
}

/** The commit timestamp of a write, or the code of its refusal; undefined without an answer. */
const outcomeOf = (answer: HttpAnswer | undefined): Timestamp | string | undefined =>
  answer?.status === 'written' ? answer.ct : answer?.status === 'refused' ? answer.code : undefined;

/** Keeps the newer one of two versions. */
function learn(known: Map<QualifiedKey, OwnWrite>, key: QualifiedKey, write: OwnWrite): void {
  const before = known.get(key);
  if (before === undefined || compareVersions(versionOf(write), versionOf(before)) > 0) known.set(key, write);
}

const versionOf = ({ ct: ts, txId }: OwnWrite) => ({ ts, txId, region: '' });

const textOf = (value: KeyWrite['value'] | undefined): string | null => writeIn(value ?? null);
