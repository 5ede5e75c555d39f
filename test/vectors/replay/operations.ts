/** Drives a session of single operations with the events of a file. */
import type { Dependency } from '@isochron/core/ids';
import {
  OperationSession,
  type OperationSessionRules,
  type OperationSessionState,
} from '@isochron/protocols/kernel/operations/session';
import type { Player } from './compare.js';
import type { Fields, ReadSequence } from './reader.js';
import { refusalOf } from './refusals.js';

type Outcome = Readonly<Record<string, unknown>>;

export class OperationPlayer implements Player {
  readonly #rules: OperationSessionRules;
  #session: OperationSession;

  constructor(rules: OperationSessionRules, { id, region }: ReadSequence) {
    if (region === undefined) throw new TypeError('a session of single operations begins in a region');
    this.#rules = rules;
    this.#session = new OperationSession(id, region, rules);
  }

  state(): OperationSessionState {
    return shown(this.#session.export());
  }

  play(event: Fields): Outcome {
    const action = this.#actions[event.text('do')];
    if (action === undefined) throw new TypeError(`${event.text('do')} means nothing`);
    return action(event);
  }

  readonly #actions: Readonly<Record<string, (event: Fields) => Outcome>> = {
    get: (event) => this.#asked('get', () => this.#session.get(event.text('key'))),
    rot: (event) => this.#asked('rot', () => this.#session.rot(event.texts('keys'))),
    put: (event) => {
      const [key, value, tx] = [event.text('key'), event.value('value'), event.maybe('tx', event.text)];
      return this.#asked('put', () => this.#session.put(key, value, 'anonymous', tx));
    },
    retry: () => this.#asked('put', () => this.#session.retry()),
    answered: (event) => this.#answered(event.fields('answer')),
    refused: () => this.#called(() => this.#session.refused()),
    move: (event) => this.#called(() => this.#session.move(event.text('region'))),
    observe: (event) => this.#called(() => this.#session.observe(event.count('ust'))),
    ids: (event) => ({ id: Array.from({ length: event.count('count') }, () => this.#session.nextTxId()).at(-1) }),
    import: (event) => {
      const state = seen(event.fields('from'));
      this.#session = new OperationSession(event.text('id'), event.text('region'), this.#rules, state);
      return {};
    },
  };

  #called(call: () => void): Outcome {
    call();
    return {};
  }

  #asked(name: string, ask: () => object & { readonly depends?: readonly Dependency[] | undefined }): Outcome {
    const asked: Record<string, unknown> = {};
    const refusal = refusalOf(() => {
      const { type, principal, ...request } = { type: '', principal: '', ...ask() };
      asked[name] = shown(request);
    });
    return { ...asked, ...refusal };
  }

  #answered(answer: Fields): Outcome {
    const common = { ref: 0, seen: answer.counts('seen'), ust: answer.count('ust'), depends: depends(answer) };
    if (answer.text('to') === 'read')
      return refusalOf(() => this.#session.answered({ type: 'GetResp', version: null, ...common }));
    const region = answer.text('region');
    return refusalOf(() => this.#session.answered({ type: 'PutResp', txId: '', ts: 0, region, ...common }));
  }
}

const depends = (fields: Fields): Dependency[] | undefined =>
  fields.maybe('depends', fields.list)?.map((item) => ({
    key: item.text('key'),
    source: item.count('source'),
    ts: item.count('ts'),
    near: item.maybe('near', item.flag),
  }));

const seen = (fields: Fields): OperationSessionState => ({
  seen: fields.counts('seen'),
  region: fields.text('region'),
  ust: fields.count('ust'),
  depends: depends(fields),
});

/** `near` is present only when true. */
function shown<T extends { readonly depends?: readonly Dependency[] | undefined }>(holder: T): T {
  if (holder.depends === undefined) return holder;
  return { ...holder, depends: holder.depends.map((one) => ({ ...one, near: one.near === true ? true : undefined })) };
}
