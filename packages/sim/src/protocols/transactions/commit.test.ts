import { type ErrorCode, Topology } from '@isochron/core';
import { ParisSession, type TransactionMessage } from '@isochron/protocols';
import type { Connection } from '../../clients/io.js';
import { type Co, run, waitFor } from '../../engine/coroutine.js';
import type { CommitHooks, CommitResult } from '../adapter.js';
import { type Io, SimSession } from './session.js';

type Answer = 'lost' | { readonly ct: number } | ErrorCode;
type CommitReq = Extract<TransactionMessage, { type: 'CommitReq' }>;

const REGIONS = ['p', 'q'];
const HOOKS: CommitHooks = { duplicated: false, sent: () => {} };

const given = <T>(value: T): Co<T> => waitFor<T>((resume) => resume(value));

function answerTo({ txId }: CommitReq, answer: Answer): TransactionMessage | undefined {
  if (answer === 'lost') return undefined;
  if (typeof answer === 'object') return { type: 'CommitResp', ref: 1, txId, ct: answer.ct };
  return { type: 'Refused', ref: 1, code: answer, detail: '' };
}

/** A client whose commit is answered with these, one after the other; `regions` are where it is connected each time. */
function committed(
  answers: readonly Answer[],
  regions: readonly string[] = [],
  hooks = HOOKS,
  avoids: readonly string[][] = [],
) {
  const sent: CommitReq[] = [];
  let connections = 0;
  const io: Io = {
    topology: new Topology({ regions: REGIONS.map((id) => ({ id, nodes: [{ id: `${id}-1` }] })), keyspaces: [] }),
    region: REGIONS[0]!,
    nowMs: 0,
    requestTimeoutMs: 1_000,
    connection: () => {
      const region = regions[connections++] ?? 'p';
      return given<Connection<TransactionMessage>>({
        node: `${region}-1`,
        region,
        avoid: avoids[connections - 1] ?? [],
        open: true,
        ask: () => {},
        close: () => {},
      });
    },
    call: (_connection, request, _timeoutMs, onSent) => {
      const message = request(1) as CommitReq;
      const answer = answers[sent.push(message) - 1]!;
      onSent?.();
      return given(answerTo(message, answer));
    },
    backOff: () => given<void>(undefined),
    leave: () => {},
    aside: () => {},
  };
  const owner = new SimSession(new ParisSession('session-session-'), io);
  const tx = owner.begin({ mode: 'one-shot' });
  tx.write('default/a', '1');
  let result: CommitResult | undefined;
  run(
    tx.commit(hooks),
    () => true,
    (end) => {
      result = end;
    },
  );
  return { result, sent, homes: sent.map(({ homes }) => homes.join(' ')), session: owner.session };
}

describe('a commit of a simulated client', () => {
  it('is sent again, unchanged, until it is answered', () => {
    const { result, sent, session } = committed(['lost', 'NOT_READY', 'lost', { ct: 7 }], ['p', 'q', 'q']);
    expect(result).toEqual({ status: 'committed', ct: 7 });
    expect(new Set(sent.map((message) => JSON.stringify(message))).size).toBe(1);
    expect(session.hwt).toBe(7);
  });

  it('names the region of its connection as another home after three pending answers, and not before (D4)', () => {
    const { homes } = committed(
      ['lost', 'OUTCOME_PENDING', 'OUTCOME_PENDING', 'OUTCOME_PENDING', { ct: 7 }],
      ['p', 'q', 'q', 'q', 'q'],
    );
    expect(homes).toEqual(['p', 'p', 'p', 'p', 'p q']);
  });

  it('begins another attempt after one that was aborted, and gives up in the end', () => {
    const { result, homes } = committed(Array.from({ length: 5 }, () => 'TRANSACTION_ABORTED' as const));
    expect(homes).toEqual(['p', 'p p', 'p p p', 'p p p p', 'p p p p p']);
    expect(result).toEqual({ status: 'aborted', code: 'TRANSACTION_ABORTED' });
  });

  it('avoids what its node reports when the attempt begins, and keeps that in every retry (D4)', () => {
    const avoids = [['q'], [], [], ['q']];
    const answers: Answer[] = ['lost', 'NOT_READY', 'TRANSACTION_ABORTED', { ct: 7 }];
    const { sent } = committed(answers, [], HOOKS, avoids);
    expect(sent.map((message) => message.avoids)).toEqual([[['q']], [['q']], [['q']], [['q'], []]]);
  });

  it('takes back a home that the cohorts do not know', () => {
    const { homes } = committed(['TRANSACTION_ABORTED', 'ATTEMPT_MISMATCH', { ct: 7 }]);
    expect(homes).toEqual(['p', 'p p', 'p']);
  });

  it.each<[string, Answer[], CommitHooks]>([
    ['refused at the edge before anything was in doubt', ['TIMESTAMP_IN_FUTURE'], HOOKS],
  ])('is known to be aborted when it is %s', (_when, answers, hooks) => {
    expect(committed(answers, [], hooks).result?.status).toBe('aborted');
  });

  it.each<[string, Answer[], CommitHooks]>([
    ['an answer before was lost', ['lost', 'TIMESTAMP_IN_FUTURE'], HOOKS],
    ['another coordinator has it as well', ['TIMESTAMP_IN_FUTURE'], { ...HOOKS, duplicated: true }],
    ['nobody remembers it', ['OUTCOME_FORGOTTEN'], HOOKS],
  ])('is unknown when it is refused and %s', (_when, answers, hooks) => {
    expect(committed(answers, [], hooks).result?.status).toBe('unknown');
  });
});
