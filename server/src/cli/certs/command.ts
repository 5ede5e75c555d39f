/** `isochron certs`: a certificate authority, and the certificates of a cluster. */
import { readFileSync } from 'node:fs';
import { parseClusterFile } from '../../config/cluster-file.js';
import { ReportedFailure, UsageError } from '../failures.js';
import { print, remark } from '../output.js';
import { CertificateFolder } from './folder.js';
import { apiCertificate, clusterCertificates } from './plan.js';

/** Options of all of its commands. */
export interface FolderOptions {
  /** Folder of the authority and the certificates. */
  readonly out: string;
}

export interface CreateOptions extends FolderOptions {
  /** Cluster file. */
  readonly config?: string;
  /** Further host names and addresses of the API. */
  readonly host: readonly string[];
  /** How long the certificates are valid. */
  readonly days: number;
}

/** Makes an authority where there is none, and the certificates that are missing. Overwrites nothing. */
export async function runCreate({ out, config: file, host, days }: CreateOptions): Promise<void> {
  if (file === undefined && host.length === 0) throw new UsageError('give --config FILE, or --host NAME, or both');
  const config = file === undefined ? undefined : parseClusterFile(readFileSync(file, 'utf8'), file);
  const planned = config === undefined ? apiCertificate(host) : clusterCertificates(config, host);
  const folder = new CertificateFolder(out);
  await folder.ensureAuthority(config?.cluster ?? host[0]!);
  const made = await folder.issueMissing(planned, days);
  if (made.length === 0) {
    throw new ReportedFailure(
      `CERTIFICATE_INVALID: ${out} has all of these certificates, and none is overwritten: isochron certs renew replaces them`,
    );
  }
  for (const { name } of planned) print(`${made.includes(name) ? 'made' : 'kept'} ${folder.filesOf(name).cert}`);
  remark(`Clients accept ${folder.authorityFile}. Keep ca-key.pem away from the nodes.`);
}

/** Replaces all certificates, for the same names. */
export async function runRenew({ out, days }: FolderOptions & { readonly days: number }): Promise<void> {
  const folder = new CertificateFolder(out);
  for (const name of await folder.renew(days)) print(`renewed ${folder.filesOf(name).cert}`);
}

export async function runNewAuthority({ out }: FolderOptions): Promise<void> {
  const folder = new CertificateFolder(out);
  await folder.newAuthority();
  print(`made a new authority; ${folder.authorityFile} has both`);
  remark('Once nodes and clients have this file, renew the certificates.');
}

export function runDropAuthority({ out }: FolderOptions): void {
  const folder = new CertificateFolder(out);
  folder.dropAuthority();
  print(`dropped the former authority; ${folder.authorityFile} has the new one alone`);
}
