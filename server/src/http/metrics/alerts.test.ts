/** The alert rules of the examples, against the metrics of a node. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { send, startApi } from '../../../testing/test-api.js';
import { buildMetrics } from './metrics.js';

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly action: string };
}

const FILE = join(__dirname, '../../../../infra/examples/prometheus/alerts.yaml');
const { groups } = parse(readFileSync(FILE, 'utf8')) as { groups: { rules: AlertRule[] }[] };
const rules = groups.flatMap((group) => group.rules);

describe('the alert rules', () => {
  it('every alert is about metrics and labels that a node has, and states what to do', async () => {
    const api = await startApi();
    api.node.mapStatus = { suspended: ['oregon-1'], held: ['oregon-1'] };
    const metrics = buildMetrics(api.node, { api: api.app });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const { text } = await send(url, 'GET', '/metrics');
    await metrics.close();
    await api.close();
    expect(rules.length).toBeGreaterThan(5);
    for (const { alert, expr, annotations } of rules) {
      const names = expr.match(/isochron_\w+/g) ?? [];
      expect([alert, names.length > 0, annotations.action.length > 0]).toEqual([alert, true, true]);
      const labels = /by \((\w+)\)/.exec(expr)?.[1] ?? 'node';
      for (const name of names)
        expect([alert, new RegExp(`^${name}\\{[^}]*${labels}="`, 'm').test(text)]).toEqual([alert, true]);
      const shown = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      expect([alert, shown]).toEqual([alert, expr.includes('by (') ? [labels] : []]);
    }
  });

  it('the map, suspended and held nodes, deferred transactions and debts have an alert each', () => {
    const text = rules.map(({ expr }) => expr).join('\n');
    for (const name of ['map', 'suspended', 'held', 'deferred', 'owes']) expect(text).toContain(`isochron_${name}`);
  });
});
