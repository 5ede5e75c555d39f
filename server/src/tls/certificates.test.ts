import { copyFileSync, readFileSync } from 'node:fs';
import { TestAuthority } from '../../testing/certificates.js';
import type { CertificateFiles } from './certificate-files.js';
import { Certificates } from './certificates.js';

const POLL_MS = 10;

let authority: TestAuthority;
let files: CertificateFiles;
let certificates: Certificates;
const lines: string[] = [];
const logger = {
  info: (_fields: object, message: string) => lines.push(`info ${message}`),
  error: (_fields: object, message: string) => lines.push(`error ${message}`),
};
beforeEach(async () => {
  authority = await TestAuthority.make();
  files = await authority.issue('api');
  lines.length = 0;
  certificates = new Certificates('api', files, { now: Date.now }, logger as never);
});
afterEach(() => {
  certificates.close();
  authority.dispose();
});

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  expect(condition()).toBe(true);
}

describe('certificates that follow their files', () => {
  it('changed files are in use soon, without a restart', async () => {
    const seen: string[] = [];
    certificates.onChange(({ cert }) => seen.push(cert));
    certificates.watch(POLL_MS);
    await until(() => true);
    await authority.issue('api');
    await until(() => certificates.counts.reloads === 1);
    const cert = readFileSync(files.cert, 'utf8');
    expect([certificates.current.cert, seen]).toEqual([cert, [cert]]);
    expect(lines).toEqual(['info the certificates have changed: new connections use them']);
  });

  it('a bad new pair is refused with an error in the log and a count, and the old one stays in use', async () => {
    const before = certificates.current;
    const another = await authority.issue('another');
    copyFileSync(another.key, files.key);
    certificates.reload();
    expect(certificates.current).toBe(before);
    expect(certificates.counts).toEqual({ failures: 1, reloads: 0 });
    expect(lines).toEqual(['error the changed certificates are refused; the former ones stay in use']);
    copyFileSync(another.cert, files.cert);
    certificates.reload();
    expect(certificates.counts).toEqual({ failures: 1, reloads: 1 });
  });
});
