import { join } from 'node:path';
import { Repository } from './repository.js';
import { publicNames, swiftNameFindings } from './swift-names.js';

const repository = new Repository(join(__dirname, '../..'));
const sources = repository.paths.filter((path) => /^sdk-swift\/Sources\/\w+\/.*\.swift$/.test(path));

describe('public names of the Swift SDK', () => {
  it('public names of the Swift SDK differ from those of SwiftUI and StoreKit, so that no app has to qualify them', () => {
    const names = sources.flatMap((path) => publicNames(repository.read(path)));
    expect(names).toEqual(
      expect.arrayContaining(['CausalTransaction', 'IsochronClient', 'ListedDocument', 'Timestamp']),
    );
    expect(sources.flatMap((path) => swiftNameFindings(path, repository.read(path)))).toEqual([]);
  });

  it.each([
    ['public struct Transaction: Sendable {', ['SwiftUI', 'StoreKit']],
    ['public final class State {}', ['SwiftUI']],
    ['public typealias Product = Int', ['StoreKit']],
    ['struct View {}\n    public struct Text {}', []],
  ])('a public Swift name that a framework has is found: %s', (text, frameworks) => {
    const findings = swiftNameFindings('a.swift', text);
    expect(findings.map((finding) => /name of (\w+)/.exec(finding)?.[1])).toEqual(frameworks);
  });
});
