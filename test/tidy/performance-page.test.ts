import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePage } from '../bench/page/files.js';
import { NOTHING_MEASURED } from '../bench/page/measured.js';
import { pageFindings } from './performance-page.js';

describe('docs/performance.md', () => {
  it('and its plots are what docs/performance/measured.json gives', () => {
    expect(pageFindings(join(__dirname, '../../docs'))).toEqual([]);
  });
});

describe('a page of figures', () => {
  const docs = mkdtempSync(join(tmpdir(), 'isochron-page-findings-'));
  beforeEach(() => writePage(docs, NOTHING_MEASURED));
  afterAll(() => rmSync(docs, { recursive: true, force: true }));

  it('may not be changed by hand', () => {
    expect(pageFindings(docs)).toEqual([]);
    appendFileSync(join(docs, 'performance.md'), 'x');
    expect(pageFindings(docs)).toEqual([expect.stringMatching(/^docs\/performance\.md: is not what/)]);
  });

  it('may not be absent', () => {
    rmSync(join(docs, 'performance.md'));
    expect(pageFindings(docs)).toHaveLength(1);
  });

  it('has no files beside it that it does not refer to', () => {
    writeFileSync(join(docs, 'performance/old.svg'), '<svg/>');
    expect(pageFindings(docs)).toEqual(['docs/performance/old.svg: does not belong to the page']);
  });
});
