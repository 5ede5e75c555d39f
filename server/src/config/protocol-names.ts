/** Protocols that a cluster file may name. What each of them is, `node/protocols.ts` knows: this list costs nothing to load. */
export const PROTOCOLS = [
  'paris',
  'bpr',
  'nocc',
  'wren',
  'cure',
  'h-cure',
  'contrarian',
  'okapi',
  'gentlerain',
  'eventual',
  'orbe',
  'orbe-clock',
  'orbe-cleaning',
  'cops-gt',
  'cc-lo',
] as const;

export type ProtocolName = (typeof PROTOCOLS)[number];

/** What a cluster runs when nobody says otherwise. */
export const DEFAULT_PROTOCOL: ProtocolName = 'paris';

/** Whether a text from outside names a protocol. */
export const isProtocolName = (name: string): name is ProtocolName => (PROTOCOLS as readonly string[]).includes(name);
