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
        refresh()
        let own = ownWrites(request, upTo: page.next)
        if own.isEmpty { return page }
        var all = page.entries
        for entry in own {
            let at = all.firstIndex { isSameText($0.key, entry.key) }
            // A key of the range that the page lacks has no document in the snapshot.
            let value = laidOver(.some(at.map { all[$0].value }), entry.writes) ?? nil
            if let at { all.remove(at: at) }
            if let value { all.append(ListedEntry(key: entry.key, value: value)) }
        }
        return ListedPage(entries: all.sorted { keyPrecedes($0.key, $1.key) }, next: page.next)
    }

    /// Own writes in the range of a page, by keys without their keyspace.
    private func ownWrites(_ request: ListRequest, upTo next: String?) -> [OverlayEntry] {
        tx.overlay().compactMap { entry in
            let (keyspace, key) = unqualify(entry.key)
            guard isSameText(keyspace, request.keyspace), hasExactPrefix(key, request.prefix),
                isOfLevel(request.level, entry.key), !keyPrecedes(key, request.start),
                next.map({ keyPrecedes(key, $0) }) ?? true
            else { return nil }
            return OverlayEntry(key: key, writes: entry.writes)
        }
    }
}
