import { ANONYMOUS_PRINCIPAL, type Principal, packWall } from '@isochron/core';
import { Policy, type RuleSource, type Verb } from './policy.js';

const KEYSPACES = ['albums', 'default'];
const AT = packWall(1_800_000_000_000);
const principalOf = (id: string, roles: Principal['roles'] = ANONYMOUS_PRINCIPAL.roles): Principal => ({
  id,
  roles,
  claims: { team: 'blue', level: 3 },
  expiresAt: null,
});

const policyOf = (...rules: Partial<RuleSource>[]): Policy =>
  new Policy(
    rules.map((rule, i) => ({ name: `rule-${i}`, match: 'albums/{album}', allow: ['get'], ...rule })),
    KEYSPACES,
  );

interface Ask {
  readonly verb?: Verb;
  readonly key?: string;
  readonly by?: string;
  readonly document?: unknown;
  readonly incoming?: unknown;
  readonly others?: Readonly<Record<string, unknown>>;
  readonly roles?: Principal['roles'];
}

const textOf = (value: unknown): string | null => (value == null ? null : JSON.stringify(value));

function verdictOf(policy: Policy, { verb = 'get', key = 'albums/7', by = 'ann', others = {}, ...ask }: Ask) {
  const documents = new Map(Object.entries(others).map(([name, value]) => [name, textOf(value)]));
  const question = {
    verb,
    key,
    principal: principalOf(by, ask.roles),
    at: AT,
    document: textOf(ask.document),
    incoming: textOf(ask.incoming),
  };
  return policy.judge(question, documents);
}

const allows = (when: string, ask: Ask = {}): boolean => verdictOf(policyOf({ when }), ask).kind === 'allowed';

/** The fault of a rule. */
function faultOf(rule: Partial<RuleSource>): string {
  try {
    policyOf(rule);
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
}

it('a key whose entry in the file has changed is judged by its present roles and claims', () => {
  const rule = { name: 'team', match: 'docs/{doc}', allow: ['get'] as const, when: "auth.claims.team == 'a'" };
  const policy = new Policy([rule], ['docs']);
  // As the principal of an API key: the same object, with other contents.
  const principal = { ...ANONYMOUS_PRINCIPAL, claims: { team: 'a' } };
  const ask = () => {
    const question = { verb: 'get' as const, key: 'docs/1', document: null, incoming: null, principal, at: 1 };
    return policy.judge(question, { get: () => null }).kind;
  };
  expect(ask()).toBe('allowed');
  principal.claims = { team: 'b' };
  expect(ask()).toBe('refused');
});

describe('access rules', () => {
  it('without a rule that allows it, an operation is refused, and names no rule (AR5)', () => {
    expect(verdictOf(policyOf(), {})).toEqual({ kind: 'refused', rule: null });
    expect(verdictOf(policyOf({ allow: ['get'] }), { verb: 'create' })).toEqual({ kind: 'refused', rule: null });
    expect(verdictOf(policyOf({ match: 'default/{x}' }), {})).toEqual({ kind: 'refused', rule: null });
  });

  it('any rule that allows an operation suffices; a refusal names the last one that could have', () => {
    const policy = policyOf({ when: "auth.id == 'bob'" }, { when: "auth.id == 'cid'" });
    expect(verdictOf(policy, { by: 'cid' })).toMatchObject({ kind: 'allowed', rule: 'rule-1' });
    expect(verdictOf(policy, {})).toEqual({ kind: 'refused', rule: 'rule-1' });
  });

  it('the refusal of a write names the last rule that allows to create or to update the document (AR5)', () => {
    const [creates, updates] = [{ allow: ['create'] }, { allow: ['update'] }] as const;
    const named = (...rules: Partial<RuleSource>[]) => policyOf(...rules).namedByRefusal('albums/7');
    expect(named(creates, updates)).toBe('rule-1');
    expect(named(updates, creates, { allow: ['delete'] })).toBe('rule-1');
    expect(named(creates, { ...updates, match: 'default/{x}' })).toBe('rule-0');
    expect(named({ allow: ['get'] })).toBeNull();
  });

  it.each<[string, Ask]>([
    ["auth.id == 'ann' && 'writer' in auth.roles && auth.claims.team == 'blue'", {}],
    ["key == 'albums/7' && album == '7'", {}],
    ['document.owner == auth.id', { document: { owner: 'ann' } }],
    ['document == null && incoming.owner == auth.id', { verb: 'get', incoming: { owner: 'ann' } }],
    ['document.count > 2 && document.count == 3 && document.count + 1 == 4', { document: { count: 3 } }],
    ['document.half * 2 == 1 && int(document.half * 4) % 2 == 0', { document: { half: 0.5 } }],
    ["document.tags.exists(tag, tag == 'x') && size(document.tags) == 2", { document: { tags: ['x', 'y'] } }],
    ['has(document.owner) || document == null', {}],
    ['at > 1799999999999', {}],
    ["get('albums/other') == null", { others: { 'albums/other': null } }],
  ])('the condition %s holds', (when, ask) => {
    expect(allows(when, ask)).toBe(true);
  });

  it.each<[string, Ask]>([
    ['document.owner == auth.id', { document: {} }],
    ['document.owner != auth.id', { document: {} }],
    ['document.owner == auth.id', {}],
    ["document.constructor != 'x'", { document: {} }],
    ['document.__proto__ == null', { document: {} }],
    ["document.tags[3] == 'x'", { document: { tags: [] } }],
    ["get('nowhere/7') == null", {}],
    ["get('albums/') == null", {}],
    ['1 / 0 == 1', {}],
  ])('an error in the condition %s allows nothing', (when, ask) => {
    expect(allows(when, ask)).toBe(false);
  });

  it('a rule asks for the documents that it reads, and then judges with them', () => {
    const policy = policyOf({
      match: 'albums/{album}/photos/{photo}',
      when: "auth.id in get('albums/' + album).readers",
    });
    const key = 'albums/7/photos/1';
    expect(verdictOf(policy, { key })).toEqual({ kind: 'needs', keys: ['albums/7'] });
    const readers = (...names: string[]): Ask => ({ key, others: { 'albums/7': { readers: names } } });
    expect(verdictOf(policy, readers('ann'))).toEqual({
      kind: 'allowed',
      rule: 'rule-0',
      read: new Set(['albums/7']),
    });
    expect(verdictOf(policy, readers('bob')).kind).toBe('refused');
    expect(verdictOf(policy, { key, others: { 'albums/7': null } }).kind).toBe('refused');
  });

  it('a document that another one names is asked for in a second round', () => {
    const policy = policyOf({ when: "get('albums/' + get('albums/a').next).open" });
    expect(verdictOf(policy, { others: { 'albums/a': { next: 'b' } } })).toEqual({ kind: 'needs', keys: ['albums/b'] });
    expect(verdictOf(policy, { others: { 'albums/a': { next: 'b' }, 'albums/b': { open: true } } }).kind).toBe(
      'allowed',
    );
  });

  it('a rule that allows without a document does not wait for it', () => {
    expect(allows("get('albums/other').open || auth.id == 'ann'")).toBe(true);
  });

  it('getAfter() asks for a document as get() does, unless the transaction writes it (AR9)', () => {
    const policy = policyOf({ when: "getAfter('albums/a').open && getAfter('albums/b') == null" });
    const question = { verb: 'get' as const, key: 'albums/7', principal: principalOf('ann'), at: AT };
    const judged = (documents: Record<string, string | null>, after: Record<string, string | null>) =>
      policy.judge(
        { ...question, document: null, incoming: null },
        new Map(Object.entries(documents)),
        new Map(Object.entries(after)),
      );
    const open = '{"open":true}';
    expect(judged({}, {})).toEqual({ kind: 'needs', keys: ['albums/a', 'albums/b'] });
    expect(judged({}, { 'albums/a': open })).toEqual({ kind: 'needs', keys: ['albums/b'] });
    expect(judged({}, { 'albums/a': open, 'albums/b': null }).kind).toBe('allowed');
    expect(judged({ 'albums/a': open, 'albums/b': open }, { 'albums/b': null }).kind).toBe('allowed');
    expect(judged({ 'albums/a': open, 'albums/b': null }, { 'albums/a': null }).kind).toBe('refused');
  });

  it('rules read ten documents at most for one question (AR6)', () => {
    const gets = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => `get('albums/${from + i}') == null`).join(' && ');
    const others = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`albums/${i}`, null]));
    expect(allows(gets(0, 10), { others })).toBe(true);
    const after = (condition: string) => condition.replaceAll('get(', 'getAfter(');
    expect(allows(after(gets(0, 10)), { others })).toBe(true);
    expect(
      verdictOf(policyOf({ when: `${gets(0, 10)} && false` }, { when: after(gets(10, 1)) }), { others }),
    ).toMatchObject({
      fault: 'rules read 10 documents at most for one question',
    });
    expect(verdictOf(policyOf({ when: `${gets(0, 10)} && false` }, { when: gets(10, 1) }), { others })).toEqual({
      kind: 'refused',
      rule: 'rule-1',
      fault: 'rules read 10 documents at most for one question',
    });
  });

  it('bytes are no value for a rule: one that reads them does not allow, and others may', () => {
    const question = { verb: 'get' as const, key: 'albums/7', principal: principalOf('ann'), at: AT, incoming: null };
    const judged = (...rules: Partial<RuleSource>[]) =>
      policyOf(...rules).judge({ ...question, document: new Uint8Array(2) }, new Map());
    const fault = 'it reads a document that is bytes';
    expect(judged({ when: 'document == null' })).toEqual({ kind: 'refused', rule: 'rule-0', fault });
    expect(judged({ when: 'document == null' }, {})).toMatchObject({ kind: 'allowed', rule: 'rule-1' });
  });

  it('a long document is not compared part by part with long claims (AR6)', () => {
    const policy = policyOf({ when: 'document.list.exists(x, x in auth.claims.teams)' });
    const judged = (items: number, teams: number) =>
      policy.judge(
        {
          verb: 'get',
          key: 'albums/7',
          principal: { ...principalOf('ann'), claims: { teams: Array.from({ length: teams }, (_, i) => i) } },
          at: AT,
          document: JSON.stringify({ list: [...Array(items).fill(-1), 1] }),
          incoming: null,
        },
        new Map(),
      );
    expect([judged(100_000, 10).kind, judged(100, 2_000).kind]).toEqual(['allowed', 'allowed']);
    expect(judged(100_000, 2_000)).toMatchObject({ kind: 'refused', fault: expect.stringContaining('each part') });
  });

  it('a principal needs the role for an operation, whatever the rules allow', () => {
    const policy = policyOf({ allow: ['get', 'create'] });
    const roles = (...names: ('operator' | 'reader' | 'writer')[]) => ({ roles: new Set(names) });
    expect(verdictOf(policy, roles('reader')).kind).toBe('allowed');
    expect(verdictOf(policy, roles('writer')).kind).toBe('allowed');
    expect(verdictOf(policy, roles('operator')).kind).toBe('refused');
    expect(verdictOf(policy, { verb: 'create', ...roles('reader') }).kind).toBe('refused');
    expect(verdictOf(policy, { verb: 'create', ...roles('writer') }).kind).toBe('allowed');
  });
});

describe('patterns', () => {
  const matches = (match: string, key: string) => policyOf({ match }).matches('rule-0', key);

  it('{name} is one segment, and {name=**} all that follow', () => {
    expect(matches('albums/{a}', 'albums/7')).toBe(true);
    expect(matches('albums/{a}', 'albums/7/x')).toBe(false);
    expect(matches('albums/{a}/photos/{p}', 'albums/7/photos/1')).toBe(true);
    expect(matches('albums/{a}/photos/{p}', 'albums/7/other/1')).toBe(false);
    expect(matches('albums/{rest=**}', 'albums/7/x/y')).toBe(true);
    expect(matches('albums/{rest=**}', 'default/7')).toBe(false);
    expect(matches('albums/7', 'albums/7')).toBe(true);
  });

  it.each([
    'albums',
    '{x}/7',
    'albums/{a}/{a}',
    'albums/{rest=**}/x',
    'albums/{A}',
    'albums//x',
    'albums/x*',
    'nowhere/x',
  ])('%s is no pattern of a rule', (match) => {
    expect(faultOf({ match })).not.toBe('none');
  });
});

describe('lists', () => {
  const range = (policy: Policy, prefix: string, others: Record<string, unknown> = {}, level?: number) => {
    const documents = new Map(Object.entries(others).map(([name, value]) => [name, textOf(value)]));
    return policy.judgeRange({ prefix, level, principal: principalOf('ann'), at: AT }, documents).kind;
  };
  const photos = policyOf({
    match: 'albums/{album}/photos/{photo}',
    allow: ['get', 'list'],
    when: "auth.id in get('albums/' + album).readers",
  });

  it('a list of one level is judged by the rules for that level alone', () => {
    const deep = policyOf({ match: 'albums/{rest=**}', allow: ['list'], when: 'rest == ""' });
    const filtered = policyOf({
      match: 'albums/{album}/photos/{photo}',
      allow: ['list'],
      when: 'document.public',
      filter: true,
    });
    const albums = policyOf({ match: 'albums/{album}', allow: ['list'] });
    const judged = (policy: Policy) => [undefined, 1, 2, 3].map((level) => range(policy, 'albums/', {}, level));
    expect(judged(filtered)).toEqual(['filtered', 'refused', 'refused', 'filtered']);
    expect(judged(albums)).toEqual(['allowed', 'allowed', 'refused', 'refused']);
    expect(judged(photos)).toEqual(['refused', 'refused', 'refused', 'refused']);
    expect(judged(deep)).toEqual(['refused', 'refused', 'refused', 'refused']);
  });

  it('a list is judged for its range, by the captures that all of its keys share', () => {
    expect(range(photos, 'albums/7/photos/')).toBe('needs');
    expect(range(photos, 'albums/7/photos/', { 'albums/7': { readers: ['ann'] } })).toBe('allowed');
    expect(range(photos, 'albums/7/photos/', { 'albums/7': { readers: [] } })).toBe('refused');
    expect(range(photos, 'albums/7/photos/2026', { 'albums/7': { readers: ['ann'] } })).toBe('allowed');
  });

  it.each([
    'albums/',
    'albums/7',
    'albums/7/',
    'albums/7/photos',
    'albums/7/photos/1/x',
    'albums/7/other/',
    'default/',
  ])('a rule does not allow the list of %s, where keys differ in more than its last capture', (prefix) => {
    const others = { 'albums/7': { readers: ['ann'] }, 'albums/': { readers: ['ann'] } };
    expect(range(photos, prefix, others)).toBe('refused');
  });

  it('a condition that needs the last capture does not hold for a range', () => {
    expect(range(policyOf({ allow: ['list'], when: "album == '7'" }), 'albums/')).toBe('refused');
  });

  it('a condition that needs the key does not hold for a range, whose keys differ in it', () => {
    const policy = policyOf({ allow: ['get', 'list'], when: "!key.startsWith('albums/secret')" });
    expect(range(policy, 'albums/')).toBe('refused');
    expect(verdictOf(policy, {}).kind).toBe('allowed');
  });

  it('a filter judges each document of a list', () => {
    const policy = policyOf({ allow: ['list'], when: 'document.owner == auth.id', filter: true });
    expect(range(policy, 'albums/')).toBe('filtered');
    expect(range(policy, 'default/')).toBe('refused');
    expect([range(policy, 'albums/7'), range(policy, 'albums/7/photos/')]).toEqual(['filtered', 'refused']);
    expect(verdictOf(policy, { verb: 'list', document: { owner: 'ann' } }).kind).toBe('allowed');
    expect(verdictOf(policy, { verb: 'list', document: { owner: 'bob' } }).kind).toBe('refused');
    // A rule without a filter is about whole ranges.
    expect(verdictOf(policyOf({ allow: ['list'] }), { verb: 'list', document: {} }).kind).toBe('refused');
  });
});

describe('rules that cannot be used', () => {
  it.each<[string, Partial<RuleSource>]>([
    ['does not parse', { when: 'auth.id ==' }],
    ['names what is not there', { when: 'foo == 1' }],
    ['is not true or false', { when: "'text'" }],
    ['calls a function that there is not', { when: "exec('x')" }],
    ['has a regular expression', { when: "auth.id.matches('(a+)+$')" }],
    ['binds a name', { when: 'cel.bind(x, auth.roles, size(x) > 1)' }],
    ['has a macro inside of a macro', { when: 'auth.roles.all(a, auth.roles.all(b, a == b))' }],
    ['doubles a value with each map', { when: "['a'].map(x, x + x).map(y, y + y).size() == 1" }],
    ['maps within the list of a map', { when: '[[1].map(x, [x, x])].map(y, [y, y]).size() == 1' }],
    ['searches a document for a document', { when: 'document.text.contains(document.part)' }],
    ['searches a document for another one', { when: "document.text.contains(get('albums/x').part)" }],
    ['searches for each item', { when: "document.list.exists(x, 'aaa'.contains(x))" }],
    ['splits a document by a document', { when: 'size(document.text.split(document.part)) > 1' }],
    ['hides the principal behind an item', { when: "document.list.exists(auth, 'aaa'.contains(auth))" }],
    ['reads a document for each item', { when: "document.list.all(x, get('albums/' + x) == null)" }],
    ['searches a document for each item', { when: 'document.list.all(x, x in document.list)' }],
    [
      'reads a document of the transaction for each item',
      { when: "document.list.all(x, getAfter('albums/' + x) == null)" },
    ],
    [
      'reads eleven documents, some as they will be',
      { when: Array.from({ length: 11 }, (_, i) => `get${i % 2 ? 'After' : ''}('albums/x') == null`).join(' || ') },
    ],
    ['reads eleven documents', { when: Array.from({ length: 11 }, () => "get('albums/x') == null").join(' || ') }],
    ['is far too long', { when: `${'true && '.repeat(300)}true` }],
    ['has too many parts', { when: `${'1 + '.repeat(450)}1 == 0` }],
    ['is nested too deeply', { when: `${'('.repeat(100)}true${')'.repeat(100)}` }],
  ])('a rule whose condition %s is refused', (_what, rule) => {
    expect(faultOf(rule)).not.toBe('none');
  });

  it.each<[string, Partial<RuleSource>]>([
    ['a name of its own', { name: 'Rule One' }],
    ['an operation', { allow: [] }],
    ['a condition under which it filters', { allow: ['list'], filter: true }],
    ['a list to filter', { when: 'document.open', filter: true }],
    ['a filter for the document of a list', { allow: ['list'], when: 'document.open' }],
    ['another name for a capture', { match: 'albums/{auth}', when: 'true' }],
    ['another name for a capture than that of a type', { match: 'albums/{list}', when: 'true' }],
  ])('a rule needs %s', (_what, rule) => {
    expect(faultOf(rule)).not.toBe('none');
  });

  it('two rules have different names', () => {
    expect(() => policyOf({ name: 'one' }, { name: 'one' })).toThrow('the name "one" is taken');
  });
});
