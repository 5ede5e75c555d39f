import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PROTOCOL_NAMES } from '@isochron/protocols/session-rules';
import { pathFindings, pathsOf } from './page-paths.js';
import { blockFindings, codeBlocks, commandFindings, headings, KINDS, linkFindings, widthFindings } from './pages.js';
import { Repository } from './repository.js';

const repository = new Repository(join(__dirname, '../..'));
const pages = repository.paths.filter((path) => path.endsWith('.md'));
const blocks = pages.flatMap((path) => codeBlocks(path, repository.read(path)));
const blocksOf = (kind: string) => blocks.filter((block) => block.kind === kind);
const scripts = new Set(Object.keys(JSON.parse(repository.read('package.json')).scripts as object));
const at = (path: string) => join(repository.root, path);

/** All pages but the reports of measurements, which a program writes. */
const WRITTEN = pages.filter((path) => !path.startsWith('docs/papers/'));

describe('the code of the pages', () => {
  it('each block of code of the pages is run by a test', () => {
    expect(blocks.length).toBeGreaterThan(20);
    // DocC shows its comments, so its pages have none: `DocumentationTests` compiles every block of them.
    expect(blockFindings(blocks.filter(({ path }) => !path.includes('.docc/')))).toEqual([]);
  });

  it('the blocks of the pages name tests that exist', () => {
    for (const { test } of KINDS.values()) expect(repository.paths).toContain(test);
    for (const kind of KINDS.keys()) expect([kind, blocksOf(kind).length]).not.toEqual([kind, 0]);
  });

  it('the blocks of the pages name commands that exist', () => {
    const findings = blocksOf('commands').flatMap((block) =>
      commandFindings(block, scripts, (file) => existsSync(at(file))),
    );
    expect(findings).toEqual([]);
  });

  it('the Swift code of the pages is that of the pages that the tests of the Swift SDK compile', () => {
    const compiled = pages.filter((path) => path.includes('.docc/')).map((path) => repository.read(path));
    for (const { path, line, code } of blocksOf('docc'))
      expect([path, line, compiled.some((page) => page.includes(`\`\`\`swift\n${code}\n\`\`\``))]).toEqual([
        path,
        line,
        true,
      ]);
  });

  it('a block that no test runs is found', () => {
    const block = (head: string, language: string) =>
      codeBlocks('a.md', `# a\n\n${head}\`\`\`${language}\nx\n\`\`\`\n`);
    expect(blockFindings(block('', 'ts'))).toEqual(['a.md:3: no test runs this block']);
    expect(blockFindings(block('<!-- test: dance -->\n', 'ts'))).toEqual(['a.md:4: "dance" is no kind of test']);
    expect(blockFindings(block('<!-- test: curl -->\n', 'ts'))).toEqual(['a.md:4: a block of kind "curl" is sh']);
    expect(blockFindings(block('<!-- test: run -->\n', 'ts'))).toEqual([]);
    expect(codeBlocks('a.md', '```\nno language\n```\n')).toEqual([]);
  });

  it('a block that names a missing command is found', () => {
    const block = { path: 'a.md', line: 1, language: 'sh', kind: 'commands' } as const;
    const findings = (code: string) =>
      commandFindings({ ...block, code }, new Set(['start', 'sim']), (file) => file === 'a.js');
    expect(findings('npm start\nnpm run sim -- --seeds 1   # why\nnode a.js --x\nnpm run -s sim')).toEqual([]);
    expect(findings('npm run gone\nnode gone.js\nrm -r x')).toEqual([
      'a.md:2: package.json has no script "gone"',
      'a.md:3: there is no gone.js',
      'a.md:4: neither an npm script nor a file of the repository: rm -r x',
    ]);
  });
});

describe('links between pages', () => {
  const read = (path: string) => {
    if (!existsSync(at(path))) return undefined;
    return statSync(at(path)).isFile() ? repository.read(path) : '';
  };

  it('links between pages lead to existing pages and headings', () => {
    // Build outputs, and pages inside of DocC, have links of their own.
    const checked = pages.filter((path) => !path.includes('.docc/'));
    expect(checked.flatMap((path) => linkFindings(path, repository.read(path), read))).toEqual([]);
  });

  it('links to missing pages and headings are found', () => {
    const files: Record<string, string> = { 'b.md': '# One `two` (3)\n', 'x/c.md': '' };
    const findings = (text: string) => linkFindings('x/a.md', text, (path) => files[path]);
    expect(findings('[b](../b.md#one-two-3), [c](c.md), [w](https://w.example)\n\n[d]: ../b.md')).toEqual([]);
    expect(findings('[b](b.md) [h](../b.md#two)')).toEqual([
      'x/a.md: links to b.md, which does not exist',
      'x/a.md: links to ../b.md#two, and there is no such heading',
    ]);
    expect([...headings('# A b\n```sh\n# no\n```\n## C, d!\n')]).toEqual(['a-b', 'c-d']);
  });
});

describe('paths in backticks', () => {
  /** Paths of users' data and of what runs leave behind, which look like those of the repository. */
  const ELSEWHERE = new Set([
    'data/certs',
    'certs/NODE',
    'certs/ca-key.pem',
    'certs/ca.pem',
    'sdk-swift/.vectors',
    'test/dist/isochron',
  ]);

  it('paths in backticks are those of files and folders that exist', () => {
    const paths = pathsOf(repository.paths);
    const findings = WRITTEN.filter((path) => path !== 'CHANGELOG.md').flatMap((path) =>
      pathFindings(path, repository.read(path), paths),
    );
    expect(findings.filter((finding) => !ELSEWHERE.has(finding.replace(/^.* /, '')))).toEqual([]);
  });

  it('a path in backticks that does not exist is found', () => {
    const paths = pathsOf(['a/src/one.ts', 'a/src/two/three.test.ts', 'a/README.md', 'b/c.md']);
    const findings = (text: string) => pathFindings('a/README.md', text, paths);
    expect(findings('`one.ts`, `src/one.ts`, `../b/c.md`, `two/*.test.ts`, `a/src/two/`, `b`, `x/y`, `x()`')).toEqual(
      [],
    );
    expect(findings('```sh\n`gone.ts`\n```\n`gone.ts`, `src/three.ts`,\n`../c.md`, `two/four`')).toEqual([
      'a/README.md:4: there is no gone.ts',
      'a/README.md:4: there is no src/three.ts',
      'a/README.md:5: there is no ../c.md',
      'a/README.md:5: there is no two/four',
    ]);
  });
});

describe('pages', () => {
  it('pages are at most 120 wide, except code and tables', () => {
    expect(WRITTEN.length).toBeGreaterThan(30);
    expect(WRITTEN.flatMap((path) => widthFindings(path, repository.read(path)))).toEqual([]);
  });

  it('pages for users that are wider are found', () => {
    const wide = 'x'.repeat(121);
    expect(widthFindings('a.md', `${wide}\n\`\`\`sh\n${wide}\n\`\`\`\n`)).toEqual([
      'a.md:1: is 121 wide, more than 120',
    ]);
  });

  it('pages for users list every protocol that a cluster file may name', () => {
    const listed = [...repository.read('docs/protocols.md').matchAll(/^\| \[`([a-z-]+)`\]/gm)].map(([, name]) => name!);
    expect(listed.sort()).toEqual([...PROTOCOL_NAMES].sort());
  });

  it('pages for users begin with a README of at most 100 lines', () => {
    expect(repository.read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(100);
  });
});
