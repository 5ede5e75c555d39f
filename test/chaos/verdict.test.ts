import { checkHistory, parseHistory } from '@isochron/checker';
import { IsochronError } from '@isochron/core';
import { OutcomeUnknownError } from '@isochron/sdk';
import { differences } from './convergence.js';
import { audit, type LedgerEntry } from './ledger.js';
import { summaryOf } from './summary.js';
import { Tally } from './tally.js';
import { auditAll, disputes, EXIT, exitCodeOf, type Report } from './verdict.js';

const entry = (status: LedgerEntry['status'], writes: Record<string, string>): LedgerEntry => ({
  name: Object.keys(writes).join(' '),
  status,
  writes: new Map(Object.entries(writes)),
});
const found = (contents: Record<string, unknown>) => new Map(Object.entries(contents));
const answers = (...statuses: readonly string[]) => new Map([['t', statuses.map((status) => ({ status }))]]);
const WHOLE = { 'ledger/a': 'x', 'ledger/b': 'y' };

describe('the ledger against the contents of a region', () => {
  it.each([
    ['acknowledged and there', entry('committed', WHOLE), WHOLE, []],
    ['acknowledged and gone', entry('committed', WHOLE), {}, ['lost']],
    ['acknowledged and there in part', entry('committed', WHOLE), { 'ledger/b': 'y' }, ['lost']],
    ['acknowledged and there with another value', entry('committed', WHOLE), { ...WHOLE, 'ledger/b': 'z' }, ['alien']],
    ['unknown and there', entry('unknown', WHOLE), WHOLE, []],
    ['unknown and not there', entry('unknown', WHOLE), {}, []],
    ['unknown and there in part', entry('unknown', WHOLE), { 'ledger/a': 'x' }, ['torn']],
    ['aborted and not there', entry('aborted', WHOLE), {}, []],
    ['aborted and there in part', entry('aborted', WHOLE), { 'ledger/a': 'x' }, ['undead']],
    ['never written and there', entry('committed', {}), { 'ledger/c': 'x' }, ['alien']],
    ['outside the ledger', entry('committed', {}), { 'hot/1': 'x' }, []],
  ])('the audit judges an entry that is %s', (_what, status, contents, complaints) => {
    const result = audit([status], found(contents));
    expect((['lost', 'torn', 'undead', 'alien'] as const).filter((kind) => result[kind].length > 0)).toEqual(
      complaints,
    );
  });

  it('the audit counts the final outcomes of unknown transactions', () => {
    const entries = [entry('unknown', { 'ledger/a': 'x' }), entry('unknown', { 'ledger/b': 'y' })];
    expect(audit(entries, found({ 'ledger/a': 'x' })).resolved).toEqual({ committed: 1, aborted: 1 });
  });

  it('an entry of the ledger is looked for in every region', () => {
    const tally = new Tally();
    tally.ledger.push(entry('committed', WHOLE));
    const regions = new Map([
      ['virginia', found(WHOLE)],
      ['oregon', found({ 'ledger/a': 'x' })],
    ]);
    expect(auditAll(tally, regions).lost).toEqual([expect.stringMatching(/^oregon: .*missing: ledger\/b/)]);
    expect(differences(regions)).toEqual(['ledger/b is "y" in virginia, not there in oregon']);
  });
});

describe('outcomes of a transaction, by region', () => {
  it.each([
    [['committed', 'committed', 'committed'], 0],
    [['aborted', 'aborted', 'aborted'], 0],
    [['unknown', 'unknown', 'unknown'], 0],
    [['committed', 'committed', 'aborted'], 1],
    [['committed', 'unknown', 'committed'], 1],
    [['no answer', 'no answer', 'no answer'], 1],
    [['pending', 'pending', 'pending'], 1],
    [['deferred', 'deferred', 'deferred'], 1],
    [['open', 'open', 'open'], 1],
  ])('the outcomes %j of the regions give %d disputes', (statuses, complaints) => {
    expect(disputes(answers(...statuses))).toHaveLength(complaints);
  });
});

describe('outcomes of a transaction against the contents', () => {
  const entries = [{ ...entry('unknown', WHOLE), txId: 't' }];
  it.each([
    ['committed', WHOLE, 0],
    ['committed', {}, 1],
    ['aborted', {}, 0],
    ['unknown', {}, 0],
    ['aborted', WHOLE, 1],
    ['lost', WHOLE, 0],
  ])('the outcome %s and the contents %j give %d disputes', (status, contents, complaints) => {
    expect(disputes(answers(status, status), entries, found(contents))).toHaveLength(complaints);
  });
});

describe('an error that a session meets', () => {
  it('OUTCOME_UNKNOWN leaves the outcome of a transaction unknown, CONNECTION_LOST does not', () => {
    const tally = new Tally();
    expect(tally.failed('c', new OutcomeUnknownError('t', 0, 'no answer'))).toBe('unknown');
    expect(tally.failed('c', new IsochronError('CONNECTION_LOST', 'it was not sent'))).toBe('aborted');
    expect(tally).toMatchObject({
      unexplained: [],
      errors: { OUTCOME_UNKNOWN: 1, CONNECTION_LOST: 1 },
    });
  });

  it('an error that no fault of the run explains is a violation', () => {
    const full = new IsochronError('STORAGE_FULL', 'no room');
    const [without, withFill] = [new Tally(), new Tally(['STORAGE_FULL'])];
    for (const tally of [without, withFill]) tally.failed('c', full);
    expect([without.unexplained, withFill.unexplained]).toEqual([['c met STORAGE_FULL: no room'], []]);
  });

  it("an error that is not the product's ends the run", () => {
    expect(() => new Tally().failed('c', new TypeError('a mistake'))).toThrow('a mistake');
  });
});

const line = (v: string | null) =>
  JSON.stringify({ session: 's', seq: 1, tx: 't1', status: 'committed', ops: [{ f: 'r', k: 'k', v }] });
const WROTE = JSON.stringify({
  session: 's',
  seq: 0,
  tx: 't0',
  status: 'committed',
  ops: [{ f: 'w', k: 'k', v: 'a' }],
});
const verdictOn = (v: string | null) => checkHistory(parseHistory(`${WROTE}\n${line(v)}`));

const report = (changes: Partial<Report> = {}): Report => ({
  scenario: 'storm',
  seed: 1,
  tally: new Tally(),
  faults: { kill: 2 },
  convergence: { at: 1, answeredMs: 234, convergedMs: 1234 },
  contents: new Map(),
  audit: audit([], new Map()),
  differences: [],
  ahead: [],
  disputed: [],
  history: verdictOn('a'),
  failures: [],
  figures: [],
  violations: {},
  ...changes,
});
const never = {
  convergence: undefined,
  notConverged: 'UST stands still',
  contents: undefined,
  audit: undefined,
  differences: undefined,
  ahead: undefined,
  disputed: undefined,
};

describe('the exit code', () => {
  it.each([
    ['nothing is wrong', {}, EXIT.fine],
    ['a write is lost', { audit: audit([entry('committed', WHOLE)], new Map()) }, EXIT.violation],
    [
      'half a transaction is there',
      { audit: audit([entry('unknown', WHOLE)], found({ 'ledger/a': 'x' })) },
      EXIT.violation,
    ],
    ['a node has timestamps from the future', { ahead: ['virginia-1 is at 9'] }, EXIT.violation],
    ['regions differ', { differences: ['k is not the same'] }, EXIT.violation],
    ['an outcome is disputed', { disputed: ['t: committed, aborted'] }, EXIT.violation],
    ['a session lost its own write', { history: verdictOn(null) }, EXIT.violation],
    ['a node ended by itself', { failures: ['a ended by itself'] }, EXIT.violation],
    ['the scenario complains', { violations: { 'local transactions that were refused': ['one'] } }, EXIT.violation],
    ['it did not converge', never, EXIT.notConverged],
    ['it did not converge, and a node ended by itself', { ...never, failures: ['a ended'] }, EXIT.violation],
  ])('the exit code is right when %s', (_what, changes, code) => {
    expect(exitCodeOf(report(changes))).toBe(code);
  });
});

describe('the summary', () => {
  it('the summary shows figures and violations', () => {
    const text = summaryOf(report({ audit: audit([entry('committed', WHOLE)], new Map()) }));
    expect(text).toMatch(/lost acknowledged writes +│ 1 /);
    expect(text).toMatch(/converged after the last fault in +│ 1\.2 s/);
    expect(text).toContain('missing: ledger/a, ledger/b');
  });

  it('the summary shows no zero for a check that did not run', () => {
    const text = summaryOf(report(never));
    expect(text).toMatch(/lost acknowledged writes +│ not looked for/);
    expect(text).toContain('UST stands still');
  });
});
