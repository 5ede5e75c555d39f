import IsochronSession

/// Gets the documents of its scopes, during a step of the machine: it must not begin another one from there.
@SessionActor
protocol LiveObserver: AnyObject {
    /// All scopes of the observer at one snapshot, in the order in which it named them. First when all are complete,
    /// then whenever something in one of them has changed.
    func next(_ snapshot: Timestamp, _ views: [LiveView])
    /// It has ended.
    func failed(_ error: IsochronError)
}

/// The documents of one scope at a snapshot that have changed since the last call; in the first one, all of them. Nil
/// for a document that has gone.
typealias LiveView = [ExactString: LiveDocument?]

/// The observers and their scopes: each observer gets all of its scopes at one snapshot, in one call (LQ1).
@SessionActor
struct LiveWatches {
    private struct Watch {
        let observer: any LiveObserver
        let scopes: [ScopeId]
        /// Whether its observer has been called.
        var isShown = false
    }

    private var watches: [ObjectIdentifier: Watch] = [:]
    /// In the order of their begins.
    private var order: [ObjectIdentifier] = []

    var observers: [any LiveObserver] { order.compactMap { watches[$0]?.observer } }

    mutating func add(_ observer: any LiveObserver, _ scopes: [ScopeId]) {
        watches[ObjectIdentifier(observer)] = Watch(observer: observer, scopes: scopes)
        order.append(ObjectIdentifier(observer))
    }

    /// Ends an observer. Returns the scopes that no other one has.
    mutating func remove(_ observer: any LiveObserver) -> Set<ScopeId> {
        guard let watch = watches.removeValue(forKey: ObjectIdentifier(observer)) else { return [] }
        order.removeAll { $0 == ObjectIdentifier(observer) }
        return Set(watch.scopes).subtracting(watches.values.flatMap(\.scopes))
    }

    /// The observers of some scopes.
    func of(_ scopes: Set<ScopeId>) -> [any LiveObserver] {
        order.compactMap { watches[$0] }.filter { !scopes.isDisjoint(with: $0.scopes) }.map(\.observer)
    }

    /// Calls the observers of scopes that have changed, and those whose scopes are complete for the first time.
    mutating func flush(_ snapshot: Timestamp, _ scopes: [ScopeId: LiveScope], _ changed: [ScopeId: Set<ExactString>]) {
        for name in order {
            guard let watch = watches[name] else { continue }
            let isFirst = !watch.isShown
            if isFirst, watch.scopes.contains(where: { scopes[$0].map { $0.phase == .reading } ?? true }) { continue }
            if !isFirst, watch.scopes.allSatisfy({ changed[$0]?.isEmpty ?? true }) { continue }
            watches[name]?.isShown = true
            let views = watch.scopes.map { id -> LiveView in
                let documents = scopes[id]?.documents ?? [:]
                if isFirst { return documents.mapValues { .some($0) } }
                return Dictionary(uniqueKeysWithValues: (changed[id] ?? []).map { ($0, documents[$0]) })
            }
            watch.observer.next(snapshot, views)
        }
    }
}
