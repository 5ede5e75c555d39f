/** Drives one session of single operations at random, and records its inputs and outcomes. */
import type { Random } from '@isochron/core';
import { OPERATION_PROTOCOLS, type OperationName } from '@isochron/protocols';
import {
  OperationSession,
  type OperationSessionRules,
  type OperationSessionState,
} from '@isochron/protocols/kernel/operations/session';
import { type Choice, drawChoice, drawId, drawKey, drawValue, REGIONS, Times } from '../drawing.js';
import type { OperationEvent, Refusal, Sequence, VectorAnswer } from '../format.js';
import { attempt, valueOut } from '../outward.js';
import { dependsOut, getOut, putOut, rotOut, seenOut } from './outward.js';
import { OperationWorld } from './world.js';

/** Undefined when the action is not possible now. */
type Action = () => OperationEvent | undefined;

export class OperationDriver {
  readonly #random: Random;
  readonly #times: Times;
  readonly #world: OperationWorld;
  readonly #rules: OperationSessionRules;
  #session: OperationSession;
  #region: string;
  #underWay: 'read' | 'put' | undefined;

  private constructor(protocol: OperationName, random: Random, id: string, region: string) {
    this.#random = random;
    this.#times = new Times(random);
    this.#world = new OperationWorld(protocol, random, this.#times);
    this.#rules = OPERATION_PROTOCOLS[protocol].session;
    this.#region = region;
    this.#session = new OperationSession(id, region, this.#rules);
  }

  static sequence(protocol: OperationName, name: string, random: Random): Sequence<OperationEvent> {
    const [id, region] = [drawId(random), random.pick(REGIONS)];
    const driver = new OperationDriver(protocol, random, id, region);
    return { name, id, region, events: driver.#events(10 + random.below(50)) };
  }

  #events(count: number): OperationEvent[] {
    const events: OperationEvent[] = [];
    let before = JSON.stringify(seenOut(this.#session.export()));
    while (events.length < count) {
      this.#times.pass();
      const event = drawChoice(this.#random, this.#actions)();
      if (event === undefined) continue;
      const state = seenOut(this.#session.export());
      const text = JSON.stringify(state);
      events.push(text === before ? event : { ...event, state });
      before = text;
    }
    return events;
  }

  readonly #actions: readonly Choice<Action>[] = [
    { weight: 10, of: () => this.#get() },
    { weight: 8, of: () => this.#rot() },
    { weight: 18, of: () => this.#put() },
    { weight: 20, of: () => this.#retry() },
    { weight: 26, of: () => this.#answered() },
    { weight: 2, of: () => this.#refused() },
    { weight: 9, of: () => this.#move() },
    { weight: 5, of: () => this.#observe() },
    { weight: 1, of: () => this.#ids() },
    { weight: 1, of: () => this.#import() },
  ];

  /** Whether to begin an operation: rarely while another one is under way. */
  get #free(): boolean {
    return this.#underWay === undefined || this.#random.chance(0.06);
  }

  #get(): OperationEvent | undefined {
    if (!this.#free) return undefined;
    const key = drawKey(this.#random);
    const outcome = attempt(() => this.#session.get(key));
    if ('refused' in outcome) return { do: 'get', key, ...outcome };
    this.#underWay = 'read';
    return { do: 'get', key, get: getOut(outcome.returned) };
  }

  #rot(): OperationEvent | undefined {
    if (!this.#free) return undefined;
    const keys = Array.from({ length: 1 + this.#random.below(3) }, () => drawKey(this.#random));
    const outcome = attempt(() => this.#session.rot(keys));
    if ('refused' in outcome) return { do: 'rot', keys, ...outcome };
    this.#underWay = 'read';
    return { do: 'rot', keys, rot: rotOut(outcome.returned) };
  }

  #put(): OperationEvent | undefined {
    if (!this.#free) return undefined;
    const [key, value] = [drawKey(this.#random), drawValue(this.#random)];
    const tx = this.#random.chance(0.2) ? `${drawId(this.#random)}.0` : undefined;
    const input = { key, value: valueOut(value), ...(tx === undefined ? {} : { tx }) };
    const outcome = attempt(() => this.#session.put(key, value, undefined, tx));
    if ('refused' in outcome) return { do: 'put', ...input, ...outcome };
    this.#underWay = 'put';
    return { do: 'put', ...input, put: putOut(outcome.returned) };
  }

  #retry(): OperationEvent | undefined {
    if (this.#underWay !== 'put' && !this.#random.chance(0.05)) return undefined;
    const outcome = attempt(() => this.#session.retry());
    return 'refused' in outcome ? { do: 'retry', ...outcome } : { do: 'retry', put: putOut(outcome.returned) };
  }

  #answered(): OperationEvent | undefined {
    if (this.#underWay === undefined && !this.#random.chance(0.05)) return undefined;
    const answer = this.#answer();
    const outcome = attempt(() => this.#receive(answer));
    this.#underWay = undefined;
    const refused: { refused?: Refusal } = 'refused' in outcome ? { refused: outcome.refused } : {};
    return { do: 'answered', answer, ...refused };
  }

  #answer(): VectorAnswer {
    const ust = this.#random.chance(0.8) ? this.#times.recent() : this.#times.any();
    // Sometimes the answer to another operation.
    const isPut = (this.#underWay === 'put') !== this.#random.chance(0.03);
    const { seen, depends } = isPut ? this.#world.wrote() : this.#world.read();
    const region = this.#random.chance(0.8) ? this.#region : this.#random.pick(REGIONS);
    const [to, where] = isPut ? (['put', { region }] as const) : (['read', {}] as const);
    return { to, seen, ust, ...where, ...dependsOut(depends) };
  }

  #receive({ to, seen, ust, region = '', depends }: VectorAnswer): void {
    const common = { ref: 0, seen, ust, depends };
    if (to === 'put') this.#session.answered({ type: 'PutResp', txId: '', ts: 0, region, ...common });
    else this.#session.answered({ type: 'RotResp', versions: [], ...common });
  }

  #refused(): OperationEvent | undefined {
    if (this.#underWay === undefined && !this.#random.chance(0.2)) return undefined;
    this.#session.refused();
    this.#underWay = undefined;
    return { do: 'refused' };
  }

  #move(): OperationEvent {
    this.#region = this.#random.pick(REGIONS);
    this.#session.move(this.#region);
    if (this.#underWay === 'read') this.#underWay = undefined;
    return { do: 'move', region: this.#region };
  }

  #observe(): OperationEvent {
    const ust = this.#random.chance(0.8) ? this.#times.recent() : this.#times.any();
    this.#session.observe(ust);
    return { do: 'observe', ust };
  }

  #ids(): OperationEvent {
    const count = 1 + this.#random.below(50);
    for (let i = 1; i < count; i++) this.#session.nextTxId();
    return { do: 'ids', count, id: this.#session.nextTxId() };
  }

  #import(): OperationEvent {
    const id = drawId(this.#random);
    this.#region = this.#random.pick(REGIONS);
    const state = this.#altered(this.#session.export());
    this.#session = new OperationSession(id, this.#region, this.#rules, state);
    this.#underWay = undefined;
    return { do: 'import', id, region: this.#region, from: seenOut(state) };
  }

  /** Sometimes with the stable time of its new node, or seen by another session. */
  #altered(state: OperationSessionState): OperationSessionState {
    return drawChoice(this.#random, [
      { weight: 4, of: state },
      { weight: 1, of: { ...state, ust: this.#times.now } },
      { weight: 1, of: { ...state, ...this.#world.read() } },
    ]);
  }
}
