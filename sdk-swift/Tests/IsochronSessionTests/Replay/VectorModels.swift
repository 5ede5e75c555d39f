import IsochronSession

/// Contents of the files, as types of the sessions.
extension VectorValue {
    var model: Value {
        switch self {
        case .json(let text): .json(text)
        case .bytes(let bytes): .bytes(bytes)
        }
    }
}

extension VectorContent {
    var model: Content {
        switch self {
        case .value(let value): Content(value?.model)
        case .update(let operations): .update(Update(operations: operations))
        }
    }
}

extension VectorSnapshot {
    var model: Snapshot { Snapshot(ts: ts, deps: deps) }
}

extension VectorCacheEntry {
    var model: CacheEntry {
        CacheEntry(key: key, write: CachedWrite(ct: ct, txId: txId, content: value?.model ?? .delete))
    }
}

extension VectorState {
    var model: SessionState { SessionState(ust: ust, deps: deps, hwt: hwt, cache: cache.map(\.model)) }
}

extension VectorWrite {
    var model: KeyWrite { KeyWrite(key: key, content: value?.model ?? .delete) }
}

extension VectorRead {
    var model: ReadResult { ReadResult(value: value?.model, ts: ts) }
}

extension VectorVersion {
    var model: ServedVersion { ServedVersion(ts: ts, value: value?.model) }
}

extension VectorAttempt {
    var model: CommitAttempt {
        CommitAttempt(
            txId: txId, snapshot: snapshot, deps: deps, hwt: hwt, sentAfter: sentAfter, writes: writes.map(\.model)
        )
    }
}

extension VectorDependency {
    var model: Dependency { Dependency(key: key, source: source, ts: ts, near: near ?? false) }
}

extension VectorSeen {
    var model: OperationSessionState {
        OperationSessionState(seen: seen, region: region, ust: ust, depends: depends?.map(\.model))
    }
}

extension VectorAnswer {
    func model() throws -> OperationAnswer {
        let depends = depends?.map(\.model)
        if to == "read" { return .read(seen: seen, ust: ust, depends: depends) }
        guard to == "put", let region else { throw VectorError.unknown(to) }
        return .wrote(seen: seen, region: region, ust: ust, depends: depends)
    }
}
