import IsochronSession

extension SnapshotHandle {
    /// One page of a listing, with own writes above the snapshot added, and own deletions removed.
    func mergedPage(_ request: ListRequest, _ caller: @escaping Caller<ListedPage>) -> any Cancellable {
        list(request) { [self] result in
            caller(result.flatMap { page in Result { try merged(page, request) } })
        }
    }

    private func merged(_ page: ListedPage, _ request: ListRequest) throws -> ListedPage {
        if let next = page.next, !keyPrecedes(request.start, next) {
            throw IsochronError.malformed("a page that continues before its own start")
        }
        let own = ownWrites(request, upTo: page.next)
        if own.isEmpty { return page }
        let hidden = Set(own.map { ExactString($0.key) })
        let theirs = page.entries.filter { !hidden.contains(ExactString($0.key)) }
        let added = own.compactMap { write in write.value.map { ListedEntry(key: write.key, value: $0) } }
        return ListedPage(entries: (theirs + added).sorted { keyPrecedes($0.key, $1.key) }, next: page.next)
    }

    /// Own writes in the range of a page, by keys without their keyspace.
    private func ownWrites(_ request: ListRequest, upTo next: String?) -> [KeyWrite] {
        tx.overlay().compactMap { entry in
            let (keyspace, key) = unqualify(entry.key)
            guard isSameText(keyspace, request.keyspace), hasExactPrefix(key, request.prefix),
                !keyPrecedes(key, request.start), next.map({ keyPrecedes(key, $0) }) ?? true
            else { return nil }
            return KeyWrite(key: key, value: entry.result.value)
        }
    }
}
