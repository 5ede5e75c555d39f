/** The protocols whose test files run in full. */
import { PROTOCOL_NAMES, type ProtocolName } from '@isochron/protocols/session-rules';
import { commitNumber } from '../commit.js';
import { TIER } from '../tier.js';

const ALWAYS: readonly ProtocolName[] = ['paris', 'contrarian'];
const others = PROTOCOL_NAMES.filter((name) => !ALWAYS.includes(name));
const picked = others[commitNumber() % others.length]!;

/** The protocols that run in the briefest form at least once in every tier. */
export const BRIEF: readonly ProtocolName[] =
  TIER === 'all' ? PROTOCOL_NAMES : others.filter((name) => name !== picked);

/** Whether all tests of a protocol run: always in the tier `all`. Other tiers run them for three protocols. */
export const runsInFull = ({ protocol }: { readonly protocol: ProtocolName }): boolean =>
  TIER === 'all' || ALWAYS.includes(protocol) || protocol === picked;

if (TIER !== 'all') process.stderr.write(`in full: ${[...ALWAYS, picked].join(', ')} (${picked} by the commit)\n`);
