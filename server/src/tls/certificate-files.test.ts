import { readFileSync } from 'node:fs';
import { IsochronError } from '@isochron/core';
import { TestAuthority } from '../../testing/certificates.js';
import { type CertificateChecks, type CertificateFiles, readCertificates } from './certificate-files.js';

const URI = 'isochron://shop/node/a-1';

let authority: TestAuthority;
let other: TestAuthority;
beforeAll(async () => {
  [authority, other] = [await TestAuthority.make(), await TestAuthority.make()];
});
afterAll(() => {
  for (const one of [authority, other]) one.dispose();
});

function refusal(files: CertificateFiles, checks: Partial<CertificateChecks> = {}): string {
  try {
    readCertificates(files, { now: Date.now, ...checks });
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'CERTIFICATE_INVALID') return error.message;
    throw error;
  }
  throw new Error('the files were accepted');
}

describe('files of certificates', () => {
  it('a certificate with its key and authority is accepted, with its end', async () => {
    const files = { ...(await authority.issue('good', { uris: [URI] })), ca: authority.folder.authorityFile };
    const set = readCertificates(files, { now: Date.now, uri: URI });
    expect(set).toMatchObject({ cert: readFileSync(files.cert, 'utf8'), ca: authority.pem });
    expect(set.expiresAt - Date.now()).toBeGreaterThan(29 * 86_400_000);
  });

  it('two authorities are accepted while one replaces the other', async () => {
    const files = await authority.issue('two');
    const ca = authority.write('both.pem', other.pem + authority.pem);
    expect(readCertificates({ ...files, ca }, { now: Date.now }).ca).toBe(other.pem + authority.pem);
  });

  it('an expired certificate is refused with the day of its end', async () => {
    expect(refusal(await authority.issue('expired', { days: [-9, -1] }))).toMatch(
      /expired\.pem expired on \d{4}-\d\d-\d\d: renew it$/,
    );
  });

  it('a certificate that is not valid yet is refused with the day of its beginning', async () => {
    expect(refusal(await authority.issue('early', { days: [2, 9] }))).toMatch(
      /early\.pem is not valid before \d{4}-\d\d-\d\d: check the clock of this machine$/,
    );
  });

  it('the certificate of another node is refused with both names', async () => {
    const files = await authority.issue('foreign', { uris: ['isochron://shop/node/b-1'] });
    expect(refusal(files, { uri: URI })).toMatch(/names isochron:\/\/shop\/node\/b-1, and has to name isochron:.*a-1$/);
    expect(refusal(await authority.issue('none'), { uri: URI })).toMatch(/names no node, and has to name isochron:/);
  });

  it('a certificate of another authority than that of the peers is refused', async () => {
    const files = await other.issue('stranger');
    expect(refusal({ ...files, ca: authority.folder.authorityFile })).toMatch(
      /stranger\.pem was not issued by an authority in .*ca\.pem$/,
    );
  });

  it('a key that is not that of the certificate is refused', async () => {
    const [{ cert }, { key }] = [await authority.issue('one'), await authority.issue('another')];
    expect(refusal({ cert, key })).toMatch(
      /^the key in .*another-key\.pem is not that of the certificate in .*one\.pem$/,
    );
  });

  it('a file that cannot be read is refused with its name and the reason', async () => {
    const files = await authority.issue('readable');
    expect(refusal({ ...files, key: '/nowhere/key.pem' })).toBe('/nowhere/key.pem cannot be read (ENOENT)');
    expect(refusal({ ...files, cert: authority.folder.path })).toMatch(/cannot be read \(EISDIR\)$/);
  });

  it('a file of another kind is refused, and a key in place of a certificate is named', async () => {
    const { cert, key } = await authority.issue('mixed');
    expect(refusal({ cert: key, key: cert })).toMatch(/mixed-key\.pem holds a private key, and no certificate: name/);
    expect(refusal({ cert, key: cert })).toMatch(/mixed\.pem holds no private key in PEM form without a passphrase$/);
    const text = authority.write('text.pem', 'hello');
    expect(refusal({ cert: text, key })).toMatch(/text\.pem holds no certificate in PEM form: name the file/);
    const damaged = authority.write('damaged.pem', readFileSync(cert, 'utf8').replace(/[A-Za-z]{20}/, 'A'));
    expect(refusal({ cert: damaged, key })).toMatch(/damaged\.pem holds a damaged certificate$/);
  });

  it('a certificate that is no authority is refused as one', async () => {
    const files = await authority.issue('leaf');
    expect(refusal({ ...files, ca: files.cert })).toMatch(
      /leaf\.pem holds a certificate that is no authority \(CN=leaf\)$/,
    );
  });

  it('an authority whose time is over is refused', async () => {
    const files = { ...(await authority.issue('late', { days: [0, 9000] })), ca: authority.folder.authorityFile };
    expect(refusal(files, { now: () => Date.now() + 4000 * 86_400_000 })).toMatch(
      /^no certificate authority in .*ca\.pem is valid now$/,
    );
  });
});
