/** An app that depends on the Swift package. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, cleanUp, logged } from './harness.js';
import { whenChanged } from './package-checks.js';
import { ROOT, run } from './processes.js';
import { swift } from './swift-client.js';

jest.setTimeout(900_000);

const check = whenChanged('sdk-swift', 'infra/swift', 'test/e2e/swift-package.test.ts');

const APP = `
import Foundation
import Isochron

struct Event: Codable { var title: String; var at: Date }

@main
struct App {
    static func main() async throws {
        let client = try await IsochronClient.connect(endpoints: [CommandLine.arguments[1]])
        let events = client.collection("events", of: Event.self)
        try await events.set("a", Event(title: "launch", at: Date(timeIntervalSince1970: 1_740_830_400)))
        try await client.set("events/b", "no event")
        try await client.transaction { (tx: CausalTransaction) in
            let a = try await tx.get("events/a", as: Event.self)
            try tx.set("events/c", Event(title: "after \\(a?.title ?? "")", at: a?.at ?? .now))
        }
        for try await entry in events.list() {
            print(entry.key, (try? entry.value.title) ?? "undecodable")
        }
        await client.close()
    }
}
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-swift-package-'));
});
afterAll(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

const mirror = (to: string) => run(process.execPath, [join(ROOT, 'infra/swift/mirror.mjs'), to]);
const headOf = async (repository: string): Promise<string> =>
  (await run('git', ['-C', repository, 'rev-parse', 'HEAD', '0.1.0^{commit}'])).stdout;

describe('the repository of the Swift package', () => {
  it('the repository of the Swift package has it and its licence at the root, and the same commit for the same sources', async () => {
    const [one, other] = [join(folder, 'one'), join(folder, 'other')];
    for (const repository of [one, other]) expect(await mirror(repository)).toMatchObject({ code: 0 });
    const { stdout } = await run('git', ['-C', one, 'ls-tree', '--name-only', 'HEAD']);
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['LICENSE', 'Package.swift', 'README.md', 'Sources']));
    const [head, tagged] = (await headOf(one)).trim().split('\n');
    expect(tagged).toBe(head);
    expect(await headOf(other)).toBe(await headOf(one));
    writeFileSync(join(one, 'Sources/left-over.swift'), 'let x = 1');
    expect(await mirror(one)).toMatchObject({ code: 0 });
    expect(await headOf(one)).toBe(await headOf(other));
    expect(readFileSync(join(one, 'README.md'), 'utf8')).not.toContain('](../');
  });
});

/**
 * A folder that is kept for the next run, which then compiles only the changes. Other sources have another folder:
 * SwiftPM does not accept that a version changes.
 */
async function keptPlace(): Promise<string> {
  const build = join(ROOT, 'sdk-swift/.build');
  expect(await mirror(join(folder, 'now'))).toMatchObject({ code: 0 });
  const name = `app-${(await headOf(join(folder, 'now'))).slice(0, 12)}`;
  mkdirSync(join(build, name), { recursive: true });
  const others = readdirSync(build).filter((other) => other.startsWith('app-') && other !== name);
  for (const other of others) rmSync(join(build, other), { recursive: true });
  return join(build, name);
}

describe('an app', () => {
  check(
    'an app adds the package by the URL of its repository as the README shows, builds and runs',
    logged(async () => {
      const setup = await swift(['--setup']);
      if (setup.code !== 0) {
        if (process.env.CI) throw new Error(`there is no Swift: ${setup.stderr}`);
        console.warn(`not run: ${setup.stderr}`);
        return;
      }
      const place = await keptPlace();
      const repository = join(place, 'isochron-swift');
      expect(await mirror(repository)).toMatchObject({ code: 0 });
      const app = join(place, 'app');
      mkdirSync(join(app, 'Sources/App'), { recursive: true });
      const readme = readFileSync(join(ROOT, 'sdk-swift/README.md'), 'utf8');
      const [, manifest = ''] = /<!-- test: manifest -->\n+```swift\n([\s\S]*?)\n```/.exec(readme) ?? [];
      const url = /url: "([^"]+)"/.exec(manifest)?.[1] ?? '';
      writeFileSync(join(app, 'Package.swift'), manifest.replace(url, `file://${repository}`));
      writeFileSync(join(app, 'Sources/App/App.swift'), APP);
      const env = { SWIFT_PACKAGE_DIR: app, SWIFT_BIND: ROOT };
      const built = await swift(['build', '--product', 'App'], env);
      expect([built.code, built.code === 0 ? '' : `${built.stdout}${built.stderr}`]).toEqual([0, '']);
      const cluster = await Cluster.start({ regions: ['virginia'] });
      const { code, stdout, stderr } = await swift(['--exec', '.build/debug/App', cluster.endpoint('virginia')], env);
      expect([code, stderr, stdout]).toEqual([0, '', 'a launch\nb undecodable\nc after launch\n']);
      const event = await fetch(`${cluster.endpoint('virginia')}/v1/keyspaces/default/keys/events%2Fa`);
      expect(await event.json()).toEqual({ title: 'launch', at: '2025-03-01T12:00:00.000Z' });
    }),
  );
});
