import { foldedVersion, loggedTx, version } from './fields.js';

const written = { ts: 100, txId: 'tx', region: 'virginia', value: '1' };
const tx = { txId: 'tx', writes: [{ key: 'default/a', value: '1' }] };

describe('the fields of versions and logged transactions', () => {
  it('a late write travels with its first timestamp, and any other without an element for it (F9)', () => {
    for (const kind of [version, foldedVersion]) {
      expect(kind.decode(kind.encode({ ...written, at: 20 }))).toMatchObject({ at: 20 });
      expect(kind.encode({ ...written, at: undefined })).toEqual([100, 'tx', 'virginia', '1']);
    }
    expect(loggedTx.decode(loggedTx.encode({ ...tx, at: 20 }))).toMatchObject({ at: 20 });
    expect(loggedTx.encode({ ...tx, at: undefined })).toEqual(['tx', [['default/a', '1']]]);
  });
});
