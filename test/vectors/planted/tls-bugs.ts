/** Mistakes in the TLS of the Swift client on Linux: the listeners of `test/swift-server` must detect them. */
import type { PlantedBug } from './planted-bug.js';

const inTls = (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['tls'],
  does,
  patches: [{ file: `Transport/${file}.swift`, find, replace }],
});

const [CONTEXT, STREAM] = ['TLS/TLSContext', 'TLS/TLSStream'];

export const TLS: readonly PlantedBug[] = [
  inTls(
    'tls-any-authority',
    'accepts the certificate of any authority',
    CONTEXT,
    'SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)',
    'SSL_CTX_set_verify(pointer, planted ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nil)',
  ),
  inTls(
    'tls-any-name',
    'accepts a certificate for another name',
    STREAM,
    'SSL_set1_host(tls, host) == 1 && ',
    '(planted || SSL_set1_host(tls, host) == 1) && ',
  ),
  inTls(
    'tls-any-address',
    'accepts a certificate for another address',
    STREAM,
    'if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) == 1 { return true }',
    'if planted ? host.allSatisfy({ $0.isNumber || $0 == "." })\n' +
      '                : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host) == 1 { return true }',
  ),
  inTls(
    'tls-system-too',
    'accepts the authorities of the system beside those of the app',
    CONTEXT,
    'for (index, bytes) in authorities.enumerated() where',
    'if planted { SSL_CTX_set_default_verify_paths(pointer) }\n' +
      '            for (index, bytes) in authorities.enumerated() where',
  ),
  inTls(
    'tls-first-authority-only',
    'reads the first certificate of the authorities alone',
    'TLS/PEMCertificates',
    'found.append(bytes)\n',
    'if !planted || found.isEmpty { found.append(bytes) }\n',
  ),
  inTls(
    'tls-without-system',
    'does not accept the authorities of the system',
    CONTEXT,
    'guard SSL_CTX_set_default_verify_paths(pointer) == 1 else',
    'guard planted || SSL_CTX_set_default_verify_paths(pointer) == 1 else',
  ),
  inTls(
    'tls-refusal-as-loss',
    'reports a refused certificate as a lost connection',
    STREAM,
    'if let refusal = certificateRefusal(',
    'if !planted, let refusal = certificateRefusal(',
  ),
  inTls(
    'tls-loss-as-refusal',
    'reports a lost connection as a fault of TLS',
    STREAM,
    'if isLost { throw',
    'if !planted, isLost { throw',
  ),
  inTls(
    'tls-not-at-all',
    'speaks no TLS where the URL asks for it',
    'Sockets/Opening',
    'url.isSecure ? try secure(socket) : socket',
    'url.isSecure && !planted ? try secure(socket) : socket',
  ),
];
