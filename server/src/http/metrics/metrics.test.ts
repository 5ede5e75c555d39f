import { Serving } from '@isochron/sessions';
import { send, startApi, type TestApi } from '../../../testing/test-api.js';
import { HttpLatency } from './latency.js';
import { buildMetrics } from './metrics.js';

/** A family of samples of the text format. */
interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly string[];
}

/** Units and their short forms that are not base units, by `promtool check metrics`. */
const NOT_BASE_UNITS =
  /^(milli|micro|nano|kilo|mega|giga|tera|peta|centi|deci|hecto|deka|kibi|mebi|gibi|tebi|pibi)?(seconds?|meters?|grams?|amperes?|bytes?|bits?|volts?)$|^(minutes?|hours?|days?|weeks?|percents?|fahrenheit|kelvins?|celsius)$/;
const BASE_UNITS = new Set(['seconds', 'bytes', 'celsius', 'meters', 'grams', 'amperes', 'volts', 'percent', 'ratio']);
const SHORT_FORMS = new Set('s ms us ns sec b kb mb gb tb pb m h d'.split(' '));
const TYPES_IN_NAMES = /_(counter|gauge|histogram|summary)(_|$)/;

/** The faults that `promtool check metrics` finds in a family. */
function problemsOf({ name, type, help, samples }: Family): string[] {
  const words = name.split('_');
  const labels = samples.flatMap((sample) => [...sample.matchAll(/([A-Za-z_]\w*)="/g)].map(([, label]) => label!));
  const rules: readonly (readonly [boolean, string])[] = [
    [help === '', 'no help text'],
    [type === 'counter' && !name.endsWith('_total'), 'a counter without _total'],
    [type !== 'counter' && name.endsWith('_total'), '_total, and no counter'],
    [type !== 'histogram' && /_(bucket|count|sum)$/.test(name), 'the name of a part of a histogram'],
    [type !== 'histogram' && labels.includes('le'), 'a bucket, and no histogram'],
    [TYPES_IN_NAMES.test(name), 'its type in its name'],
    [/[A-Z:]/.test(name) || labels.some((label) => /[A-Z]/.test(label)), 'a name that is not in snake case'],
    [words.some((word) => NOT_BASE_UNITS.test(word) && !BASE_UNITS.has(word)), 'a unit that is no base unit'],
    [words.some((word) => SHORT_FORMS.has(word)), 'a short form of a unit'],
    [new Set(samples.map((sample) => sample.replace(/ \S+$/, ''))).size < samples.length, 'a sample twice'],
  ];
  return rules.flatMap(([broken, what]) => (broken ? [`${name}: ${what}`] : []));
}

function familiesIn(text: string): Family[] {
  expect(text.endsWith('\n')).toBe(true);
  const lines = text.split('\n').filter((line) => line !== '');
  const families: { name: string; type: string; help: string; samples: string[] }[] = [];
  for (const line of lines) {
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === 'HELP') families.push({ name: name!, type: '', help: rest!, samples: [] });
    else if (kind === 'TYPE') {
      expect(families.at(-1)?.name).toBe(name);
      families.at(-1)!.type = rest!;
    } else families.at(-1)!.samples.push(line);
  }
  const names = families.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, samples } of families) {
    for (const sample of samples) expect(sample).toMatch(new RegExp(`^${name}(_bucket|_count|_sum)?(\\{.*\\})? \\S+$`));
  }
  return families;
}

describe('the rules of promtool', () => {
  it.each<[string, Partial<Family>]>([
    ['no help text', { help: '' }],
    ['a counter without _total', { type: 'counter' }],
    ['_total, and no counter', { name: 'a_total' }],
    ['the name of a part of a histogram', { name: 'a_count' }],
    ['a bucket, and no histogram', { samples: ['a{le="1"} 1'] }],
    ['its type in its name', { name: 'a_gauge' }],
    ['a name that is not in snake case', { name: 'aB' }],
    ['a name that is not in snake case', { samples: ['a{bC="1"} 1'] }],
    ['a unit that is no base unit', { name: 'a_milliseconds' }],
    ['a unit that is no base unit', { name: 'a_hours' }],
    ['a short form of a unit', { name: 'a_ms' }],
    ['a sample twice', { samples: ['a{b="1"} 1', 'a{b="1"} 2'] }],
  ])('the rules of promtool find %s: %j', (problem, family) => {
    const good: Family = { name: 'a', type: 'gauge', help: 'It is.', samples: ['a 1'] };
    expect(problemsOf(good)).toEqual([]);
    expect(problemsOf({ ...good, ...family }).map((found) => found.split(': ')[1])).toEqual([problem]);
  });
});

const MAP_METRICS = /^isochron_(?:map|suspended|held|deferred|owes)\{/;

describe('the metrics', () => {
  let api: TestApi;
  const latency = new HttpLatency();
  beforeEach(async () => {
    api = await startApi({ latency });
  });
  afterEach(() => api.close());

  /** The metrics of a node that has served, waited and seen updates of another region. */
  async function scraped(): Promise<string> {
    const metrics = buildMetrics(api.node, { latency });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1 });
    api.node.visible('oregon', 30);
    api.node.disk = { full: true, usedBytes: 5, freeBytes: 7, quotaBytes: 9, refusedWrites: 11 };
    const { text } = await send(url, 'GET', '/metrics');
    await metrics.close();
    return text;
  }

  it('the metrics of the map name the nodes that are suspended and held, and what waits for them', async () => {
    const metrics = buildMetrics(api.node, { api: api.app });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const lines = async () =>
      (await send(url, 'GET', '/metrics')).text.split('\n').filter((line) => MAP_METRICS.test(line));
    const labels = 'node="virginia-1",region="virginia"';
    const figures = (map: number, deferred: number, owes: number) => [
      `isochron_deferred{${labels}} ${deferred}`,
      `isochron_map{${labels}} ${map}`,
      `isochron_owes{${labels}} ${owes}`,
    ];
    expect((await lines()).sort()).toEqual(figures(0, 0, 0));
    const nodes = { suspended: ['oregon-1', 'ireland-1'], held: ['ireland-1'] };
    api.node.mapVersion = 3;
    api.node.mapStatus = { ...nodes, deferred: 5, owes: true };
    expect((await lines()).sort()).toEqual([
      figures(3, 5, 1)[0],
      `isochron_held{held_node="ireland-1",${labels}} 1`,
      ...figures(3, 5, 1).slice(1),
      `isochron_suspended{suspended_node="ireland-1",${labels}} 1`,
      `isochron_suspended{suspended_node="oregon-1",${labels}} 1`,
    ]);
    await metrics.close();
  });

  it('a scraper that offers HTTP/2 is answered', async () => {
    const metrics = buildMetrics(api.node, { latency });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
    expect((await send(url, 'GET', '/metrics', { headers })).status).toBe(200);
    await metrics.close();
  });

  it('the metrics count how often each limit was reached', async () => {
    const serving = new Serving(api.node, 1000, { requestsPerSecondPerClient: 1 });
    const metrics = buildMetrics(api.node, { latency, serving });
    for (let i = 0; i < 3; i++) serving.rates.take('client', 1, 0);
    serving.reached.reached('connections');
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const { text } = await send(url, 'GET', '/metrics');
    const lines = text.split('\n').filter((line) => line.startsWith('isochron_limited_total'));
    expect(lines.map((line) => /limit="(\w+)".*\} (\d+)$/.exec(line)?.slice(1)).sort()).toEqual([
      ['connections', '1'],
      ['requestsPerSecondPerClient', '2'],
    ]);
    await metrics.close();
  });

  it('the metrics have the connections of each port by their state, and those that found no place', async () => {
    const states = { tcp: 1, tls: 2, head: 3, handshake: 4, link: 5, closing: 6 };
    api.node.incoming = { states, crowded: 7 };
    const metrics = buildMetrics(api.node, { api: api.app });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const { text } = await send(url, 'GET', '/metrics');
    const of = (port: string) =>
      Object.fromEntries(
        [...text.matchAll(/^isochron_connections\{(.*)\} (\d+)$/gm)]
          .filter(([, labels]) => labels!.includes(`port="${port}"`))
          .map(([, labels, count]) => [/state="(\w+)"/.exec(labels!)![1], Number(count)]),
      );
    expect(of('peer')).toEqual(states);
    expect(of('api')).toEqual(api.app.connectionCounts());
    expect(of('metrics')).toMatchObject({ answer: 1, tcp: 0, session: 0 });
    expect(text).toMatch(/^isochron_limited_total\{limit="peerStrangers".*\} 7$/m);
    await metrics.close();
  });

  it('the metrics pass the rules of promtool', async () => {
    const families = familiesIn(await scraped());
    expect(families.flatMap(problemsOf)).toEqual([]);
    for (const name of ['isochron_events_total', 'isochron_visibility_seconds', 'process_cpu_seconds_total']) {
      expect(families.find((family) => family.name === name)?.samples).not.toEqual([]);
    }
  });

  it('the metrics have the bytes and refusals of the disk', async () => {
    const text = await scraped();
    const samples = ['full', 'used_bytes', 'free_bytes', 'quota_bytes', 'refused_writes_total'].map(
      (name) => new RegExp(`^isochron_disk_${name}\\{.*\\} (\\d+)$`, 'm').exec(text)?.[1],
    );
    expect(samples).toEqual(['1', '5', '7', '9', '11']);
  });

  it('the metrics count on from scrape to scrape, and add no count twice', async () => {
    const metrics = buildMetrics(api.node);
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1 });
    for (let i = 0; i < 2; i++) {
      const { text } = await send(url, 'GET', '/metrics');
      expect(text).toMatch(/^isochron_events_total\{event="commits".*\} 1$/m);
    }
    await metrics.close();
  });
});
