import { COMMIT_MOVES, type CommitState, OutcomeExchange } from '@isochron/client/session/outcome';
import type { CommitFrame, PutFrame } from '@isochron/wire/session-frames';
import { DEFAULTS, generate } from '../generate.js';
import type { Step, StepEffect, StepTrace } from './format.js';
import { STEP_PROTOCOLS } from './protocols.js';
import { replayTrace, type StepFile } from './replay.js';

/** Watches the moves of all writes from now on. Returns them as `from to`, in a set that grows. */
function watchedMoves(): ReadonlySet<string> {
  const { prototype } = OutcomeExchange;
  const { move } = prototype;
  const seen = new Set<string>();
  prototype.move = function (this: OutcomeExchange, to: CommitState) {
    const before = [...this.states];
    move.call(this, to);
    for (const from of before) if (COMMIT_MOVES[from].includes(to)) seen.add(`${from} ${to}`);
  };
  return seen;
}

const moves = watchedMoves();
const NAMES = STEP_PROTOCOLS.map(({ name }) => name);
const texts = new Map(generate(DEFAULTS).map(({ name, text }) => [name, text]));
const fileOf = (protocol: string): StepFile => JSON.parse(texts.get(`steps-${protocol}.json`) ?? '{}') as StepFile;
const files = NAMES.map(fileOf);
const RENEWED = ['paris', 'nocc', 'orbe'];
const renewals = RENEWED.map((protocol): StepFile => JSON.parse(texts.get(`renewals-${protocol}.json`) ?? '{}'));
const suspended = JSON.parse(texts.get('suspensions-paris.json') ?? '{}') as StepFile;
const traces = files.flatMap(({ sequences }) => sequences);
const steps = traces.flatMap((trace) => trace.steps);
const effects = steps.flatMap(({ out }) => out);

const timesOf = <T>(all: readonly T[], is: (one: T) => boolean): number => all.filter(is).length;
const rejectedWith = (code: string) => (effect: StepEffect) =>
  (effect.do === 'reject' || effect.do === 'throw') && effect.error.code === code;

const INPUTS = 'call cancel begin write end opened message closed loaded network timer turn export'.split(' ');
const EFFECTS = 'open send close load setTimer turn changed resolve reject throw exported'.split(' ');
const CALLS = 'connect read list open write commit stable status detach close'.split(' ');
const FRAMES = 'hello start read list commit get rot put abort status stable ping'.split(' ');
const CODES = [
  'ATTEMPT_MISMATCH CLIENT_CLOSED CONNECTION_LOST CREDITS_EXHAUSTED FRAME_INVALID INTERNAL NOT_READY OFFLINE',
  'NOT_SUPPORTED_BY_PROTOCOL OUTCOME_FORGOTTEN OUTCOME_UNKNOWN OVERLOADED REPLICA_UNREACHABLE REQUEST_TOO_LARGE',
  'SESSION_BLOCKED SESSION_GAP SNAPSHOT_TOO_OLD SNAPSHOT_UNAVAILABLE STABLE_TIMEOUT TOKEN_INVALID',
  'TRANSACTION_ABORTED TRANSACTION_EXPIRED TRANSACTION_FINISHED TX_ID_REUSED UNAUTHENTICATED cancelled',
].flatMap((line) => line.split(' '));

describe.each(NAMES)('the step traces of %s', (protocol) => {
  const file = fileOf(protocol);

  it('the step traces have the effects of the client machine', () => {
    expect(file).toMatchObject({ format: 1, protocol, kind: 'steps' });
    expect(file.sequences.flatMap((trace) => replayTrace(trace) ?? [])).toEqual([]);
  });

  it('the step traces are at least fifty, each with a name of its own', () => {
    expect(file.sequences.length).toBeGreaterThanOrEqual(50);
    expect(new Set(file.sequences.map(({ name }) => name)).size).toBe(file.sequences.length);
  });
});

describe('the steps', () => {
  it.each(INPUTS)('the steps have the input %s at least fifty times', (name) => {
    expect(timesOf(steps, (step) => step.do === name)).toBeGreaterThanOrEqual(50);
  });

  it.each(EFFECTS)('the steps have the effect %s at least fifty times', (name) => {
    expect(timesOf(effects, (effect) => effect.do === name)).toBeGreaterThanOrEqual(50);
  });

  it.each(CALLS)('the steps have a call of %s that resolves', (f) => {
    const resolves = ({ steps: own }: StepTrace): boolean => {
      const called = own.flatMap((step) => (step.do === 'call' && step.call.f === f ? [step.caller] : []));
      const resolved = own.flatMap(({ out }) =>
        out.flatMap((effect) => (effect.do === 'resolve' ? effect.caller : [])),
      );
      return called.some((caller) => resolved.includes(caller));
    };
    expect(timesOf(traces, resolves)).toBeGreaterThanOrEqual(3);
  });

  it.each(FRAMES)('the steps send frames of the type %s at least twenty times', (type) => {
    const frames = effects.flatMap((effect) => (effect.do === 'send' ? effect.frames : []));
    expect(timesOf(frames, (frame) => frame.type === type)).toBeGreaterThanOrEqual(20);
  });

  it.each(CODES)('the steps reject with %s', (code) => {
    expect(timesOf(effects, rejectedWith(code))).toBeGreaterThan(0);
  });
});

const MOVES = Object.entries(COMMIT_MOVES).flatMap(([from, all]) => all.map((to) => `${from} ${to}`));

describe('what happens to writes in the traces', () => {
  it.each(MOVES)('some write of the traces makes the move %s', (move) => {
    expect([...moves]).toContain(move);
  });

  type WriteFrame = CommitFrame | PutFrame;

  /** The writes of a trace by their ids, each with all its frames. */
  function writesOf({ steps: own }: StepTrace): WriteFrame[][] {
    const byId = new Map<string, WriteFrame[]>();
    for (const effect of own.flatMap(({ out }) => out)) {
      if (effect.do !== 'send') continue;
      for (const frame of effect.frames)
        if (frame.type === 'commit' || frame.type === 'put') byId.set(frame.tx, [...(byId.get(frame.tx) ?? []), frame]);
    }
    return [...byId.values()];
  }

  const writes = traces.flatMap(writesOf);
  const attemptRegionsOf = (sendings: readonly WriteFrame[]): readonly string[] =>
    sendings.at(-1)?.attemptRegions ?? [];
  const statesOf = (is: (step: Step) => boolean): number => timesOf(steps, is);

  it('some writes of the traces are repeated under their id with the same contents', () => {
    const repeated = writes.filter((sendings) => sendings.length > 1);
    expect(repeated.length).toBeGreaterThan(100);
    for (const sendings of repeated) {
      const contents = sendings.map((frame) =>
        JSON.stringify(frame.type === 'commit' ? frame.writes : [frame.key, frame.value]),
      );
      expect(new Set(contents).size).toBe(1);
    }
  });

  it('some writes of the traces have a second attempt with another home', () => {
    expect(timesOf(writes, (sendings) => new Set(attemptRegionsOf(sendings)).size > 1)).toBeGreaterThan(20);
  });

  it('some writes of the traces keep their first home while other nodes are asked for their outcome', () => {
    const isAskedElsewhere = (sendings: readonly WriteFrame[]): boolean =>
      sendings.length > 3 && attemptRegionsOf(sendings).length === 1;
    expect(timesOf(writes, isAskedElsewhere)).toBeGreaterThan(5);
  });

  it('some attempts in the traces avoid regions', () => {
    const avoids = (frame: WriteFrame): boolean => frame.type === 'commit' && frame.avoids !== undefined;
    expect(timesOf(writes, (sendings) => sendings.some(avoids))).toBeGreaterThan(20);
  });

  it('some commits of the traces are repeated without their open transaction', () => {
    const isOpen = (frame: WriteFrame | undefined): boolean => frame?.type === 'commit' && frame.snapshot === undefined;
    const goesWithout = (sendings: readonly WriteFrame[]): boolean => isOpen(sendings[0]) && !isOpen(sendings.at(-1));
    expect(timesOf(writes, goesWithout)).toBeGreaterThan(5);
  });

  it('some sessions of the traces continue without an undecided write', () => {
    const detaches = (step: Step): boolean =>
      step.do === 'call' &&
      step.call.f === 'detach' &&
      step.out.some((effect) => effect.do === 'resolve' && typeof effect.value === 'string');
    expect(statesOf(detaches)).toBeGreaterThan(5);
  });

  it('some commits of the traces are sent behind others, and again once those are decided', () => {
    const isBehind = (frame: WriteFrame): boolean => frame.type === 'commit' && frame.after !== undefined;
    expect(timesOf(writes, (sendings) => sendings.some(isBehind))).toBeGreaterThan(100);
    const isHeld = (sendings: readonly WriteFrame[]): boolean => isBehind(sendings[0]!) && !isBehind(sendings.at(-1)!);
    expect(timesOf(writes, isHeld)).toBeGreaterThan(50);
  });

  it('the traces have states with pending commits, with unresponsive regions, and without a connection', () => {
    expect(statesOf(({ status }) => (status?.pendingCommits ?? 0) > 2)).toBeGreaterThan(20);
    expect(statesOf(({ status }) => (status?.unresponsive.length ?? 0) > 0)).toBeGreaterThan(20);
    for (const state of ['online', 'offline', 'closed'])
      expect(statesOf(({ status }) => status?.state === state)).toBeGreaterThan(20);
  });
});

describe('a difference of step traces', () => {
  it('a difference of step traces is found where an input leads to other effects', () => {
    const isCommit = (effect: Step['out'][number]): boolean =>
      effect.do === 'send' && effect.frames.some(({ type }) => type === 'commit');
    const trace = fileOf('paris').sequences.find(({ steps: own }) => own.some(({ out }) => out.some(isCommit)));
    const at = trace!.steps.findIndex((step) => step.do === 'call' && step.call.f === 'write');
    const changed = trace!.steps.map((step, i) =>
      i === at && step.do === 'call' && step.call.f === 'write'
        ? { ...step, call: { ...step.call, key: 'default/another' } }
        : step,
    );
    const difference = replayTrace({ ...trace!, steps: changed });
    expect(difference).toMatchObject({ trace: trace!.name, what: 'out' });
    expect(difference?.step).toBeGreaterThanOrEqual(at);
  });

  it('a difference of step traces is found where a step draws a number more or less than the trace', () => {
    const trace = fileOf('paris').sequences.find(({ steps: own }) => own.some(({ random }) => random !== undefined));
    const at = trace!.steps.findIndex(({ random }) => random !== undefined);
    const changed = trace!.steps.map((step, i) => (i === at ? { ...step, random: [...step.random!, 0.5] } : step));
    expect(replayTrace({ ...trace!, steps: changed })).toMatchObject({ step: at, what: 'random' });
  });
});

describe('the traces of clients whose credentials expire', () => {
  const own = renewals.flatMap(({ sequences }) => sequences.flatMap((trace) => trace.steps));
  const out = own.flatMap((step) => step.out);
  const sent = out.flatMap((effect) => (effect.do === 'send' ? effect.frames : []));

  it.each(renewals)('the traces of $protocol with renewals have the effects of the client machine', (file) => {
    expect(file).toMatchObject({ format: 1, kind: 'steps' });
    expect(file.sequences.length).toBeGreaterThanOrEqual(50);
    expect(file.sequences.flatMap((trace) => replayTrace(trace) ?? [])).toEqual([]);
  });

  it('the traces with renewals ask for credentials, get some or none, and pass them to nodes', () => {
    const given = own.flatMap((step) => (step.do === 'credentials' ? [step.credentials] : []));
    expect(timesOf(out, (effect) => effect.do === 'authenticate')).toBeGreaterThan(500);
    expect(timesOf(given, (credentials) => credentials === undefined)).toBeGreaterThan(30);
    expect(timesOf(given, (credentials) => credentials === 'wrong')).toBeGreaterThan(10);
    expect(timesOf(sent, (frame) => frame.type === 'authenticate')).toBeGreaterThan(200);
    expect(timesOf(sent, (frame) => frame.type === 'hello' && frame.credentials !== undefined)).toBeGreaterThan(500);
  });

  it('the traces with renewals have messages that accept credentials, and that refuse them and requests', () => {
    const messages = own.flatMap((step) => (step.do === 'message' ? [step.data] : []));
    expect(timesOf(messages, (data) => data.includes('"authenticated"'))).toBeGreaterThan(200);
    expect(timesOf(messages, (data) => data.includes('"UNAUTHENTICATED"'))).toBeGreaterThan(200);
  });

  it.each(['CREDENTIALS_UNAVAILABLE', 'UNAUTHENTICATED'])('the traces with renewals reject with %s', (code) => {
    expect(timesOf(out, rejectedWith(code))).toBeGreaterThan(3);
  });
});

describe('the traces of clients of a cluster that suspends nodes', () => {
  const own = suspended.sequences.flatMap((trace) => trace.steps);
  const out = own.flatMap((step) => step.out);
  const commits = out.flatMap((effect) =>
    effect.do === 'send' ? effect.frames.flatMap((frame) => (frame.type === 'commit' ? frame : [])) : [],
  );

  it('the traces with suspended nodes have the effects of the client machine', () => {
    expect(suspended).toMatchObject({ format: 1, protocol: 'paris', kind: 'steps' });
    expect(suspended.sequences.length).toBeGreaterThanOrEqual(100);
    expect(suspended.sequences.flatMap((trace) => replayTrace(trace) ?? [])).toEqual([]);
  });

  it('the traces with suspended nodes have deferred commits that are made again, and some that are given up', () => {
    const deferred = (step: Step): number => step.status?.deferredCommits ?? 0;
    expect(timesOf(own, (step) => deferred(step) > 0)).toBeGreaterThan(100);
    expect(timesOf(own, (step) => deferred(step) > 2)).toBeGreaterThan(10);
    // What is made again has an attempt of a newer map.
    expect(timesOf(commits, ({ maps = [] }) => new Set(maps).size > 1)).toBeGreaterThan(50);
    const detaches = (step: Step): boolean =>
      step.do === 'call' && step.call.f === 'detach' && step.out.some(({ do: does }) => does === 'resolve');
    expect(timesOf(own, detaches)).toBeGreaterThan(20);
  });

  it('the traces with suspended nodes name what commits follow, and export commits, deferred ones among them', () => {
    expect(timesOf(commits, ({ behind }) => behind !== undefined)).toBeGreaterThan(200);
    const exported = out.flatMap((effect) => (effect.do === 'exported' ? (effect.session.commits ?? []) : []));
    expect(exported.length).toBeGreaterThan(100);
    expect(timesOf(exported, ({ isDeferred }) => isDeferred)).toBeGreaterThan(3);
  });

  it.each(['SESSION_DEFERRED', 'STABLE_TIMEOUT', 'SESSION_BLOCKED', 'OUTCOME_UNKNOWN'])(
    'the traces with suspended nodes reject with %s',
    (code) => {
      expect(timesOf(out, rejectedWith(code))).toBeGreaterThan(1);
    },
  );
});
