import { stripVTControlCharacters } from 'node:util';
import { packWall } from '@isochron/core/hlc';
import type { ClusterReport } from './collect.js';
import { renderStatus as render } from './table.js';

/** Without the colours that a terminal would get. */
const renderStatus = (...args: Parameters<typeof render>): string => stripVTControlCharacters(render(...args));

const partition = (name: string, keys: number) => ({
  partition: name,
  regions: ['virginia', 'oregon'],
  prepared: 1,
  committed: 2,
  keys,
  versions: keys + 1,
});

const REPORT: ClusterReport = {
  cluster: 'c-1',
  protocol: 'paris',
  nodes: [
    {
      region: 'virginia',
      node: 'virginia-1',
      api: 'http://127.0.0.1:7101',
      error: null,
      stability: { stalenessMs: 12, alertMs: 10_000, stale: false, lowest: null, heldBackBy: null },
      unready: [],
      status: {
        node: 'virginia-1',
        region: 'virginia',
        protocol: 'paris',
        version: '0.1.0',
        uptimeMs: 65_000,
        ust: packWall(Date.UTC(2026, 0, 2, 3, 4, 5, 678)),
        stalenessMs: 12.4,
        openTransactions: 5,
        rssBytes: 120 * 2 ** 20,
        partitions: [partition('default/0', 1000), partition('default/1', 234)],
        links: [
          { node: 'oregon-1', region: 'oregon', up: true, rttMs: 88.28, reconnects: 0, lastError: null },
          { node: 'ireland-1', region: 'ireland', up: false, rttMs: null, reconnects: 3, lastError: 'gone\x1b[2J' },
        ],
      },
    },
    {
      region: 'oregon',
      node: 'oregon-1',
      api: 'http://127.0.0.1:7102',
      status: null,
      stability: null,
      unready: [],
      error: 'no node answers',
    },
  ],
};

/** The cells of the row of a node, by the text that it begins with. */
const cellsOf = (text: string, node: string): string[] =>
  text
    .split('\n')
    .find((line) => line.includes(`│ ${node} `))!
    .split('│')
    .map((cell) => cell.trim());

describe('renderStatus', () => {
  const text = renderStatus(REPORT, { partitions: false });

  it('renderStatus shows how long reads have waited for their snapshots, where any have', () => {
    const [first] = REPORT.nodes;
    const waited = (reads: number, totalMs: number, longestMs: number) => {
      const nodes = [{ ...first!, status: { ...first!.status!, blocking: { reads, totalMs, longestMs } } }];
      return renderStatus({ ...REPORT, nodes: [...nodes, ...nodes] }, { partitions: false });
    };
    expect(waited(4, 10, 7)).toContain('8 reads waited for their snapshots, 2.5 ms on average, 7 ms at most');
    for (const none of [text, waited(0, 0, 0)]) expect(none).not.toContain('waited');
  });

  it('renderStatus shows losses that no operator has acknowledged', () => {
    const [first] = REPORT.nodes;
    const withLosses = (open: number) => {
      const node = { ...first!, status: { ...first!.status!, losses: { open } } };
      return renderStatus({ ...REPORT, nodes: [node, first!] }, { partitions: false });
    };
    expect(withLosses(3)).toContain('a lost disk took a part of 3 transactions or more: isochron losses');
    for (const none of [text, withLosses(0)]) expect(none).not.toContain('lost disk');
  });

  it('renderStatus states which nodes are no members, by the newest map, and why', () => {
    const [first] = REPORT.nodes;
    const lists = { held: [], evicted: [], absences: [], leaving: [], silent: [] };
    const none = { ...lists, deferredFor: {}, owes: false, isSealed: false };
    const away = ['a-1', 'b-1', 'c-1', 'd-1'];
    const suspended = ['b-1', 'c-1', 'd-1'];
    const absences = [{ node: 'c-1', since: 1, isOrdered: true }];
    const newest = { ...none, version: 2, away, suspended, held: ['d-1'], absences, deferred: 1 };
    const older = { ...none, version: 1, away: ['e-1'], suspended: [], deferred: 2 };
    const nodes = [newest, older].map((map) => ({ ...first!, status: { ...first!.status!, map } }));
    const goesOn = 'stable time goes on without';
    const returns = `${goesOn}; a node that starts again comes back by itself`;
    expect(
      renderStatus({ ...REPORT, nodes }, { partitions: false })
        .split('\n')
        .slice(-5),
    ).toEqual([
      `a-1 left the members in order: ${returns}`,
      `b-1 did not answer and is suspended: ${returns}`,
      `c-1 is suspended by an operator: ${returns}`,
      `d-1 is kept away by an operator: ${goesOn} until "isochron nodes return"`,
      '3 parts of transactions that need a suspended node wait for its return',
    ]);
  });

  it('renderStatus shows stable time, staleness and the sums over partitions', () => {
    const cells = cellsOf(text, 'virginia-1');
    expect(cells.slice(1, 11)).toEqual([
      'virginia',
      'virginia-1',
      '03:04:05.678',
      '12 ms',
      '2',
      '1,234',
      '1,236',
      '2',
      '4',
      '5',
    ]);
    expect(cells).toContain('120 MiB');
  });

  it('renderStatus shows links with their round trip, and those that are down', () => {
    expect(text).toContain('oregon-1 88 ms');
    expect(text).toContain('ireland-1 down');
  });

  it('renderStatus shows a node that cannot be reached as such', () => {
    expect(text).toContain('unreachable: no node answers');
    expect(text).toContain('1 of 2 nodes answer');
  });

  it('renderStatus names the nodes that are not ready, with the reasons', () => {
    const unready = [
      { check: 'cluster-file', reason: 'without links to oregon-1' },
      { check: 'disk', reason: 'without room on its disk\x1b' },
      { check: 'stable-time', reason: 'behind' },
    ];
    const nodes = [{ ...REPORT.nodes[0]!, unready }];
    const shown = renderStatus({ ...REPORT, nodes }, { partitions: false });
    expect(shown).toMatch(/^virginia-1 is without links to oregon-1; without room on its disk $/m);
    expect(text).not.toContain('virginia-1 is');
  });

  it('renderStatus shows rules that differ, and names the nodes that serve no client for lack of rules', () => {
    const [node] = REPORT.nodes;
    const users = { hash: null, differsFrom: [], missing: false };
    const withRules = (name: string, hash: string | null, missing = false) => ({
      ...node!,
      node: name,
      status: { ...node!.status!, protection: { rules: { hash, differsFrom: [], missing }, users } },
    });
    const shown = (...nodes: ClusterReport['nodes']) => renderStatus({ ...REPORT, nodes }, { partitions: false });
    expect(shown(withRules('a-1', 'aaaaaaaaaa'), withRules('b-1', 'aaaaaaaaaa'))).not.toContain('access rules');
    expect(shown(withRules('a-1', 'aaaaaaaaaa'), withRules('b-1', 'bbbbbbbbbb'))).toContain(
      'the access rules differ (a-1: aaaaaaaa; b-1: bbbbbbbb)',
    );
    expect(shown(withRules('a-1', 'aaaaaaaaaa'), withRules('b-1', null, true))).toContain(
      'b-1 has not the access rules of the others, and serves no client',
    );
  });

  it('renderStatus lets no text of a node control the terminal', () => {
    expect(text).toContain('(gone [2J)');
    expect(text).not.toContain('\x1b[2J');
  });

  it('renderStatus shows no staleness before the first stable time', () => {
    expect(text).not.toContain('snapshots are');
  });

  it('renderStatus names the nodes whose disks are not verified, and the peers that have not reported', () => {
    const withDisk = (state: string, timedOut: boolean) => {
      const verification = { state, missing: ['oregon-1'], timedOut };
      const [first] = REPORT.nodes;
      const nodes = [{ ...first!, status: { ...first!.status!, verification } }];
      return renderStatus({ ...REPORT, nodes }, { partitions: false });
    };
    expect(withDisk('verifying', false)).toContain(
      'virginia-1 verifies its disk and takes no writes: no report from oregon-1',
    );
    expect(withDisk('unverified', true)).toContain(
      'virginia-1 is unverified: no report from oregon-1 since the start; if',
    );
    expect(withDisk('verified', false)).not.toContain('verif');
  });

  it('renderStatus names the node that holds stable time back, by the replica that lacks most', () => {
    const lowest = {
      region: 'ireland',
      node: 'ireland-1',
      partition: 'default/3',
      timestamp: 100,
      ageMs: 34_200,
    };
    const stale = { stalenessMs: 34_210, alertMs: 10_000, stale: true, lowest, heldBackBy: lowest };
    const later = { ...lowest, region: 'oregon', timestamp: 200 };
    const [first, second] = REPORT.nodes;
    const nodes = [
      { ...second!, stability: { ...stale, stalenessMs: 34_000, lowest: later } },
      { ...first!, stability: stale },
    ];
    expect(renderStatus({ ...REPORT, nodes }, { partitions: false })).toContain(
      'snapshots are 34.2 s old, more than the alert allows (10.0 s): virginia-1 has had nothing from ireland (ireland-1) in default/3 for 34.2 s',
    );
  });

  it('renderStatus names the unreachable nodes where no replica that answers lacks anything', () => {
    const heldBackBy = { region: 'ireland', node: 'ireland-1', partition: null };
    const stability = { stalenessMs: 34_210, alertMs: 10_000, stale: true, lowest: null, heldBackBy };
    const nodes = [{ ...REPORT.nodes[0]!, stability }];
    expect(renderStatus({ ...REPORT, nodes }, { partitions: false })).toContain(
      'ireland (ireland-1) cannot be reached',
    );
    const clueless = [{ ...REPORT.nodes[0]!, stability: { ...stability, heldBackBy: null } }];
    expect(renderStatus({ ...REPORT, nodes: clueless }, { partitions: false })).toContain(
      'no node that answers reports a cause',
    );
  });

  it('renderStatus has a row for every replica on request', () => {
    expect(text).not.toContain('default/1');
    expect(renderStatus(REPORT, { partitions: true })).toContain('default/1');
  });
});
