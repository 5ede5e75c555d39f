/** Fields for clients that keep data: lists of documents that they know, and for whom they were welcomed. */
import { ANONYMOUS_PRINCIPAL, type Principal } from '@isochron/core';
import { TestNode, UST } from '@isochron/testing/sessions/served-node';

let node: TestNode;
beforeEach(() => {
  node = new TestNode();
});

describe('a list of what is known', () => {
  const versionOf = (ts: number, value: string) => ({ ts, txId: 't', region: 'p', value });
  const OLD = { key: 'default/a', version: versionOf(UST - 20, '{"old":1}') };
  const NEW = { key: 'default/b', version: versionOf(UST - 10, '{"new":1}') };

  function list(fields: object, entries = [OLD, NEW]) {
    const { link, connection } = node.greeted();
    connection.receive({ type: 'list', id: 1, keyspace: 'default', ...fields });
    const asked = node.posted.at(-1);
    if (asked?.type === 'ListReq')
      node.answer({ type: 'ListResp', ref: asked.ref, snapshot: UST, entries, next: null });
    return link.frames;
  }

  it('a document at or below "known" comes as key and timestamp, a later one with its value (LQ8)', () => {
    const later = ['b', UST - 10, '{"new":1}'];
    expect(list({ known: UST - 11 })).toMatchObject([{ type: 'listed', entries: [['a', UST - 20], later] }]);
    expect(list({ known: UST - 20 })).toMatchObject([{ entries: [['a', UST - 20], later] }]);
    expect(list({ known: UST })).toMatchObject([
      {
        entries: [
          ['a', UST - 20],
          ['b', UST - 10],
        ],
      },
    ]);
  });

  it('without "known", and below all documents, a list has all values (LQ8)', () => {
    const whole = [
      ['a', UST - 20, '{"old":1}'],
      ['b', UST - 10, '{"new":1}'],
    ];
    for (const fields of [{}, { known: null }, { known: UST - 21 }])
      expect(list(fields)).toMatchObject([{ entries: whole }]);
  });

  it('what is known does not count towards the bytes of a page (LQ8)', () => {
    const large = Array.from({ length: 9 }, (_, i) => ({
      key: `default/${i}`,
      version: versionOf(UST - 9 + i, JSON.stringify('x'.repeat(990))),
    }));
    const [whole] = list({}, large);
    expect(whole).toMatchObject({ type: 'listed', next: expect.any(String) });
    expect(list({ known: UST }, large)).toMatchObject([{ entries: { length: 9 }, next: null }]);
  });

  it('"known" is a timestamp that is not of the future, or the list is refused', () => {
    const codes = [{ known: 'x' }, { known: -1 }, { known: 1.5 }, { known: UST + 2 ** 40 }].map((fields) =>
      list(fields),
    );
    expect(codes).toMatchObject([
      [{ type: 'error', code: 'INVALID_REQUEST', detail: expect.stringContaining('known') }],
      [{ code: 'INVALID_REQUEST' }],
      [{ code: 'INVALID_REQUEST' }],
      [{ code: 'TIMESTAMP_IN_FUTURE', detail: expect.stringContaining('known') }],
    ]);
    expect(node.posted).toEqual([]);
  });
});

describe('the principal in the welcome', () => {
  function welcomed(id: string, expiresAt: number | null = null): unknown {
    const principal: Principal = { ...ANONYMOUS_PRINCIPAL, id, expiresAt };
    node.authenticate = (_credentials, done) => done(principal);
    const { link, connection } = node.connect();
    connection.receive({ type: 'hello', credentials: 'x' });
    const [welcome] = link.frames;
    return welcome?.type === 'welcome' ? welcome.principal : welcome;
  }

  it('the digest is that of the user on every connection and node, whatever the credentials are (U5)', () => {
    const first = welcomed('https://idp.example#ann');
    expect(first).toMatch(/^[A-Za-z0-9_-]{22}$/);
    const again = welcomed('https://idp.example#ann', node.nowMs + 1_000);
    node = new TestNode();
    expect([again, welcomed('https://idp.example#ann')]).toEqual([first, first]);
  });

  it('another user has another digest, and none has the id in it (U5)', () => {
    const digests = ['key:shop', 'key:shop2', 'https://idp.example#ann'].map((id) => String(welcomed(id)));
    expect(new Set(digests).size).toBe(3);
    for (const digest of digests) expect(digest).not.toMatch(/ann|shop|key/);
  });

  it('a cluster that requires no credentials names no principal (U5)', () => {
    expect(welcomed(ANONYMOUS_PRINCIPAL.id)).toBeUndefined();
  });
});
