/** The application of a trace: calls at random, with some that no careful application would make. */
import type { Random } from '@isochron/core';
import type { Timestamp } from '@isochron/core/ids';
import { type Choice, drawChoice, drawKey, drawValue } from '../drawing.js';
import { valueOut } from '../outward.js';
import type { Cluster } from './cluster.js';
import type { StepCall, StepEffect, StepInput } from './format.js';
import type { StepProtocol } from './protocols.js';
import type { Theme } from './themes.js';

/** The weight of each action, unless the theme sets it. */
const WEIGHTS = {
  read: 6,
  write: 6,
  begin: 6,
  txRead: 12,
  txWrite: 10,
  list: 4,
  open: 2,
  commit: 6,
  end: 2,
  stable: 2,
  status: 1,
  detach: 0.5,
  cancel: 2,
  export: 0.5,
  report: 2,
  network: 1,
};
type Action = keyof typeof WEIGHTS;

/** Of single operations. All other actions are refused, as a few of them show. */
const OPERATION_WEIGHTS: { readonly [A in Action]?: number } = {
  read: 14,
  begin: 0.3,
  txRead: 0.2,
  txWrite: 0,
  list: 0.2,
  open: 0.1,
  commit: 0.3,
  end: 0.1,
};

export class Application {
  readonly #random: Random;
  readonly #cluster: Cluster;
  readonly #choices: readonly Choice<Action>[];
  /** Ids of writes that were sent or settled, and the times of commits. */
  readonly #writes: { readonly txId: string; readonly sentAfter: Timestamp }[] = [];
  #lastCommit: Timestamp = 0;
  #handles: number[] = [];
  #lastHandle = 0;
  #lastCaller = 0;

  constructor(protocol: StepProtocol, theme: Theme, cluster: Cluster, random: Random) {
    this.#random = random;
    this.#cluster = cluster;
    const weights = { ...WEIGHTS, ...theme.does, ...(protocol.kind === 'operations' ? OPERATION_WEIGHTS : {}) };
    this.#choices = Object.entries(weights).map(([of, weight]) => ({ of: of as Action, weight: 10 * weight }));
  }

  call(call: StepCall): StepInput {
    this.#lastCaller++;
    return { do: 'call', caller: this.#lastCaller, call };
  }

  /** Collects writes from the frames that are sent. */
  observe(effects: readonly StepEffect[]): void {
    for (const effect of effects) {
      if (effect.do === 'resolve' && typeof effect.value === 'object' && effect.value !== null) {
        const { timestamp } = effect.value as { readonly timestamp?: Timestamp };
        if (timestamp !== undefined) this.#lastCommit = timestamp;
      }
      if (effect.do !== 'send') continue;
      for (const frame of effect.frames)
        if (frame.type === 'commit' || frame.type === 'put')
          this.#writes.push({ txId: frame.tx, sentAfter: frame.sentAfter });
    }
  }

  /** Its next input; `report` is an action of a node. Undefined when the drawn action is not possible. */
  next(waiting: readonly number[]): StepInput | 'report' | undefined {
    return this.#do(drawChoice(this.#random, this.#choices), waiting);
  }

  #do(action: Action, waiting: readonly number[]): StepInput | 'report' | undefined {
    switch (action) {
      case 'read':
        return this.call({ f: 'read', keys: this.#keys() });
      case 'write':
        return this.call({ f: 'write', key: this.#key(), value: valueOut(drawValue(this.#random)) });
      case 'begin':
        return this.#begin();
      case 'txRead':
        return this.#withHandle((handle) => this.call({ f: 'read', handle, keys: this.#keys() }));
      case 'txWrite':
        return this.#withHandle((handle) => {
          return { do: 'write', handle, key: this.#key(), value: valueOut(drawValue(this.#random)) };
        });
      case 'list':
        return this.#withHandle((handle) => this.call({ f: 'list', handle, request: this.#listing() }));
      case 'open':
        return this.#withHandle((handle) => this.call({ f: 'open', handle }));
      case 'commit':
        return this.#withHandle((handle) => {
          this.#leave(handle);
          return this.call({ f: 'commit', handle });
        });
      case 'end':
        return this.#withHandle((handle) => {
          this.#leave(handle);
          return { do: 'end', handle };
        });
      case 'stable':
        return this.call({ f: 'stable', ts: this.#time(), timeoutMs: this.#random.pick([100, 2000, 20_000]) });
      case 'status':
        return this.#status();
      case 'detach':
        return this.call({ f: 'detach' });
      case 'cancel':
        return waiting.length === 0 ? undefined : { do: 'cancel', caller: this.#random.pick(waiting) };
      case 'export':
        return { do: 'export' };
      case 'report':
        return 'report';
      case 'network':
        return { do: 'network' };
    }
  }

  #begin(): StepInput {
    this.#lastHandle++;
    this.#handles.push(this.#lastHandle);
    const mode = this.#random.pick(['transaction', 'transaction', 'snapshot', 'snapshot', 'one-shot'] as const);
    const isPast = mode !== 'transaction' && this.#random.chance(0.2);
    return { do: 'begin', handle: this.#lastHandle, mode, ...(isPast ? { snapshot: this.#time() } : {}) };
  }

  /** Mostly an open one; sometimes one that has ended. */
  #withHandle(then: (handle: number) => StepInput): StepInput | undefined {
    if (this.#lastHandle === 0) return undefined;
    if (this.#random.chance(0.02)) return then(1 + this.#random.below(this.#lastHandle));
    return this.#handles.length === 0 ? this.#begin() : then(this.#random.pick(this.#handles));
  }

  #leave(handle: number): void {
    this.#handles = this.#handles.filter((other) => other !== handle);
  }

  #status(): StepInput {
    const { txId, sentAfter } =
      this.#writes.length === 0 || this.#random.chance(0.2)
        ? { txId: 'AAAAAAAAAAAAAAAAAAAAAA.0', sentAfter: 0 }
        : this.#random.pick(this.#writes.slice(-3));
    return this.call({ f: 'status', txId, ...(this.#random.chance(0.7) ? { sentAfter } : {}) });
  }

  #time(): Timestamp {
    return this.#random.pick([this.#lastCommit, this.#cluster.times.recent(), this.#cluster.times.now]);
  }

  #key(): string {
    return this.#random.chance(0.01) ? `notes/${'x'.repeat(1000)}` : drawKey(this.#random);
  }

  /** At least one. */
  #keys(): string[] {
    return Array.from({ length: this.#random.pick([1, 1, 2, 4]) }, () => this.#key());
  }

  #listing() {
    return {
      keyspace: this.#random.pick(['notes', 'notes', 'default']),
      prefix: this.#random.pick(['', '', '', 'ca', 'x']),
      start: this.#random.pick(['', '', 'b', 'cafe']),
      limit: this.#random.pick([1, 2, 100]),
    };
  }
}
