import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { Cluster, cleanUp, logged } from './harness.js';
import { ROOT, run } from './processes.js';
import { until } from './until.js';

jest.setTimeout(60_000);

/** A fenced block of the README under a comment that says how it is tested. */
interface Block {
  readonly kind: string;
  readonly language: string;
  readonly code: string;
}

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks: Block[] = [...readme.matchAll(/<!-- test: (\w+) -->\n+```(\w+)\n([\s\S]*?)\n```/g)].map(
  ([, kind, language, code]) => ({ kind: kind!, language: language!, code: code! }),
);
const blocksOf = (kind: string): Block[] => blocks.filter((block) => block.kind === kind);

/** Where `npm start` puts the nodes. */
const README_PORTS = [7101, 7102, 7103];

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(cleanUp);

/** The code with the ports of this test's cluster. */
function here(code: string): string {
  const ports = new Map(README_PORTS.map((port, i) => [String(port), new URL(cluster.endpoints()[i]!).port]));
  return code.replace(/127\.0\.0\.1:(\d+)/g, (whole, port: string) =>
    ports.has(port) ? `127.0.0.1:${ports.get(port)}` : whole,
  );
}

/** A project of somebody who has installed the SDK. */
function project(name: string): string {
  const folder = join(cluster.folder, name);
  mkdirSync(join(folder, 'node_modules/@isochron'), { recursive: true });
  symlinkSync(join(ROOT, 'sdk-js'), join(folder, 'node_modules/@isochron/sdk'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

describe('the README', () => {
  it('has examples of each kind, and none of a kind that nobody tests', () => {
    expect(new Set(blocks.map(({ kind, language }) => `${kind} ${language}`))).toEqual(
      new Set(['curl sh', 'sdk ts', 'swift swift']),
    );
  });

  it('shows what the documentation of the Swift SDK shows, whose own tests compile it, in both languages', () => {
    const page = readFileSync(join(ROOT, 'sdk-swift/Sources/Isochron/Isochron.docc/Isochron.md'), 'utf8');
    for (const { language, code } of [...blocksOf('swift'), ...blocksOf('sdk')]) {
      expect(page).toContain(`\`\`\`${language}\n${code}\n\`\`\``);
    }
  });

  it.each(blocksOf('sdk').map(({ code }, i) => [i + 1, code] as const))(
    'has example %i with the SDK that runs as it stands',
    (number, code) =>
      logged(async () => {
        const folder = project(`sdk-${number}`);
        const { code: script } = await transform(here(code), { loader: 'ts', format: 'esm', target: 'node20' });
        writeFileSync(join(folder, 'example.js'), script);
        expect(await run(process.execPath, ['example.js'], { cwd: folder })).toMatchObject({ code: 0, stderr: '' });
      })(),
  );

  it.each(blocksOf('sdk').map(({ code }, i) => [i + 1, code] as const))(
    'has example %i with the SDK that a strict compiler accepts',
    async (number, code) => {
      const folder = project(`types-${number}`);
      writeFileSync(join(folder, 'example.ts'), code);
      const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
      const result = await run(process.execPath, [tsc, ...options, 'example.ts'], { cwd: folder });
      expect(result).toMatchObject({ code: 0, stdout: '' });
    },
  );

  it.each(blocksOf('curl').map(({ code }, i) => [i + 1, code] as const))(
    'has example %i for the shell that runs as it stands, and the last command shows what the first one wrote',
    (_number, code) =>
      logged(async () => {
        const script = here(code);
        expect(await run('bash', ['-euo', 'pipefail', '-c', script])).toMatchObject({ code: 0 });
        const written = /-d '([^']+)'/.exec(code)![1]!;
        const last = script.trim().split('\n').at(-1)!;
        // Another region shows it a moment later.
        const read = await until('the other region shows it', async () => {
          const { stdout } = await run('bash', ['-c', last]);
          return stdout === written && stdout;
        });
        expect(JSON.parse(read)).toEqual(JSON.parse(written));
      })(),
  );
});
