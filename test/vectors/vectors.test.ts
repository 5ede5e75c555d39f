import { InvariantViolation } from '@isochron/core';
import { OPERATION_PROTOCOLS, Session, type SessionState, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { DEFAULTS, generate } from './generate.js';
import { replay } from './replay/compare.js';
import { OperationPlayer } from './replay/operations.js';
import { type Fields, type ReadFile, readSessions } from './replay/reader.js';
import { TransactionPlayer } from './replay/transactions.js';

const files = generate(DEFAULTS);
const textOf = (name: string): string => files.find((file) => file.name === name)?.text ?? '';
const sessionsOf = (protocol: string): ReadFile => {
  const name = `sessions-${protocol}.json`;
  return readSessions(name, textOf(name));
};
const eventsOf = ({ sequences }: ReadFile): readonly Fields[] => sequences.flatMap(({ events }) => events);
const timesOf = (file: ReadFile, is: (event: Fields) => boolean): number => eventsOf(file).filter(is).length;

const TRANSACTION_EVENTS =
  'begin past started lookup record write overlay observe stable commit committed refused end ids import'.split(' ');
const OPERATION_EVENTS = 'get rot put retry answered refused move observe ids import'.split(' ');
const TRANSACTION_REFUSALS = ['snapshotBelowSeen', 'snapshotChanged', 'commitInFlight', 'noCommitInFlight'];
const OPERATION_REFUSALS = ['operationUnderWay', 'noOperationUnderWay', 'noPutUnderWay'];

describe.each(Object.entries(TRANSACTION_PROTOCOLS))('the sequences of %s', (protocol, { session: rules }) => {
  const open = (id: string, state?: SessionState) => new Session(id, rules, state);
  const file = sessionsOf(protocol);

  it('the sequences are reproduced by the sessions, through a reader that knows only the format', () => {
    expect(file).toMatchObject({ protocol, kind: 'transactions' });
    expect(replay(file, (sequence) => new TransactionPlayer(open, sequence))).toEqual([]);
  });

  it('the sequences are as many as requested, each with a name of its own', () => {
    expect(file.sequences).toHaveLength(DEFAULTS.sequences);
    expect(new Set(file.sequences.map(({ name }) => name)).size).toBe(file.sequences.length);
  });

  it.each(TRANSACTION_EVENTS)('the sequences have %s at least twenty times', (name) => {
    expect(timesOf(file, (event) => event.text('do') === name)).toBeGreaterThanOrEqual(20);
  });

  it.each(TRANSACTION_REFUSALS)('the sequences have a call that is refused as %s at least five times', (name) => {
    expect(timesOf(file, (event) => event.maybe('refused', event.text) === name)).toBeGreaterThanOrEqual(5);
  });
});

describe.each(Object.entries(OPERATION_PROTOCOLS))('the sequences of %s', (protocol, { session: rules }) => {
  const file = sessionsOf(protocol);

  it('the sequences of operations are reproduced by the sessions, through a reader that knows only the format', () => {
    expect(file).toMatchObject({ protocol, kind: 'operations' });
    expect(replay(file, (sequence) => new OperationPlayer(rules, sequence))).toEqual([]);
  });

  it('the sequences of operations are as many as requested, each with a name of its own', () => {
    expect(file.sequences).toHaveLength(DEFAULTS.sequences);
    expect(new Set(file.sequences.map(({ name }) => name)).size).toBe(file.sequences.length);
  });

  it.each(OPERATION_EVENTS)('the sequences of operations have %s at least twenty times', (name) => {
    expect(timesOf(file, (event) => event.text('do') === name)).toBeGreaterThanOrEqual(20);
  });

  it.each(OPERATION_REFUSALS)(
    'the sequences of operations have a call that is refused as %s at least five times',
    (name) => {
      expect(timesOf(file, (event) => event.maybe('refused', event.text) === name)).toBeGreaterThanOrEqual(5);
    },
  );
});

describe('what happens in the sequences', () => {
  const readsFromCache = (event: Fields): boolean =>
    event.text('do') === 'lookup' && event.has('read') && event.fields('read').has('ts');
  const cacheOf = (event: Fields): number => event.fields('state').list('cache').length;

  it.each(['paris', 'wren'])(
    'some reads of %s in the sequences are answered from the cache and the read set',
    (protocol) => {
      expect(timesOf(sessionsOf(protocol), readsFromCache)).toBeGreaterThanOrEqual(50);
    },
  );

  it.each(['paris', 'wren'])('the cache of %s holds several writes in some sequences', (protocol) => {
    expect(timesOf(sessionsOf(protocol), (event) => event.has('state') && cacheOf(event) > 2)).toBeGreaterThan(50);
  });

  it('some sessions of Wren in the sequences belong to a region, to another one, and to none', () => {
    const places = eventsOf(sessionsOf('wren'))
      .filter((event) => event.has('state') && event.fields('state').has('deps'))
      .map((event) => event.fields('state').counts('deps')[1]);
    for (const place of [0, 1, 2, 3]) expect(places.filter((other) => other === place).length).toBeGreaterThan(50);
  });

  it.each(Object.keys(OPERATION_PROTOCOLS))(
    'some PUTs of %s in the sequences have several attemptRegions',
    (protocol) => {
      const movesOn = (event: Fields): boolean =>
        event.has('put') && event.fields('put').texts('attemptRegions').length > 1;
      expect(timesOf(sessionsOf(protocol), movesOn)).toBeGreaterThan(20);
    },
  );

  it.each(['cops-gt', 'cc-lo'])(
    'some sessions of %s in the sequences depend on near versions and on others',
    (protocol) => {
      const kinds = eventsOf(sessionsOf(protocol))
        .filter((event) => event.has('state') && event.fields('state').has('depends'))
        .flatMap((event) => event.fields('state').list('depends'))
        .map((dependency) => dependency.has('near'));
      for (const near of [true, false]) expect(kinds.filter((kind) => kind === near).length).toBeGreaterThan(100);
    },
  );
});

describe('the files', () => {
  it('the files have the same bytes for the same seed', () => {
    expect(generate(DEFAULTS)).toEqual(files);
  });

  it('the files differ for another seed', () => {
    const others = generate({ seed: DEFAULTS.seed + 1, sequences: 2 });
    for (const { name, text } of others.filter((file) => file.name.startsWith('sessions-')))
      expect(textOf(name)).not.toContain(text.split('\n')[1]);
  });

  it('the files begin with the same sequences for any number of sequences', () => {
    const [few] = generate({ ...DEFAULTS, sequences: 2 });
    expect(textOf('sessions-paris.json').split('\n').slice(0, 2)).toEqual(few?.text.split('\n').slice(0, 2));
  });

  it('the files are named in the manifest, with their digests', () => {
    const manifest = JSON.parse(textOf('manifest.json')) as { files: Record<string, string> };
    const others = files.map(({ name }) => name).filter((name) => name !== 'manifest.json');
    expect(Object.keys(manifest.files)).toEqual(others);
    for (const digest of Object.values(manifest.files)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('a difference', () => {
  const { session: rules } = TRANSACTION_PROTOCOLS.paris;
  class WithoutStable extends Session {
    override stable(): void {}
  }

  it('a difference is found, with the first event that differs', () => {
    const file = sessionsOf('paris');
    const differences = replay(
      file,
      (sequence) => new TransactionPlayer((id, state) => new WithoutStable(id, rules, state), sequence),
    );
    expect(differences.length).toBeGreaterThan(100);
    const [first] = differences;
    const sequence = file.sequences.find(({ name }) => name === first?.sequence);
    expect(sequence?.events[first?.event ?? 0]?.text('do')).toBe('stable');
    expect(first).toMatchObject({ what: 'state', expected: expect.anything(), got: expect.anything() });
  });

  it('a refusal of an unknown kind is not reported as a difference', () => {
    class Broken extends Session {
      override observe(): void {
        throw new InvariantViolation('something else');
      }
    }
    const open = (id: string, state?: SessionState) => new Broken(id, rules, state);
    const replayed = () => replay(sessionsOf('paris'), (sequence) => new TransactionPlayer(open, sequence));
    expect(replayed).toThrow('something else');
  });
});
