import { IsochronError } from '@isochron/core';
import { checkExposure, type Exposure, PORTS, type Port } from './exposure.js';

const OPEN = '0.0.0.0';
const PROTECTED: Exposure = {
  api: { host: OPEN, encrypted: true, authenticated: true },
  peer: { host: OPEN, encrypted: true },
  metrics: { host: '127.0.0.1' },
};

function refusal(exposure: Partial<Exposure>, ...insecure: Port[]): string | undefined {
  try {
    checkExposure({ ...PROTECTED, ...exposure }, new Set(insecure));
    return undefined;
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
}

describe('the ports of a node', () => {
  it('ports with TLS and keys listen anywhere', () => {
    expect(refusal({})).toBeUndefined();
  });

  it.each(['127.0.0.1', 'localhost', '::1'])('ports without TLS and keys listen on loopback: %s', (host) => {
    const api = { host, encrypted: false, authenticated: false };
    expect(refusal({ api, peer: { host, encrypted: false }, metrics: { host } })).toBeUndefined();
  });

  it.each<[Port, Partial<Exposure>, string]>([
    [
      'api',
      { api: { host: OPEN, encrypted: true, authenticated: false } },
      'without keys the API listens on loopback only',
    ],
    [
      'api',
      { api: { host: OPEN, encrypted: false, authenticated: true } },
      'without TLS the API listens on loopback only',
    ],
    [
      'peer',
      { peer: { host: '10.0.0.1', encrypted: false } },
      'without TLS a node listens for its peers on loopback only',
    ],
    ['metrics', { metrics: { host: OPEN } }, 'metrics listen on loopback only'],
  ])(
    'an unprotected port listens on loopback only, unless it is named with --insecure: %s %j',
    (port, exposure, reason) => {
      const others = PORTS.filter((other) => other !== port);
      expect(refusal(exposure)).toContain(reason);
      expect(refusal(exposure, ...others)).toContain(`or --insecure ${port} if nothing else reaches it`);
      expect(refusal(exposure, port)).toBeUndefined();
    },
  );
});
