/** The parts of the system that CPU time is divided into, and the files of each. */

/** A rule: the first one that matches a file applies. */
interface Rule {
  readonly part: string;
  /** Matches the end of a file's path or URL. */
  readonly files: RegExp;
}

export const COLLECTION = 'collection';
export const NATIVE = 'event loop (native)';
export const OTHER = 'other';

const LOAD_GENERATOR = 'load generator';

const SOCKETS: Rule = {
  part: 'sockets',
  files:
    /^node:(internal\/)?(net|stream|js_stream|_http|http|https|tls|dgram|stream_base|fs\/streams)|\/node_modules\/(ws|msgpackr)\/|\/packages\/(transport|wire)\//,
};
const GLUE: Rule = {
  part: 'glue',
  files: /^node:|\/packages\/core\/|\/packages\/protocols\/|\/server\//,
};

/** Parts of a node. */
export const NODE_PARTS: readonly Rule[] = [
  { part: 'storage', files: /\/packages\/storage\/|\/node_modules\/(classic-level|abstract-level|level[\w-]*)\// },
  { part: 'tokens', files: /\/tokens?(\/|-|\.)|^node:(internal\/)?crypto/ },
  {
    part: 'session frames',
    files: /\/packages\/sessions\/|\/server\/dist\/(ws|session)\/|\/packages\/wire\/dist\/session-/,
  },
  SOCKETS,
  { part: 'replication and stabilisation', files: /\/kernel\/replication\/|\/transactions\/replica\./ },
  {
    part: 'cohort',
    files:
      /\/transactions\/(cohort|two-phase-commit|prepared-queue|committed-queue|recent-outcomes|resolution|repeats|refusals|suspects|settlement)\./,
  },
  { part: 'coordinator and reads', files: /\/kernel\/transactions\/|\/protocols\/dist\/paris\// },
  GLUE,
];

/** Parts of a client: the SDK and its load generator. */
export const CLIENT_PARTS: readonly Rule[] = [
  { part: LOAD_GENERATOR, files: /\/test\/dist\/|\/packages\/workload\/|hdr-histogram/ },
  { part: 'session machine', files: /\/packages\/client\/|\/packages\/protocols\/|\/packages\/core\// },
  { part: 'SDK', files: /\/sdk-js\// },
  SOCKETS,
  { part: 'glue', files: /^node:/ },
];

/** All possible parts of a thread's time, in order. */
export const allParts = (rules: readonly Rule[]): string[] => [
  ...rules.map(({ part }) => part),
  NATIVE,
  COLLECTION,
  OTHER,
];

/** @param url of a file, as V8 names it */
export const partOf = (rules: readonly Rule[], url: string): string =>
  rules.find(({ files }) => files.test(url))?.part ?? OTHER;
