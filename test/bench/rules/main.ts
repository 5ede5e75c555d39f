/**
 * `npm run bench:rules`: the cost of access rules for a read, as the difference to the same read without rules. CPU
 * time of the thread, so that other processes do not count; rounds are interleaved.
 */
import { ANONYMOUS_PRINCIPAL, type Timestamp, type Version } from '@isochron/core';
import type { ReadResp } from '@isochron/protocols';
import {
  type CoordinatorAnswer,
  type CoordinatorPort,
  type CoordinatorRequest,
  type CoordinatorRequests,
  type CoordinatorRequestType,
  type Done,
  JudgedCoordinator,
  ListPlaces,
  Policy,
  type RequestHandler,
  type RequestHandlers,
} from '@isochron/sessions';
import { Command } from 'commander';
import { mainThreadMs } from '../costs/cpu-clock.js';
import { machineOf } from '../report.js';

const PHOTO = 'default/photos/7/1';
const ALBUM = 'default/albums/7';
const DOCUMENTS: Readonly<Record<string, object>> = {
  [PHOTO]: { owner: 'anonymous', title: 'A photo', taken: '2026-05-01', tags: ['sea', 'sun'] },
  [ALBUM]: { owner: 'ann', readers: ['bob', 'cid', 'dan', 'anonymous'] },
};

/** The rows, in the order of the report: no file of rules, one without a rule, and rules with conditions. */
const CONDITIONS: ReadonlyMap<string, string | undefined | null> = new Map([
  ['a read without rules', undefined],
  ['a file without a rule', null],
  ['a rule without get', "document.owner == auth.id && 'reader' in auth.roles"],
  ['a rule with one get', "auth.id in get('default/albums/' + album).readers"],
]);

/** Answers every read at once: what remains is the cost of the rules. */
function immediatePort(): CoordinatorPort {
  const versions = new Map<string, Version>();
  for (const [key, value] of Object.entries(DOCUMENTS))
    versions.set(key, { ts: 1, txId: 't', region: 'r', value: JSON.stringify(value) });
  const reads: Partial<RequestHandlers<CoordinatorRequests>> = {
    ReadReq: ({ keys }, done) => {
      const found = keys.map((key) => versions.get(key) ?? null);
      done({ type: 'ReadResp', ref: 0, snapshot: 1, versions: found });
    },
  };
  return {
    ask: <T extends CoordinatorRequestType>(request: CoordinatorRequest<T>, done: Done<CoordinatorAnswer<T>>) => {
      const read: RequestHandler<CoordinatorRequests, T> | undefined = reads[request.type];
      if (read === undefined) throw new Error('this benchmark reads only');
      read(request, done);
    },
  };
}

function coordinatorOf(when: string | undefined | null): CoordinatorPort {
  const port = immediatePort();
  if (when === undefined) return port;
  const rule = when !== null && { name: 'one', match: 'default/photos/{album}/{photo}', allow: ['get' as const], when };
  const session = {
    principal: ANONYMOUS_PRINCIPAL,
    hwt: 0,
    now: () => 0,
    places: new ListPlaces(['secret'], 'cluster'),
    visible: (ts: Timestamp, done: (stable: Timestamp) => void) => done(ts),
  };
  return new JudgedCoordinator(
    port,
    { policy: rule ? new Policy([rule], ['default']) : undefined, refused: () => undefined },
    session,
  );
}

/** CPU time of a read, µs. @throws Error if the rules refuse it */
function readUs(coordinator: CoordinatorPort, reads: number): number {
  let answers = 0;
  const done = (result: ReadResp | Error) => {
    if (!(result instanceof Error)) answers++;
  };
  const request = { type: 'ReadReq', txId: null, ust: 0, at: null, keys: [PHOTO] } as const;
  const began = mainThreadMs();
  for (let i = 0; i < reads; i++) coordinator.ask(request, done);
  const us = ((mainThreadMs() - began) * 1_000) / reads;
  if (answers !== reads) throw new Error(`${reads - answers} of ${reads} reads were refused`);
  return us;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

const program = new Command('bench:rules')
  .description('Measures what access rules add to a read: without get, and with one.')
  .option('--rounds <n>', 'interleaved rounds', '15')
  .option('--reads <n>', 'reads of a round', '50000')
  .addHelpText('after', '\nExit code: 0 measured, 1 a failure or a wrong command line.');

function main(): void {
  const { rounds, reads } = program.parse().opts<{ readonly rounds: string; readonly reads: string }>();
  const coordinators = [...CONDITIONS].map(([name, when]) => ({
    name,
    coordinator: coordinatorOf(when),
    us: [] as number[],
  }));
  for (let round = 0; round <= Number(rounds); round++)
    for (const { coordinator, us } of coordinators) {
      const took = readUs(coordinator, Number(reads));
      // The first round compiles.
      if (round > 0) us.push(took);
    }
  console.log(machineOf(process.cwd()));
  const bare = median(coordinators[0]!.us);
  for (const { name, us } of coordinators) console.log(`${name}: + ${(median(us) - bare).toFixed(2)} µs of CPU`);
}

main();
