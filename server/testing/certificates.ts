/** Certificates for tests, in a folder of their own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validFor } from '../src/cli/certs/authority.js';
import { CertificateFolder } from '../src/cli/certs/folder.js';
import type { CertificateFiles } from '../src/tls/certificate-files.js';

/** Differences of a certificate from one that every machine accepts. */
export interface CertificateOptions {
  readonly hosts?: readonly string[];
  readonly uris?: readonly string[];
  readonly client?: boolean;
  /** When it begins and ends, in days from now. */
  readonly days?: readonly [from: number, to: number];
}

const DAY_MS = 86_400_000;

/** An authority, and certificates that it issues. */
export class TestAuthority {
  readonly folder: CertificateFolder;

  private constructor() {
    this.folder = new CertificateFolder(mkdtempSync(join(tmpdir(), 'isochron-certs-')));
  }

  static async make(): Promise<TestAuthority> {
    const authority = new TestAuthority();
    await authority.folder.ensureAuthority('tests');
    return authority;
  }

  /** The authority's own certificate. */
  get pem(): string {
    return readFileSync(this.folder.authorityFile, 'utf8');
  }

  /** Issues a certificate, over the files of the name. */
  async issue(name: string, options: CertificateOptions = {}): Promise<CertificateFiles> {
    const { hosts = ['localhost', '127.0.0.1'], uris = [], client = false, days: [from, to] = [0, 30] } = options;
    const start = validFor(0, Date.now() + from * DAY_MS).from;
    const request = { commonName: name, hosts, uris, client };
    await this.folder.replace({ name, request }, { from: start, to: Date.now() + to * DAY_MS });
    return this.folder.filesOf(name);
  }

  /** Writes a file of its own. Returns its path. */
  write(name: string, text: string): string {
    const path = join(this.folder.path, name);
    writeFileSync(path, text);
    return path;
  }

  dispose(): void {
    rmSync(this.folder.path, { recursive: true, force: true });
  }
}
