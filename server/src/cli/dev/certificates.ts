/** The certificates of a development cluster, in its folder. */
import type { CertificateFolder } from '../certs/folder.js';
import type { DevCluster } from './files.js';
import { certificatesIn, type DevOptions, type PlannedNode } from './plan.js';

/** How long they are valid, days; those that end sooner than the least are replaced at a start. */
const VALID_DAYS = 365;
const LEAST_DAYS = 30;

/** Makes the certificates that are missing, are for other names, or end soon; none in a cluster without TLS. */
export async function ensureCertificates({ config, nodes }: DevCluster, { data }: DevOptions): Promise<void> {
  if (!nodes.some(({ tls }) => tls.api || tls.peer)) return;
  const [{ CertificateFolder }, { clusterCertificates }] = await Promise.all([
    import('../certs/folder.js'),
    import('../certs/plan.js'),
  ]);
  const folder: CertificateFolder = new CertificateFolder(certificatesIn(data));
  await folder.ensureAuthority(config.cluster);
  await folder.refresh(clusterCertificates(config, []), VALID_DAYS, LEAST_DAYS);
}

/** The options of a node for its certificates. */
export function certificateOptions({ id, tls }: PlannedNode, { data }: DevOptions): string[] {
  const file = (name: string): string => `${certificatesIn(data)}/${id}/${name}.pem`;
  return [
    ...(tls.api ? ['--tls-cert', file('api'), '--tls-key', file('api-key')] : []),
    ...(tls.peer ? ['--peer-cert', file('peer'), '--peer-key', file('peer-key'), '--peer-ca', file('ca')] : []),
  ];
}
